/** Groups and end users in the operator's book. The ledger reads them, too. */
import { newId } from '../core/ids.ts';
import { names } from '../core/layout.ts';
import { writeBudgets, writeFirstBudgets } from './budget-book.ts';
import { type AllowlistEdit, type KeyState, LIMITS, numbersOf, type UserLimits } from './keys.ts';
import {
  type GroupChange,
  type GroupChanges,
  type GroupRecord,
  hasNoLimits,
  MOST_GROUPS,
  type NewGroup,
  NO_LEVEL_TERMS,
  NO_USER_LIMITS,
  storedUser,
  type UserRecord,
  userId,
  userStoredAs,
} from './levels.ts';
import { type Dialect, edited, type Operation, rows, stopDecisions, transaction } from './operation.ts';
import {
  budgetsAs,
  editUserLimits,
  isThere,
  ownerColumns,
  writeNumbers,
  writeUser,
  writeUserLimits,
} from './owners.ts';
import { groupOf, storedAllowlist, userOf } from './rows.ts';
import { bookedMonths } from './sql.ts';

const LIVES = "state <> 'deleted'";

/** The first `$3` end users of `$1` after `$2` with sums in a table. Uses only the primary key. */
const SEEN = (table: string) => `SELECT substr(level_id, length($1) + 2) AS name FROM (
  SELECT DISTINCT level_id FROM ${table} WHERE level_id > $1 || '/' || $2 AND level_id < $1 || '0'
  ORDER BY level_id LIMIT $3) AS ids`;

