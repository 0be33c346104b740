/** Keys as they are stored: their fields, their limits, their operations, and what a name may look like. */
import { redactKeys } from '../core/api-key.ts';
import type { Budget } from '../core/budgets.ts';
import { type Column, Layout } from '../core/layout.ts';
import type { Limits } from '../core/limits.ts';
import type { Nanos } from '../core/money.ts';
import { isPrintable } from '../core/printable.ts';

export type KeyState = 'enabled' | 'disabled' | 'deleted';

/** The limits that are set on a key itself. Null means the tier's limit, or no spend limit. */
export interface OwnLimits {
  readonly rpm: number | null;
  readonly tpm: number | null;
  readonly concurrency: number | null;
  readonly spendLimitNanos: Nanos | null;
}

/** What a level may use and spend. */
export interface LevelTerms extends OwnLimits {
  /** The shortest period first. */
  readonly budgets: readonly Budget[];
}

/** What each end user of a key or a group may use and spend, who has nothing else of their own. Null is no limit. */
export interface UserLimits extends LevelTerms {
  /** Whether a request has to name its end user. */
  readonly required: boolean;
}

/** What a key may do and spend. */
export interface KeyTerms extends LevelTerms {
  /** From then on the key is refused as if it were deleted; null for never. */
  readonly expiresAtMs: number | null;
  /** The models that the key may call; null allows all. */
  readonly allowlist: readonly string[] | null;
}

const LIMIT_FIELDS = { rpm: 'number', tpm: 'number', concurrency: 'number', spendLimitNanos: 'nanos' } as const;

/** The limits of keys, groups and end users as columns of their rows, in both stores. The compiler asks for each. */
export const LIMITS = new Layout<OwnLimits>(LIMIT_FIELDS);

/** All terms of a key that are columns of its row and numbers. */
export const KEY_NUMBERS = new Layout<Omit<KeyTerms, 'budgets' | 'allowlist'>>({
  ...LIMIT_FIELDS,
  expiresAtMs: 'number',
});

/** What a statement writes into these columns. */
export function numbersOf<Terms>(columns: Layout<Terms>, terms: Terms): (number | bigint | null)[] {
  return columns.values(terms) as (number | bigint | null)[];
}

/** What JSON and refusals call the limit of a column: `spend_limit` for `spend_limit_nanos`. */
export function limitWord({ name }: Column): string {
  return name.replace(/_nanos$/, '');
}

/** Those of a key that is bounded by its tier alone. */
export const NO_TERMS: KeyTerms = {
  rpm: null,
  tpm: null,
  concurrency: null,
  spendLimitNanos: null,
  budgets: [],
  expiresAtMs: null,
  allowlist: null,
};

/** What keys and groups have in common. */
export interface Owner {
  readonly id: string;
  readonly name: string;
  readonly state: KeyState;
  /** The models that may be called; null allows all. */
  readonly allowlist: readonly string[] | null;
  /** The group that it is in; null for none. */
  readonly groupId: string | null;
  /** Its end users are levels, too, unless this is null. */
  readonly userLimits: UserLimits | null;
  readonly createdAtMs: number;
}

export interface KeyRecord extends KeyTerms, Owner {
  readonly preview: string;
  /** The key that has made it, and that bounds it as a group does; null for none. */
  readonly parentId: string | null;
  /** Whether it may make keys under it. */
  readonly mayCreate: boolean;
  /** Whether `run` has made it. What its requests may write is capped. */
  readonly isLeashed: boolean;
}

/** What is not said of its terms is none. */
export interface NewKey extends Partial<KeyTerms> {
  readonly name: string;
  readonly isLeashed?: boolean;
  readonly groupId?: string | null;
  readonly parentId?: string | null;
  readonly mayCreate?: boolean;
  readonly userLimits?: UserLimits | null;
}

/** What `setLimits` changes. */
export interface LimitChanges extends Partial<Omit<KeyTerms, 'budgets' | 'allowlist'>> {
  readonly budgets?: BudgetEdit;
  readonly userLimits?: UserLimitsEdit;
}

/** What each end user may do after a change; null for no limits. */
export type UserLimitsEdit = (limits: UserLimits | null) => UserLimits | null;

