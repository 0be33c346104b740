/**
 * Levels that limit a request in addition to its key: the groups around the key, and the end users of the key and the
 * groups. Pure.
 */
import { isSamePeriod, sortedBudgets } from '../core/budgets.ts';
import {
  type BudgetEdit,
  type LevelTerms,
  LIMITS,
  limitWord,
  type Owner,
  type OwnLimits,
  type UserLimits,
  type UserLimitsEdit,
} from './keys.ts';

export const NO_LEVEL_TERMS: LevelTerms = {
  rpm: null,
  tpm: null,
  concurrency: null,
  spendLimitNanos: null,
  budgets: [],
};
export const NO_USER_LIMITS: UserLimits = { ...NO_LEVEL_TERMS, required: false };

/** A named set of keys and groups. A null limit is unlimited: groups have no tier. */
export interface GroupRecord extends Owner, LevelTerms {}

export interface NewGroup extends Partial<LevelTerms> {
  readonly name: string;
  readonly allowlist?: readonly string[] | null;
  readonly groupId?: string | null;
  readonly userLimits?: UserLimits | null;
}

export interface GroupChanges extends Partial<OwnLimits> {
  readonly budgets?: BudgetEdit;
  readonly userLimits?: UserLimitsEdit;
}

/** The settings of one end user: limits that override the limits of all users where not null, and a block. */
export interface UserRecord extends LevelTerms {
  readonly ownerId: string;
  readonly name: string;
  readonly state: 'enabled' | 'disabled';
}

/** The result of an operation that creates or changes a group. */
export type GroupChange =
  | { readonly kind: 'done'; readonly group: GroupRecord }
  | { readonly kind: 'no_such_group' }
  | { readonly kind: 'name_taken' }
  | { readonly kind: 'in_itself' }
  /** The key would be in more than `MOST_GROUPS` groups. */
  | { readonly kind: 'too_deep' }
  | { readonly kind: 'not_empty' };

/** The effective limits of an end user: their own, with the limits of all users for the rest. */
export function termsOfUser(all: LevelTerms, own: LevelTerms | undefined): LevelTerms {
  if (own === undefined) return all;
  const others = all.budgets.filter((budget) => !own.budgets.some((each) => isSamePeriod(budget, each)));
  return {
    rpm: own.rpm ?? all.rpm,
    tpm: own.tpm ?? all.tpm,
    concurrency: own.concurrency ?? all.concurrency,
    spendLimitNanos: own.spendLimitNanos ?? all.spendLimitNanos,
    budgets: sortedBudgets([...own.budgets, ...others]),
  };
}

/** Whether all limits are null and no budget is set. */
export function hasNoLimits(terms: LevelTerms): boolean {
  return terms.budgets.length === 0 && LIMITS.values(terms).every((each) => each === null);
}

/** Whether the limits of end users have no effect. */
export function isUnlimited(limits: UserLimits): boolean {
  return !limits.required && hasNoLimits(limits);
}

/** Maximum number of groups around a key. */
export const MOST_GROUPS = 4;

/** Identifies the level of a limit. An end user is identified by its owner. */
export interface LevelName {
  readonly kind: 'key' | 'group' | 'user';
  readonly name: string;
  /** For an end user: the kind of its owner. */
  readonly of?: 'key' | 'group';
  /** For an end user: the limits set for them individually; budgets by their periods. */
  readonly own?: readonly string[];
}

/** The limits set for an end user individually, in the form of `LevelName`, in alphabetical order. */
export function ownTerms(terms: LevelTerms): readonly string[] {
  const values = LIMITS.values(terms);
  const set = LIMITS.columns.filter((_, at) => values[at] !== null);
  return [...set.map(limitWord), ...terms.budgets.map(({ period }) => period)].toSorted();
}

/**
 * Escapes the name of an end user for storage: PostgreSQL text cannot contain zero bytes. The mapping is injective, so two
 * names are equal only if all their bytes are.
 */
export function storedUser(name: string): string {
  return /[\\\0]/.test(name) ? name.replaceAll('\\', '\\\\').replaceAll('\0', '\\0') : name;
}

/** Reverses `storedUser`. */
export function userStoredAs(stored: string): string {
  return stored.includes('\\') ? stored.replaceAll(/\\(.)/g, (_, sign) => (sign === '0' ? '\0' : sign)) : stored;
}

/** The id of an end user of a key or a group. Without a name: the id of the limits for all end users. */
export function userId(ownerId: string, name = ''): string {
  return `${ownerId}/${storedUser(name)}`;
}

/** Splits the id of an end user into its owner and its stored name; undefined for the id of a key or a group. */
export function ownerOf(levelId: string): { readonly ownerId: string; readonly stored: string } | undefined {
  const at = levelId.indexOf('/');
  return at < 0 ? undefined : { ownerId: levelId.slice(0, at), stored: levelId.slice(at + 1) };
}

/** Sums of end users are kept from the month that contains the time this long before the last request, in milliseconds. */
export const IDLE_USER_MS = 32 * 86_400_000;

/** Prefix of group ids. */
export const GROUP_ID = 'grp_';

/** The groups among a request's levels, as a JSON array. */
export function groupsIn(levels: readonly string[] = []): string {
  return JSON.stringify(levels.filter((id) => id.startsWith(GROUP_ID) && !isUserId(id)));
}

/** The ids of all levels that a request is booked to, innermost first. */
export function levelIdsOf({
  keyId,
  levels,
}: {
  readonly keyId: string;
  readonly levels?: readonly string[] | undefined;
}): readonly string[] {
  if (levels === undefined) return [keyId];
  const [first = '', ...others] = levels;
  return first.startsWith(`${keyId}/`) ? [first, keyId, ...others] : [keyId, ...levels];
}

/** Whether a level is an end user. */
export function isUserId(id: string): boolean {
  return id.includes('/');
}

/** Whether a level is a key. */
export function isKeyId(id: string): boolean {
  return !id.startsWith(GROUP_ID) && !isUserId(id);
}

/** Maps the id of an end user to the id for all end users of its owner; returns other ids unchanged. */
export function ofAllUsers(levelId: string): string {
  const user = ownerOf(levelId);
  return user === undefined ? levelId : userId(user.ownerId);
}