/** The operations on groups, and on the end users of keys and groups. Each change takes effect with the next decision. */
export class GroupBook {
  readonly #dialect: Dialect;
  readonly #columns: string;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#columns = ownerColumns(dialect, 'groups', LIMITS.columns);
  }

  /** Finds a group by id, or a live group by name. */
  *find(idOrName: string): Operation<GroupRecord | undefined> {
    return (yield* this.#one('id = $1', idOrName)) ?? (yield* this.#one(`name = $1 AND ${LIVES}`, idOrName));
  }

  /** All live groups, in order of creation. */
  *list(): Operation<readonly GroupRecord[]> {
    return (yield* rows(`SELECT ${this.#columns} FROM inf_gw.groups WHERE ${LIVES} ORDER BY id`)).map(groupOf);
  }

  create(group: NewGroup, wallMs: number): Operation<GroupChange> {
    return transaction(this.#insert(group, wallMs));
  }

  setState(idOrName: string, state: KeyState): Operation<GroupChange> {
    const text = 'UPDATE inf_gw.groups SET state = $2 WHERE id = $1';
    return transaction(this.#change(idOrName, ({ id }) => rows(text, [id, state])));
  }

  /** Changes only the given limits. `wallMs` is the current time: a new sliding budget includes earlier spend. */
  setLimits(
    idOrName: string,
    { budgets, userLimits, ...limits }: GroupChanges,
    wallMs = Date.now(),
  ): Operation<GroupChange> {
    const dialect = this.#dialect;
    return transaction(
      this.#change(idOrName, function* (group) {
        yield* writeNumbers('groups', group.id, LIMITS, { ...group, ...limits });
        if (budgets !== undefined) yield* writeBudgets(dialect, group, budgets(group.budgets), wallMs);
        if (userLimits !== undefined) yield* editUserLimits(dialect, group, userLimits, wallMs);
      }),
    );
  }

  editAllowlist(idOrName: string, edit: AllowlistEdit): Operation<GroupChange> {
    const text = 'UPDATE inf_gw.groups SET allowlist = $2 WHERE id = $1';
    return transaction(
      this.#change(idOrName, ({ id, allowlist }) => rows(text, [id, storedAllowlist(edit(allowlist))])),
    );
  }

  /** Moves a group into another one; null makes it a top-level group. */
  place(idOrName: string, into: string | null): Operation<GroupChange> {
    return transaction(this.#place(idOrName, into));
  }

  /** Deletes a group. With `isEmptied`, its members move to its parent group. */
  delete(idOrName: string, { isEmptied }: { readonly isEmptied: boolean }): Operation<GroupChange> {
    return transaction(this.#delete(idOrName, isEmptied));
  }

  /**
   * The number of live keys in each group, by group id. A child key counts in its parent's group; subgroups do not count.
   */
  *keyCounts(): Operation<ReadonlyMap<string, number>> {
    const found = yield* rows(
      `SELECT coalesce(k.group_id, p.group_id) AS group_id, count(*) AS keys
         FROM inf_gw.keys AS k LEFT JOIN inf_gw.keys AS p ON p.id = k.parent_id AND p.${LIVES}
         WHERE k.${LIVES} AND coalesce(k.group_id, p.group_id) IS NOT NULL GROUP BY 1`,
    );
    return new Map(found.map((row) => [row.group_id as string, Number(row.keys)]));
  }

  /** Sets the limits that apply to each end user of a key or a group; null removes them. */
  setUserLimits(ownerId: string, before: UserLimits | null, after: UserLimits | null, wallMs = Date.now()) {
    return transaction(this.#setUserLimits(ownerId, before, after, wallMs));
  }

  /** The settings of one end user; undefined if they have none. */
  *findUser(ownerId: string, name: string): Operation<UserRecord | undefined> {
    const budgets = budgetsAs(this.#dialect, "users.owner_id || '/' || users.name");
    const text = `SELECT users.*, ${budgets} AS budgets FROM inf_gw.users AS users WHERE owner_id = $1 AND name = $2`;
    const [row] = yield* rows(text, [ownerId, storedUser(name)]);
    return row && userOf(row);
  }

  /** Sets the limits of one end user, which override the limits of all. The end users of this owner become levels. */
  setUser(user: UserRecord, wallMs = Date.now()): Operation<void> {
    return transaction(this.#setUser(user, wallMs));
  }

  /** Changes the settings of one end user. */
  editUser(
    ownerId: string,
    name: string,
    edit: (before: UserRecord) => UserRecord,
    wallMs = Date.now(),
  ): Operation<void> {
    return transaction(this.#editUser(ownerId, name, edit, wallMs));
  }

  /** The end users of a key or a group with usage or settings, in byte order. */
  *userNames(ownerId: string, after: string, limit: number): Operation<readonly string[]> {
    const found = yield* rows(
      `SELECT name FROM (SELECT name FROM inf_gw.users WHERE owner_id = $1 AND name > $2 ORDER BY name LIMIT $3) AS own
         UNION SELECT name FROM (${SEEN('inf_gw.level_days')}) AS seen
         UNION SELECT name FROM (${SEEN('inf_gw.level_months')}) AS seen_before
         ORDER BY name LIMIT $3`,
      [ownerId, storedUser(after), limit],
    );
    return found.map((row) => userStoredAs(row.name as string));
  }

  /** Whether usage of an end user is still stored. */
  *wasSeen(ownerId: string, name: string): Operation<boolean> {
    const text = `SELECT month FROM ${bookedMonths('$1')} AS booked LIMIT 1`;
    return (yield* rows(text, [userId(ownerId, name)])).length > 0;
  }

  *#editUser(ownerId: string, name: string, edit: (before: UserRecord) => UserRecord, wallMs: number): Operation<void> {
    yield* stopDecisions(this.#dialect);
    const nothing: UserRecord = { ...NO_LEVEL_TERMS, ownerId, name, state: 'enabled' };
    const after = edit((yield* this.findUser(ownerId, name)) ?? nothing);
    yield* this.#setUser(after, wallMs);
    if (after.state !== 'enabled' || !hasNoLimits(after)) return;
    const ids = [ownerId, userId(ownerId, name)];
    yield* edited(this.#dialect, ids, this.#forgetUser(ownerId, name));
  }

  *#forgetUser(ownerId: string, name: string): Operation<void> {
    yield* rows('DELETE FROM inf_gw.users WHERE owner_id = $1 AND name = $2', [ownerId, storedUser(name)]);
    // Without any other settings, the end users of this owner are no longer levels.
    yield* rows(
      `DELETE FROM inf_gw.users WHERE owner_id = $1 AND name = '' AND required = 0
         AND coalesce(${names(LIMITS.columns)}) IS NULL
         AND NOT EXISTS (SELECT 1 FROM inf_gw.budgets WHERE key_id = $1 || '/')
         AND NOT EXISTS (SELECT 1 FROM inf_gw.users AS u WHERE u.owner_id = $1 AND u.name <> '')`,
      [ownerId],
    );
  }

  *#delete(idOrName: string, isEmptied: boolean): Operation<GroupChange> {
    yield* stopDecisions(this.#dialect);
    const group = yield* this.#living(idOrName);
    if (group === undefined) return { kind: 'no_such_group' };
    const inside = yield* rows(
      `SELECT id FROM inf_gw.keys WHERE group_id = $1 AND ${LIVES}
         UNION ALL SELECT id FROM inf_gw.groups WHERE group_id = $1 AND ${LIVES}`,
      [group.id],
    );
    if (inside.length > 0 && !isEmptied) return { kind: 'not_empty' };
    const ids = [group.id, ...inside.map(({ id }) => id as string)];
    yield* edited(this.#dialect, ids, emptied(group));
    return { kind: 'done', group: (yield* this.#one('id = $1', group.id)) as GroupRecord };
  }

  *#setUserLimits(
    ownerId: string,
    before: UserLimits | null,
    after: UserLimits | null,
    wallMs: number,
  ): Operation<void> {
    yield* edited(this.#dialect, [ownerId], writeUserLimits(this.#dialect, ownerId, before, after, wallMs));
  }

  *#setUser(user: UserRecord, wallMs: number): Operation<void> {
    const ids = [user.ownerId, userId(user.ownerId, user.name)];
    yield* edited(this.#dialect, ids, this.#writeUser(user, wallMs));
  }

  *#writeUser(user: UserRecord, wallMs: number): Operation<void> {
    const { ownerId, name } = user;
    const before = yield* this.findUser(ownerId, name);
    const [all] = yield* rows("SELECT name FROM inf_gw.users WHERE owner_id = $1 AND name = ''", [ownerId]);
    if (all === undefined) yield* writeUser(ownerId, '', { ...NO_USER_LIMITS, state: 'enabled' });
    yield* writeUser(ownerId, storedUser(name), user);
    const level = { id: userId(ownerId, name), budgets: before?.budgets ?? [] };
    yield* writeBudgets(this.#dialect, level, user.budgets, wallMs);
  }

  *#insert(group: NewGroup, wallMs: number): Operation<GroupChange> {
    const id = newId('grp', wallMs);
    const { name, allowlist = null, groupId = null } = group;
    if (groupId !== null) {
      if (!(yield* isThere(this.#dialect, groupId))) return { kind: 'no_such_group' };
      if ((yield* this.#depthOf(groupId)) >= MOST_GROUPS) return { kind: 'too_deep' };
    }
    const limits = numbersOf(LIMITS, { ...NO_LEVEL_TERMS, ...group });
    const values = [id, name, storedAllowlist(allowlist), groupId, wallMs, ...limits];
    const made = yield* rows(
      `INSERT INTO inf_gw.groups (state, id, name, allowlist, group_id, created_at_ms, ${names(LIMITS.columns)})
         VALUES ('enabled', ${values.map((_, at) => `$${at + 1}`).join(', ')})
       ON CONFLICT (name) WHERE ${LIVES} DO NOTHING RETURNING id`,
      values,
    );
    if (made.length === 0) return { kind: 'name_taken' };
    yield* writeFirstBudgets(id, group.budgets ?? [], wallMs);
    yield* writeUserLimits(this.#dialect, id, null, group.userLimits ?? null, wallMs);
    return { kind: 'done', group: (yield* this.#one('id = $1', id)) as GroupRecord };
  }

  *#place(idOrName: string, into: string | null): Operation<GroupChange> {
    yield* stopDecisions(this.#dialect);
    const [group, outer] = [yield* this.#living(idOrName), into === null ? null : yield* this.#living(into)];
    if (group === undefined || outer === undefined) return { kind: 'no_such_group' };
    if (outer !== null) {
      const inside = yield* this.#inside(group.id);
      const above = yield* this.#depthOf(outer.id);
      if (inside.has(outer.id)) return { kind: 'in_itself' };
      if (above + Math.max(...inside.values()) > MOST_GROUPS) return { kind: 'too_deep' };
    }
    const text = 'UPDATE inf_gw.groups SET group_id = $2 WHERE id = $1';
    yield* edited(this.#dialect, [group.id], rows(text, [group.id, outer?.id ?? null]));
    return { kind: 'done', group: (yield* this.#one('id = $1', group.id)) as GroupRecord };
  }

  /** The number of groups around a key in this group. */
  *#depthOf(id: string): Operation<number> {
    const [row] = yield* rows(
      `WITH RECURSIVE above (id, group_id) AS (
         SELECT id, group_id FROM inf_gw.groups WHERE id = $1
         UNION SELECT g.id, g.group_id FROM above a JOIN inf_gw.groups g ON g.id = a.group_id
       ) SELECT count(*) AS groups FROM above`,
      [id],
    );
    return Number(row?.groups);
  }

  /** The group and its subgroups with their depths, starting from 1. */
  *#inside(id: string): Operation<ReadonlyMap<string, number>> {
    const found = yield* rows(
      `WITH RECURSIVE inside (id, depth) AS (
         SELECT id, CAST(1 AS bigint) FROM inf_gw.groups WHERE id = $1
         UNION ALL SELECT g.id, i.depth + 1 FROM inside i JOIN inf_gw.groups g ON g.group_id = i.id AND g.${LIVES}
       ) SELECT id, depth FROM inside`,
      [id],
    );
    return new Map(found.map((row) => [row.id as string, Number(row.depth)]));
  }

  *#change(idOrName: string, write: (group: GroupRecord) => Operation<unknown>): Operation<GroupChange> {
    yield* stopDecisions(this.#dialect);
    const group = yield* this.#living(idOrName);
    if (group === undefined) return { kind: 'no_such_group' };
    yield* edited(this.#dialect, [group.id], write(group));
    return { kind: 'done', group: (yield* this.#one('id = $1', group.id)) as GroupRecord };
  }

  *#living(idOrName: string): Operation<GroupRecord | undefined> {
    const group = yield* this.find(idOrName);
    return group?.state === 'deleted' ? undefined : group;
  }

  *#one(where: string, value: string): Operation<GroupRecord | undefined> {
    if (value.includes('\0')) return undefined;
    const [row] = yield* rows(`SELECT ${this.#columns} FROM inf_gw.groups AS groups WHERE ${where}`, [value]);
    return row && groupOf(row);
  }
}

function* emptied({ id, groupId }: GroupRecord): Operation<void> {
  for (const table of ['keys', 'groups']) {
    yield* rows(`UPDATE inf_gw.${table} SET group_id = $2 WHERE group_id = $1`, [id, groupId]);
  }
  yield* rows("UPDATE inf_gw.groups SET state = 'deleted' WHERE id = $1", [id]);
}
