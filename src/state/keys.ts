/** Key records: their fields, limits and operations, and the rules for names. */
import { redactKeys } from '../core/api-key.ts';
import type { Budget } from '../core/budgets.ts';
import { type Column, Layout } from '../core/layout.ts';
import type { Limits } from '../core/limits.ts';
import type { Nanos } from '../core/money.ts';
import { isPrintable } from '../core/printable.ts';

export type KeyState = 'enabled' | 'disabled' | 'deleted';

/** The limits set on a key itself. Null means the tier's limit; for the spend limit it means unlimited. */
export interface OwnLimits {
  readonly rpm: number | null;
  readonly tpm: number | null;
  readonly concurrency: number | null;
  readonly spendLimitNanos: Nanos | null;
}

/** The limits and budgets of a level. */
export interface LevelTerms extends OwnLimits {
  /** Sorted by period, shortest first. */
  readonly budgets: readonly Budget[];
}

/** The limits of each end user of a key or a group, unless overridden for that user. Null means unlimited. */
export interface UserLimits extends LevelTerms {
  /** Whether requests must name their end user. */
  readonly required: boolean;
}

/** The limits, expiry and allowlist of a key. */
export interface KeyTerms extends LevelTerms {
  /** After this time the key is refused like a deleted one; null for never. */
  readonly expiresAtMs: number | null;
  /** The models that the key may call; null allows all. */
  readonly allowlist: readonly string[] | null;
}

const LIMIT_FIELDS = { rpm: 'number', tpm: 'number', concurrency: 'number', spendLimitNanos: 'nanos' } as const;

/** The limits of keys, groups and end users as columns, in both stores. The compiler requires one entry per field. */
export const LIMITS = new Layout<OwnLimits>(LIMIT_FIELDS);

/** The numeric terms of a key that are columns of its row. */
export const KEY_NUMBERS = new Layout<Omit<KeyTerms, 'budgets' | 'allowlist'>>({
  ...LIMIT_FIELDS,
  expiresAtMs: 'number',
});

/** The values of these columns for a statement. */
export function numbersOf<Terms>(columns: Layout<Terms>, terms: Terms): (number | bigint | null)[] {
  return columns.values(terms) as (number | bigint | null)[];
}

/** The name of a limit in JSON and refusals: `spend_limit` for the column `spend_limit_nanos`. */
export function limitWord({ name }: Column): string {
  return name.replace(/_nanos$/, '');
}

/** The terms of a key limited only by its tier. */
export const NO_TERMS: KeyTerms = {
  rpm: null,
  tpm: null,
  concurrency: null,
  spendLimitNanos: null,
  budgets: [],
  expiresAtMs: null,
  allowlist: null,
};

/** The common fields of keys and groups. */
export interface Owner {
  readonly id: string;
  readonly name: string;
  readonly state: KeyState;
  /** The allowed models; null allows all. */
  readonly allowlist: readonly string[] | null;
  /** The enclosing group; null for a top-level one. */
  readonly groupId: string | null;
  /** The limits of its end users. Unless null, its end users are levels. */
  readonly userLimits: UserLimits | null;
  readonly createdAtMs: number;
}

export interface KeyRecord extends KeyTerms, Owner {
  readonly preview: string;
  /** The parent key, which bounds this key as a group does; null for a key without a parent. */
  readonly parentId: string | null;
  /** Whether it may create child keys. */
  readonly mayCreate: boolean;
  /** Whether `run` created it. The output of its requests is capped. */
  readonly isLeashed: boolean;
}

/** Omitted terms default to null: the limits of the tier. */
export interface NewKey extends Partial<KeyTerms> {
  readonly name: string;
  readonly isLeashed?: boolean;
  readonly groupId?: string | null;
  readonly parentId?: string | null;
  readonly mayCreate?: boolean;
  readonly userLimits?: UserLimits | null;
}

/** The changes of `setLimits`. */
export interface LimitChanges extends Partial<Omit<KeyTerms, 'budgets' | 'allowlist'>> {
  readonly budgets?: BudgetEdit;
  readonly userLimits?: UserLimitsEdit;
}