/** The budgets of a key after a change: one for each period at most. What it throws undoes the change. */
export type BudgetEdit = (budgets: readonly Budget[]) => readonly Budget[];

export interface KeyQuery {
  readonly withDeleted: boolean;
  /** Only keys created after this one. */
  readonly afterId?: string | undefined;
  /** Only keys in these groups, and those that they have made. */
  readonly groupIds?: readonly string[] | undefined;
  /** Only keys that this one has made. */
  readonly parentId?: string | undefined;
  /** The number of keys to return at most. */
  readonly limit?: number | undefined;
}

/** The result of an operation that creates or changes a key. */
export type KeyChange =
  | { readonly kind: 'done'; readonly key: KeyRecord }
  | { readonly kind: 'no_such_key' }
  | { readonly kind: 'no_such_group' }
  | { readonly kind: 'is_child' }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'name_taken' }
  /** The parent has created {@link MOST_CREATED_A_DAY} keys on this day (UTC). */
  | { readonly kind: 'too_many_today' };

/**
 * How many keys a key may create in a day. Deleted ones count: their rows stay in the state, since requests and reports
 * refer to keys.
 */
export const MOST_CREATED_A_DAY = 1_000;

/** The models of an allowlist after a change; null allows all. What it throws undoes the change. */
export type AllowlistEdit = (models: readonly string[] | null) => readonly string[] | null;

/** The limits in force for a key: its own, and the defaults where it has none. */
export function limitsInForce(own: OwnLimits, defaults: Limits): Limits {
  return {
    rpm: own.rpm ?? defaults.rpm,
    tpm: own.tpm ?? defaults.tpm,
    concurrency: own.concurrency ?? defaults.concurrency,
    modelsRpm: defaults.modelsRpm,
  };
}

/** Whether a key is refused as if it did not exist: it was deleted, or its time is over. */
export function isGone({ state, expiresAtMs }: Pick<KeyRecord, 'state' | 'expiresAtMs'>, wallMs: number): boolean {
  return state === 'deleted' || (expiresAtMs !== null && expiresAtMs <= wallMs);
}

/** The length of a key's name at most, in Unicode code points, without what stands before that of a key's child. */
const MAX_NAME_CHARACTERS = 64;
const ID_FORM = /^(key|grp)_[0-9a-z]{26}$/;

/** Checks a name for a key or a group. Returns the problem with it, or undefined if it is valid. */
export function checkKeyName(name: string): string | undefined {
  if (name === '' || [...name].length > MAX_NAME_CHARACTERS) {
    return `a name has 1 to ${MAX_NAME_CHARACTERS} characters`;
  }
  if (name !== name.trim()) return 'a name cannot begin or end with a space';
  if (!isPrintable(name)) return 'a name cannot contain control characters';
  // It would be stored as it is, and shown wherever the key is.
  if (redactKeys(name) !== name) return 'a name cannot look like a key';
  if (ID_FORM.test(name)) return 'a name cannot look like the id of a key or a group';
  if (name.startsWith('@')) return 'a name cannot begin with @, which stands before the names of groups';
  return undefined;
}

/** What stands before the names of the keys that a key has made: its own name, or where that is taken its id. */
export function childPrefixes({ name, id }: Pick<KeyRecord, 'name' | 'id'>): readonly string[] {
  return [`${name}/`, `${id}/`];
}

/** The name of a key that this one has made, without what stands before it. */
export function childName({ name }: Pick<KeyRecord, 'name'>, parent: Pick<KeyRecord, 'name' | 'id'>): string {
  const prefix = childPrefixes(parent).find((each) => name.startsWith(each)) ?? '';
  return name.slice(prefix.length);
}

/**
 * A name for a successor, to be tried in order until one is free: those of `app` are `app-2`,
 * `app-3`, …, and those of `app-2` are `app-3`, `app-4`, …. `attempt` counts from 1.
 */
export function successorName(name: string, attempt: number): string {
  const [, stem = name, number = '1'] = /^(.*)-(\d{1,6})$/.exec(name) ?? [];
  const suffix = `-${Number(number) + attempt}`;
  return [...stem].slice(0, MAX_NAME_CHARACTERS - suffix.length).join('') + suffix;
}
