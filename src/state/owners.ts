/** The columns that keys and groups share, and the table of end users. */
import { type Column, type Layout, names } from '../core/layout.ts';
import { writeBudgets } from './budget-book.ts';
import {
  type LevelTerms,
  LIMITS,
  limitWord,
  numbersOf,
  type Owner,
  type UserLimits,
  type UserLimitsEdit,
} from './keys.ts';
import { isUnlimited, userId } from './levels.ts';
import { type Dialect, type Operation, rows, stopDecisions } from './operation.ts';

/** The columns of `Owner` and `LevelTerms` for keys or groups, plus the given numbers. */
export function ownerColumns(dialect: Dialect, table: 'keys' | 'groups', numbers: readonly Column[]): string {
  const { jsonObject } = dialect;
  return `id, name, state, ${names(numbers)}, CAST(allowlist AS text) AS allowlist, created_at_ms, group_id,
      ${budgetsAs(dialect, `${table}.id`)} AS budgets,
      (SELECT CAST(${jsonObject}(${userLimitsAs('u')}, 'budgets', ${budgetsAs(dialect, "u.owner_id || '/'")}) AS text)
        FROM inf_gw.users AS u WHERE u.owner_id = ${table}.id AND u.name = '') AS user_limits`;
}

/** Columns as arguments of a JSON object function. Amounts are cast to text: they may exceed the range of JSON numbers. */
export function jsonPairs(columns: readonly Column[], table: string, nameOf = ({ name }: Column) => name): string {
  return columns
    .map((column) => {
      const value = `${table}.${column.name}`;
      return `'${nameOf(column)}', ${column.type === 'nanos' ? `CAST(${value} AS text)` : value}`;
    })
    .join(', ');
}

/** The limits for all end users, without budgets, from their row. */
export function userLimitsAs(table: string): string {
  return `${jsonPairs(LIMITS.columns, table, limitWord)}, 'required', ${table}.required`;
}

/** Whether a group exists and can take members. It cannot be deleted until the transaction ends. */
export function* isThere(dialect: Dialect, groupId: string): Operation<boolean> {
  yield* stopDecisions(dialect);
  const text = "SELECT id FROM inf_gw.groups WHERE id = $1 AND state <> 'deleted'";
  return (yield* rows(text, [groupId])).length > 0;
}

/** Writes the numeric columns of a key or a group. */
export function writeNumbers<Terms>(
  table: 'keys' | 'groups',
  id: string,
  layout: Layout<Terms>,
  terms: Terms,
): Operation<unknown> {
  const changes = layout.columns.map(({ name }, at) => `${name} = $${at + 2}`).join(', ');
  return rows(`UPDATE inf_gw.${table} SET ${changes} WHERE id = $1`, [id, ...numbersOf(layout, terms)]);
}

/** The budgets of a level as the text of a JSON array. */
export function budgetsAs({ jsonArray, jsonObject }: Dialect, id: string): string {
  return `(SELECT CAST(${jsonArray}(${jsonObject}('period', b.period, 'limit', CAST(b.limit_nanos AS text))) AS text)
        FROM inf_gw.budgets AS b WHERE b.key_id = ${id})`;
}

/**
 * Sets the limits of each end user of a key or a group; null removes them. Gateways decide no requests until the
 * transaction ends.
 */
export function* writeUserLimits(
  dialect: Dialect,
  ownerId: string,
  before: UserLimits | null,
  after: UserLimits | null,
  wallMs: number,
): Operation<void> {
  if (before === null && after === null) return;
  if (after === null) yield* rows("DELETE FROM inf_gw.users WHERE owner_id = $1 AND name = ''", [ownerId]);
  else yield* writeUser(ownerId, '', { ...after, state: 'enabled' });
  yield* writeBudgets(dialect, { id: userId(ownerId), budgets: before?.budgets ?? [] }, after?.budgets ?? [], wallMs);
}

/** Changes the limits of each end user of a key or a group. If a single user has settings, all users remain levels. */
export function* editUserLimits(
  dialect: Dialect,
  { id, userLimits }: Pick<Owner, 'id' | 'userLimits'>,
  edit: UserLimitsEdit,
  wallMs: number,
): Operation<void> {
  const edited = edit(userLimits);
  const single = yield* rows("SELECT name FROM inf_gw.users WHERE owner_id = $1 AND name <> '' LIMIT 1", [id]);
  const after = edited !== null && isUnlimited(edited) && single.length === 0 ? null : edited;
  yield* writeUserLimits(dialect, id, userLimits, after, wallMs);
}

/** Copies the settings of single end users from one key to a new one, without their spend. */
export function* copyUsers(fromId: string, toId: string): Operation<void> {
  const columns = `name, state, required, ${names(LIMITS.columns)}`;
  yield* rows(
    `INSERT INTO inf_gw.users (owner_id, ${columns})
       SELECT CAST($2 AS text), ${columns} FROM inf_gw.users WHERE owner_id = $1 AND name <> ''`,
    [fromId, toId],
  );
  yield* rows(
    `INSERT INTO inf_gw.budgets (key_id, period, limit_nanos, window_s, exact_from_ms)
       SELECT $2 || substr(key_id, length($1) + 1), period, limit_nanos, window_s, exact_from_ms
         FROM inf_gw.budgets WHERE key_id > $1 || '/' AND key_id < $1 || '0'`,
    [fromId, toId],
  );
}

/** `stored`: the stored name; empty for the limits of all end users. */
export function writeUser(
  ownerId: string,
  stored: string,
  { state, required = false, ...limits }: LevelTerms & { readonly state: string; readonly required?: boolean },
): Operation<unknown> {
  const values = [ownerId, stored, state, Number(required), ...numbersOf(LIMITS, limits)];
  const changed = ['state', 'required', ...LIMITS.columns.map(({ name }) => name)];
  return rows(
    `INSERT INTO inf_gw.users (owner_id, name, ${changed.join(', ')})
       VALUES (${values.map((_, at) => `$${at + 1}`).join(', ')})
       ON CONFLICT (owner_id, name) DO UPDATE SET ${changed.map((name) => `${name} = excluded.${name}`).join(', ')}`,
    values,
  );
}