/** Returns the new limits of each end user; null removes them. */
export type UserLimitsEdit = (limits: UserLimits | null) => UserLimits | null;

/** Returns the new budgets of a level, at most one per period. If it throws, the change is rolled back. */
export type BudgetEdit = (budgets: readonly Budget[]) => readonly Budget[];

export interface KeyQuery {
  readonly withDeleted: boolean;
  /** Only keys created after this one. */
  readonly afterId?: string | undefined;
  /** Only keys in these groups, and their child keys. */
  readonly groupIds?: readonly string[] | undefined;
  /** Only the child keys of this key. */
  readonly parentId?: string | undefined;
  /** Maximum number of keys to return. */
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
 * Maximum number of keys that a key may create in a day. Deleted keys count: their rows stay in the state, because
 * requests and reports refer to them.
 */
export const MOST_CREATED_A_DAY = 1_000;

/** Returns the new allowlist; null allows all models. If it throws, the change is rolled back. */
export type AllowlistEdit = (models: readonly string[] | null) => readonly string[] | null;

/** The effective limits of a key: its own, with defaults for the rest. */
export function limitsInForce(own: OwnLimits, defaults: Limits): Limits {
  return {
    rpm: own.rpm ?? defaults.rpm,
    tpm: own.tpm ?? defaults.tpm,
    concurrency: own.concurrency ?? defaults.concurrency,
    modelsRpm: defaults.modelsRpm,
  };
}

/** Whether a key is refused like a nonexistent one: it is deleted or expired. */
export function isGone({ state, expiresAtMs }: Pick<KeyRecord, 'state' | 'expiresAtMs'>, wallMs: number): boolean {
  return state === 'deleted' || (expiresAtMs !== null && expiresAtMs <= wallMs);
}

/** Maximum length of a key's name in Unicode code points, without the parent prefix of a child key. */
const MAX_NAME_CHARACTERS = 64;
const ID_FORM = /^(key|grp)_[0-9a-z]{26}$/;

/** Checks a name for a key or a group. Returns the problem with it, or undefined if it is valid. */
export function checkKeyName(name: string): string | undefined {
  if (name === '' || [...name].length > MAX_NAME_CHARACTERS) {
    return `a name has 1 to ${MAX_NAME_CHARACTERS} characters`;
  }
  if (name !== name.trim()) return 'a name cannot begin or end with a space';
  if (!isPrintable(name)) return 'a name cannot contain control characters';
  // The name would be stored and shown in clear text wherever the key appears.
  if (redactKeys(name) !== name) return 'a name cannot look like a key';
  if (ID_FORM.test(name)) return 'a name cannot look like the id of a key or a group';
  if (name.startsWith('@')) return 'a name cannot begin with @, which stands before the names of groups';
  return undefined;
}

/** The possible name prefixes of a key's children: its name, or its id if a name with that prefix is taken. */
export function childPrefixes({ name, id }: Pick<KeyRecord, 'name' | 'id'>): readonly string[] {
  return [`${name}/`, `${id}/`];
}

/** The name of a child key without its parent prefix. */
export function childName({ name }: Pick<KeyRecord, 'name'>, parent: Pick<KeyRecord, 'name' | 'id'>): string {
  const prefix = childPrefixes(parent).find((each) => name.startsWith(each)) ?? '';
  return name.slice(prefix.length);
}

/**
 * The `attempt`-th candidate name for a successor, counting from 1. The candidates for `app` are `app-2`, `app-3`, …; the
 * candidates for `app-2` are `app-3`, `app-4`, ….
 */
export function successorName(name: string, attempt: number): string {
  const [, stem = name, number = '1'] = /^(.*)-(\d{1,6})$/.exec(name) ?? [];
  const suffix = `-${Number(number) + attempt}`;
  return [...stem].slice(0, MAX_NAME_CHARACTERS - suffix.length).join('') + suffix;
}
