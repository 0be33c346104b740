/** What keys and groups are stored with alike, and the table of end users. */
import { writeBudgets } from './budget-book.ts';
import type { LevelTerms, Owner, UserLimits, UserLimitsEdit } from './keys.ts';
import { isUnlimited, userId } from './levels.ts';
import { type Dialect, type Operation, rows } from './operation.ts';

/** The columns of `Owner` and `LevelTerms`, of keys or of groups. */
export function ownerColumns(dialect: Dialect, table: 'keys' | 'groups'): string {
  const { jsonObject } = dialect;
  return `id, name, state, rpm, tpm, concurrency, spend_limit_nanos, CAST(allowlist AS text) AS allowlist, created_at_ms, group_id,
      ${budgetsAs(dialect, `${table}.id`)} AS budgets,
      (SELECT CAST(${jsonObject}('rpm', u.rpm, 'tpm', u.tpm, 'concurrency', u.concurrency,
          'spend_limit', CAST(u.spend_limit_nanos AS text), 'required', u.required,
          'budgets', ${budgetsAs(dialect, "u.owner_id || '/'")}) AS text)
        FROM inf_gw.users AS u WHERE u.owner_id = ${table}.id AND u.name = '') AS user_limits`;
}

/** The budgets of a level as the text of a JSON array. */
export function budgetsAs({ jsonArray, jsonObject }: Dialect, id: string): string {
  return `(SELECT CAST(${jsonArray}(${jsonObject}('period', b.period, 'limit', CAST(b.limit_nanos AS text))) AS text)
        FROM inf_gw.budgets AS b WHERE b.key_id = ${id})`;
}

/** Gives each end user of a key or a group these limits; null for none at all. No gateway decides meanwhile. */
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

/** Changes what each end user of a key or a group may do. Where something is set for a single one, all stay levels. */
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

/** `stored`: the name as it is stored; empty for all of them. */
export function writeUser(
  ownerId: string,
  stored: string,
  {
    state,
    rpm,
    tpm,
    concurrency,
    spendLimitNanos,
    required = false,
  }: LevelTerms & { readonly state: string; readonly required?: boolean },
): Operation<unknown> {
  return rows(
    `INSERT INTO inf_gw.users (owner_id, name, state, rpm, tpm, concurrency, spend_limit_nanos, required)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       ON CONFLICT (owner_id, name) DO UPDATE SET state = excluded.state, rpm = excluded.rpm, tpm = excluded.tpm,
         concurrency = excluded.concurrency, spend_limit_nanos = excluded.spend_limit_nanos, required = excluded.required`,
    [ownerId, stored, state, rpm, tpm, concurrency, spendLimitNanos, Number(required)],
  );
}
