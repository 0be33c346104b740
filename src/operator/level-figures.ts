/** The usage, spending and limits of keys, groups and end users, for commands and dashboard. */
import type { BudgetSpend } from '../core/budgets.ts';
import { utcMonth } from '../core/clock.ts';
import type { KeyRecord, LevelTerms, Owner } from '../state/keys.ts';
import { type GroupRecord, NO_LEVEL_TERMS, termsOfUser, type UserRecord, userId } from '../state/levels.ts';
import type { OpenState } from '../state/state.ts';
import type { MonthFigures } from '../state/usage.ts';
import { type BoundedLevel, spendBounds } from './spending.ts';
import { groupsInside, levelsFrom } from './tree.ts';

export const NO_FIGURES: MonthFigures = { requests: 0, tokens: 0, costNanos: 0n };

/** The state as of a moment, in milliseconds since 1970. */
export interface LevelSource extends Pick<OpenState, 'groups' | 'levels'> {
  readonly nowMs: number;
}

/** The given keys and groups, and all levels around them, by id. */
async function levelsAround(
  owners: readonly (KeyRecord | GroupRecord)[],
  { keys, groups }: Pick<OpenState, 'keys' | 'groups'>,
): Promise<ReadonlyMap<string, KeyRecord | GroupRecord>> {
  const known = new Map(owners.map((owner) => [owner.id, owner]));
  const found = [...owners];
  // The loop also visits the parents that it appends.
  for (const owner of found) {
    const parentId = 'parentId' in owner ? owner.parentId : null;
    if (parentId === null || known.has(parentId)) continue;
    const parent = await keys.find(parentId);
    if (parent === undefined) continue;
    known.set(parentId, parent);
    found.push(parent);
  }
  // Most installations have no groups.
  const all = found.every(({ groupId }) => groupId === null) ? [] : await groups.list();
  return new Map([...known, ...all.map((group) => [group.id, group] as const)]);
}

/** A key or a group with its spent budgets, and its monthly spend limit as one of the bounds. */
export interface SpendingLevel extends BoundedLevel {
  /** Without the monthly spend limit. */
  readonly spends: readonly BudgetSpend[];
}

/**
 * Reads the spending of keys and groups and of all levels around them, by id. `blockerOf` and `nextSpent` take the result.
 */
export async function spendingLevels(
  owners: readonly (KeyRecord | GroupRecord)[],
  source: LevelSource & Pick<OpenState, 'keys'>,
): Promise<ReadonlyMap<string, SpendingLevel>> {
  const { levels, nowMs } = source;
  const records = await levelsAround(owners, source);
  const recordOf = (id: string) => {
    const record = records.get(id);
    return record && { record };
  };
  const chains = owners.flatMap((record) => levelsFrom({ record }, recordOf));
  const needed = [...new Map(chains.map(({ record }) => [record.id, record])).values()];
  const limited = needed.filter(({ spendLimitNanos }) => spendLimitNanos !== null).map(({ id }) => id);
  const charges = await levels.chargesIn(utcMonth(nowMs), limited);
  const spends = await levels.spentBy(needed, nowMs);
  return new Map(
    needed.map((record) => {
      const { id, spendLimitNanos } = record;
      const own = spends.get(id) ?? [];
      return [id, { record, spends: own, bounds: spendBounds(spendLimitNanos, charges.get(id) ?? 0n, own, nowMs) }];
    }),
  );
}

/** All groups with their figures of this month. */
export interface GroupFigures {
  readonly groups: readonly GroupRecord[];
  readonly months: ReadonlyMap<string, MonthFigures>;
  readonly spends: ReadonlyMap<string, readonly BudgetSpend[]>;
  /** The number of keys in each group, nested groups included. */
  readonly keys: ReadonlyMap<string, number>;
}

export async function groupFigures(source: LevelSource): Promise<GroupFigures> {
  const groups = await source.groups.list();
  const ids = groups.map(({ id }) => id);
  const direct = await source.groups.keyCounts();
  const keysIn = (id: string) => [...groupsInside(groups, id)].reduce((sum, each) => sum + (direct.get(each) ?? 0), 0);
  return {
    groups,
    months: await source.levels.monthsOf(ids, utcMonth(source.nowMs)),
    spends: await source.levels.spentBy(groups, source.nowMs),
    keys: new Map(ids.map((id) => [id, keysIn(id)])),
  };
}

/** An end user of a key or a group. */
export interface EndUser {
  readonly owner: Owner;
  readonly name: string;
  /** Limits set for this end user alone; undefined without any. */
  readonly own: UserRecord | undefined;
  /** The limits in force for this end user. */
  readonly terms: LevelTerms;
  readonly spends: readonly BudgetSpend[];
  readonly month: MonthFigures;
}

/** Reads end users by name, and returns them in the same order. */
export async function endUsers(
  owner: Owner,
  names: readonly string[],
  { groups, levels, nowMs }: LevelSource,
): Promise<readonly EndUser[]> {
  const users = await Promise.all(
    names.map(async (name) => {
      const own = await groups.findUser(owner.id, name);
      const terms = termsOfUser(owner.userLimits ?? NO_LEVEL_TERMS, own);
      return { owner, name, own, terms, id: userId(owner.id, name), budgets: terms.budgets };
    }),
  );
  const months = await levels.monthsOf(
    users.map(({ id }) => id),
    utcMonth(nowMs),
  );
  const spends = await levels.spentBy(users, nowMs);
  return users.map(({ id, budgets: _, ...user }) => ({
    ...user,
    spends: spends.get(id) ?? [],
    month: months.get(id) ?? NO_FIGURES,
  }));
}

/** Reads a page of end users in the byte order of their names: at most `limit` after the name `after`. */
export async function endUserPage(
  owner: Owner,
  after: string,
  limit: number,
  source: LevelSource,
): Promise<{ readonly users: readonly EndUser[]; readonly hasMore: boolean }> {
  const names = await source.groups.userNames(owner.id, after, limit + 1);
  return { users: await endUsers(owner, names.slice(0, limit), source), hasMore: names.length > limit };
}
