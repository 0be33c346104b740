/** Levels: what bounds a request besides its key. The groups around the key, and the end users of both. Pure. */
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

/** A named set of keys and groups. A limit that is null is none: groups have no tier. */
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

/** What is set for one end user: their own limits, over those of all where one is not null, and whether they are blocked. */
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
  /** More than `MOST_GROUPS` would be above a key. */
  | { readonly kind: 'too_deep' }
  | { readonly kind: 'not_empty' };

/** The limits of an end user: their own, and where they have none those of all. */
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

/** Whether nothing is set. */
export function hasNoLimits(terms: LevelTerms): boolean {
  return terms.budgets.length === 0 && LIMITS.values(terms).every((each) => each === null);
}

/** Whether end users are bounded by nothing. */
export function isUnlimited(limits: UserLimits): boolean {
  return !limits.required && hasNoLimits(limits);
}

/** The groups above a key at most. */
export const MOST_GROUPS = 4;

/** Which level a limit is of. An end user is named by whose end user it is. */
export interface LevelName {
  readonly kind: 'key' | 'group' | 'user';
  readonly name: string;
  /** Of an end user: whose they are. */
  readonly of?: 'key' | 'group';
  /** Of an end user: the terms that are set for them alone; of budgets their periods. */
  readonly own?: readonly string[];
}

/** The terms that are set for an end user alone, as `LevelName` has them, in alphabetical order. */
export function ownTerms(terms: LevelTerms): readonly string[] {
  const values = LIMITS.values(terms);
  const set = LIMITS.columns.filter((_, at) => values[at] !== null);
  return [...set.map(limitWord), ...terms.budgets.map(({ period }) => period)].toSorted();
}

/**
 * The name of an end user as it is stored: PostgreSQL's text has no zero bytes. Two names are the same one if all their
 * bytes are.
 */
export function storedUser(name: string): string {
  return /[\\\0]/.test(name) ? name.replaceAll('\\', '\\\\').replaceAll('\0', '\\0') : name;
}

/** The name of an end user that is stored like this. */
export function userStoredAs(stored: string): string {
  return stored.includes('\\') ? stored.replaceAll(/\\(.)/g, (_, sign) => (sign === '0' ? '\0' : sign)) : stored;
}

/** The id of an end user of a key or a group. Without a name: of what holds for all of them. */
export function userId(ownerId: string, name = ''): string {
  return `${ownerId}/${storedUser(name)}`;
}

/** Whose end user has that id, and the name as it is stored; undefined if it is the id of a key or a group. */
export function ownerOf(levelId: string): { readonly ownerId: string; readonly stored: string } | undefined {
  const at = levelId.indexOf('/');
  return at < 0 ? undefined : { ownerId: levelId.slice(0, at), stored: levelId.slice(at + 1) };
}

/** The sums of end users are kept from the month of this long before the last request on, in milliseconds. */
export const IDLE_USER_MS = 32 * 86_400_000;

/** What the ids of groups begin with. */
export const GROUP_ID = 'grp_';

/** Of the levels that a request is booked to besides its key those that are groups, as an array of JSON. */
export function groupsIn(levels: readonly string[] = []): string {
  return JSON.stringify(levels.filter((id) => id.startsWith(GROUP_ID) && !isUserId(id)));
}

/** The ids of the levels that a request is booked to, from inside out. */
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

/** The id of what holds for all end users of its owner, if the level is one; otherwise its own. */
export function ofAllUsers(levelId: string): string {
  const user = ownerOf(levelId);
  return user === undefined ? levelId : userId(user.ownerId);
}
