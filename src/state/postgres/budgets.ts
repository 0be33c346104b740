/** Budgets in the database, as operators read and write them. */
import { type Budget, type BudgetSpend, sortedBudgets, stepMs, windowSOf } from '../../core/budgets.ts';
import { utcDay } from '../../core/clock.ts';
import {
  type BudgetedKey,
  type Budgets,
  budgetDifference,
  daysOfWindow,
  endedSince,
  exactAfterMs,
  lastStepOf,
  MOST_FILL_ROWS,
  windowStartMs,
} from '../budgets.ts';
import type { Row } from '../rows.ts';
import type { Database, Run } from './database.ts';

/** The budgets of a key as one column of the table of keys. */
export const BUDGETS_COLUMN = `(SELECT jsonb_agg(jsonb_build_object('period', b.period, 'limit', b.limit_nanos::text))::text
  FROM inf_gw.budgets b WHERE b.key_id = keys.id) AS budgets`;

export class PostgresBudgets implements Budgets {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async spentBy(keys: readonly BudgetedKey[], wallMs: number): Promise<ReadonlyMap<string, readonly BudgetSpend[]>> {
    const ids = keys.filter(({ budgets }) => budgets.length > 0).map(({ id }) => id);
    if (ids.length === 0) return new Map();
    const nowUs = BigInt(Math.floor(wallMs)) * 1_000n;
    const rows = await this.#database.run('SELECT * FROM inf_gw.budget_spends($1, $2, $2)', [ids, nowUs]);
    const byKey = Map.groupBy(rows, (row) => row.key_id as string);
    return new Map([...byKey].map(([id, own]) => [id, sortedBudgets(own.map(spendOf))]));
  }
}

function spendOf(row: Row): BudgetSpend {
  return {
    period: row.period as string,
    limitNanos: row.limit_nanos as bigint,
    chargedNanos: row.charged_nanos as bigint,
    freesAtMs: timeIn(row.frees_ms),
    resetsAtMs: timeIn(row.resets_ms),
  };
}

function timeIn(value: Row[string] | undefined): number | null {
  return typeof value === 'bigint' ? Number(value) : null;
}

/** Gives a key these budgets and no others. The caller holds the lock, unless the key has never been used. */
export async function writeBudgets(
  run: Run,
  { id, budgets }: BudgetedKey,
  wanted: readonly Budget[],
  wallMs: number,
): Promise<void> {
  const { after, added, removed } = budgetDifference(budgets, wanted);
  const windowsOf = (some: readonly Budget[]) => some.map(windowSOf).filter((windowS) => windowS !== null);
  const changed = windowsOf([...removed, ...added]).map(BigInt);
  await run('DELETE FROM inf_gw.budget_steps WHERE key_id = $1 AND window_s = ANY ($2)', [id, changed]);
  const exactFrom = new Map<number, bigint>();
  for (const windowS of windowsOf(added)) exactFrom.set(windowS, BigInt(await fill(run, id, windowS, wallMs)));
  const known = await run('DELETE FROM inf_gw.budgets WHERE key_id = $1 RETURNING window_s, exact_from_ms', [id]);
  for (const { window_s: windowS, exact_from_ms: atMs } of known) {
    if (windowS !== null && !exactFrom.has(Number(windowS))) exactFrom.set(Number(windowS), atMs as bigint);
  }
  for (const budget of after) {
    const windowS = windowSOf(budget);
    await run(
      'INSERT INTO inf_gw.budgets (key_id, period, limit_nanos, window_s, exact_from_ms) VALUES ($1, $2, $3, $4, $5)',
      [id, budget.period, budget.limitNanos, windowS, windowS === null ? null : (exactFrom.get(windowS) as bigint)],
    );
  }
}

/**
 * Fills a new window with what the key has spent before: what is dated in the future counts as now. Returns from when on
 * its steps are exact.
 */
async function fill(run: Run, keyId: string, windowS: number, wallMs: number): Promise<number> {
  const sinceMs = windowStartMs(windowS, wallMs);
  const [count] = await run(
    `SELECT count(*) AS rows FROM (${endedSince('1', 'inf_gw.journal', '$1::bigint')} LIMIT $2) j`,
    [sinceMs, MOST_FILL_ROWS + 1],
  );
  const latestMs = await latestEndMs(run, wallMs);
  const days = daysOfWindow(windowS, wallMs);
  const dropped = await run(
    `SELECT 1::bigint AS one FROM inf_gw.sealed_days WHERE key_id = $1 AND day = ANY ($2) AND settled_to_ms >= $3 LIMIT 1`,
    [keyId, days, sinceMs],
  );
  if (Number(count?.rows) <= MOST_FILL_ROWS && dropped.length === 0) {
    await run(
      `INSERT INTO inf_gw.budget_steps (key_id, window_s, at_ms, cost_nanos)
         SELECT key_id, $1::bigint, least(settled_at_ms, $5::bigint) / $2::bigint * $2::bigint, sum(cost_nanos)
         FROM (${endedSince('key_id, settled_at_ms, cost_nanos', 'inf_gw.journal', '$3::bigint')}) j
         WHERE key_id = $4 GROUP BY 1, 3 HAVING sum(cost_nanos) > 0`,
      [windowS, stepMs(windowS), sinceMs, keyId, wallMs],
    );
    return latestMs > wallMs ? exactAfterMs(windowS, latestMs) : sinceMs;
  }
  const sums = await run(
    `SELECT day, sum(cost_nanos) AS nanos FROM inf_gw.usage_days WHERE key_id = $1 AND (day = ANY ($2) OR day > $3)
       GROUP BY day HAVING sum(cost_nanos) > 0`,
    [keyId, days, utcDay(wallMs)],
  );
  for (const { day, nanos } of sums) {
    await run(
      `INSERT INTO inf_gw.budget_steps AS u (key_id, window_s, at_ms, cost_nanos) VALUES ($1, $2, $3, $4)
         ON CONFLICT (key_id, window_s, at_ms) DO UPDATE SET cost_nanos = u.cost_nanos + excluded.cost_nanos`,
      [keyId, windowS, lastStepOf(day as string, windowS, wallMs), nanos as bigint],
    );
  }
  return exactAfterMs(windowS, latestMs);
}

/** When the last request ended, or now: later than now only after a clock that was ahead. */
async function latestEndMs(run: Run, wallMs: number): Promise<number> {
  const [row] = await run(
    `SELECT max(settled_at_ms) AS at_ms FROM (${endedSince('settled_at_ms', 'inf_gw.journal', '$1::bigint')}) j`,
    [wallMs],
  );
  return Math.max(Number(row?.at_ms ?? wallMs), wallMs);
}
