/** Budgets in the operator's book, and the initial fill of new sliding windows. */
import { type Budget, isSamePeriod, sortedBudgets, stepMs, stepOf, windowSOf } from '../core/budgets.ts';
import { DAY_MS, utcDay } from '../core/clock.ts';
import type { Nanos } from '../core/money.ts';
import { type BudgetedKey, endedSince, exactAfterMs } from './budgets.ts';
import { ownerOf, userId } from './levels.ts';
import { type Dialect, type Operation, rows } from './operation.ts';

/** The writes that replace the budgets of a level. */
interface BudgetDifference {
  /** Includes unchanged periods: their limits, or the spelling of their windows, may have changed. */
  readonly after: readonly Budget[];
  /** Budgets with a new period. */
  readonly added: readonly Budget[];
  readonly removed: readonly Budget[];
}

function budgetDifference(before: readonly Budget[], after: readonly Budget[]): BudgetDifference {
  const isIn = (budgets: readonly Budget[]) => (budget: Budget) => budgets.some((other) => isSamePeriod(budget, other));
  return {
    after: sortedBudgets(after),
    added: after.filter((budget) => !isIn(before)(budget)),
    removed: before.filter((budget) => !isIn(after)(budget)),
  };
}

/**
 * Maximum number of journal rows read to fill a new window, because all requests wait for the fill. Beyond it, or if rows
 * were dropped, the fill uses the sums by day.
 */
const MOST_FILL_ROWS = 100_000;

/** Start of a new window: every request that counts in it ended at or after this time. */
function windowStartMs(windowS: number, wallMs: number): number {
  return stepOf(wallMs, windowS) - windowS * 1_000;
}

/**
 * Maximum time between the end of a day and the end of a request admitted on it, assumed where only the day of admission
 * is known.
 */
const OVERTIME_MS = 3_600_000;

/** The days up to today whose sums may count in a window. */
function daysOfWindow(windowS: number, wallMs: number): string[] {
  const first = Math.floor((windowStartMs(windowS, wallMs) - OVERTIME_MS) / DAY_MS);
  const days = Math.floor(wallMs / DAY_MS) - first + 1;
  return Array.from({ length: days }, (_, i) => utcDay((first + i) * DAY_MS));
}

/**
 * The step that receives the cost of a whole day: the latest possible one, so that the cost never leaves the window too
 * early.
 */
function lastStepOf(day: string, windowS: number, wallMs: number): number {
  return stepOf(Math.min(Date.parse(day) + DAY_MS + OVERTIME_MS - 1, wallMs), windowS);
}

/** Writes the budgets of a new key. It has no spend yet, so its windows start empty. */
export function writeFirstBudgets(keyId: string, budgets: readonly Budget[], wallMs: number): Operation<void> {
  return insertBudgets(keyId, sortedBudgets(budgets), (windowS) => windowStartMs(windowS, wallMs));
}

/** Replaces the budgets of a level. Gateways decide no requests until the transaction ends. */
export function* writeBudgets(
  dialect: Dialect,
  { id, budgets }: BudgetedKey,
  wanted: readonly Budget[],
  wallMs: number,
): Operation<void> {
  const { after, added, removed } = budgetDifference(budgets, wanted);
  const windowsOf = (some: readonly Budget[]) => some.map(windowSOf).filter((windowS) => windowS !== null);
  for (const windowS of windowsOf([...removed, ...added])) yield* dropSteps(id, windowS);
  const exactFrom = new Map<number, number>();
  for (const windowS of windowsOf(added)) exactFrom.set(windowS, yield* fill(dialect, id, windowS, wallMs));
  // The budget that applies to all end users applies to this one again.
  for (const windowS of windowsOf(removed)) {
    if (yield* isOfAllUsers(id, windowS)) yield* fill(dialect, id, windowS, wallMs);
  }
  const text = 'DELETE FROM inf_gw.budgets WHERE key_id = $1 RETURNING window_s, exact_from_ms';
  for (const { window_s: windowS, exact_from_ms: atMs } of yield* rows(text, [id])) {
    if (windowS !== null && !exactFrom.has(Number(windowS))) exactFrom.set(Number(windowS), Number(atMs));
  }
  yield* insertBudgets(id, after, (windowS) => exactFrom.get(windowS) as number);
}

function* insertBudgets(
  keyId: string,
  budgets: readonly Budget[],
  exactFromMs: (windowS: number) => number,
): Operation<void> {
  for (const budget of budgets) {
    const windowS = windowSOf(budget);
    yield* rows(
      'INSERT INTO inf_gw.budgets (key_id, period, limit_nanos, window_s, exact_from_ms) VALUES ($1, $2, $3, $4, $5)',
      [keyId, budget.period, budget.limitNanos, windowS, windowS === null ? null : exactFromMs(windowS)],
    );
  }
}

/** The id that stands for all end users of a key or a group is the common prefix of their ids. */
function isAllUsers(id: string): boolean {
  return id.endsWith('/');
}

/** Drops a window of a level. For the level of all end users, drops it from each user without such a budget. */
function dropSteps(id: string, windowS: number): Operation<unknown> {
  if (!isAllUsers(id)) {
    return rows('DELETE FROM inf_gw.budget_steps WHERE key_id = $1 AND window_s = $2', [id, windowS]);
  }
  return rows(
    `DELETE FROM inf_gw.budget_steps WHERE key_id >= $1 AND key_id < $3 AND window_s = $2 AND NOT EXISTS
       (SELECT 1 FROM inf_gw.budgets AS b WHERE b.key_id = budget_steps.key_id AND b.window_s = $2)`,
    [id, windowS, afterUsersOf(id)],
  );
}

/** The upper bound, exclusive, of the ids of these end users. */
function afterUsersOf(id: string): string {
  return `${id.slice(0, -1)}0`;
}

/** Whether a window of one end user is inherited from the limits of all. */
function* isOfAllUsers(id: string, windowS: number): Operation<boolean> {
  const owner = ownerOf(id);
  if (owner === undefined || isAllUsers(id)) return false;
  const text = 'SELECT period FROM inf_gw.budgets WHERE key_id = $1 AND window_s = $2';
  return (yield* rows(text, [userId(owner.ownerId), windowS])).length > 0;
}

/** The end users with their own budget for this window. Their steps are kept. */
function* ownWindows(id: string, windowS: number): Operation<ReadonlySet<string>> {
  if (!isAllUsers(id)) return new Set();
  const text = 'SELECT key_id FROM inf_gw.budgets WHERE key_id > $1 AND key_id < $3 AND window_s = $2';
  return new Set((yield* rows(text, [id, windowS, afterUsersOf(id)])).map((row) => row.key_id as string));
}

/** The charges of some days, by level and day, for the level `$1` or for each of its end users. */
function chargedOn(id: string, days: string): string {
  const own = `SELECT CAST($1 AS text) AS level_id, day, cost_nanos FROM inf_gw.usage_days WHERE key_id = $1 AND ${days}`;
  const booked = `SELECT level_id, day, cost_nanos FROM inf_gw.level_days WHERE ${isLevel(id)} AND ${days}`;
  return `SELECT level_id, day, sum(cost_nanos) AS nanos FROM (${own} UNION ALL ${booked}) AS c
    GROUP BY level_id, day HAVING sum(cost_nanos) > 0`;
}

/** Filters sums by level. Compares prefixes, because LIKE would read names of end users as patterns. */
function isLevel(id: string): string {
  return isAllUsers(id) ? 'substr(level_id, 1, length($1)) = $1' : 'level_id = $1';
}

/** Selects the ended requests booked to `$1`, or to each of its end users. */
function bookedTo(id: string, { textsIn }: Dialect, ended: string): string {
  if (isAllUsers(id)) {
    return `SELECT l.value AS level_id, j.settled_at_ms, j.cost_nanos FROM (${ended}) AS j, ${textsIn('j.levels')} AS l
      WHERE substr(l.value, 1, length($1)) = $1`;
  }
  return `SELECT CAST($1 AS text) AS level_id, j.settled_at_ms, j.cost_nanos FROM (${ended}) AS j
    WHERE j.key_id = $1 OR EXISTS (SELECT 1 FROM ${textsIn('j.levels')} AS l WHERE l.value = $1)`;
}

/**
 * Fills a new window with the level's earlier spend. Entries dated in the future count as now. Returns the time from which
 * the steps are exact.
 *
 * The query lists each day: SQLite sorts its sums by day first, so a range of days would read the sums of all keys. Future
 * days, which hardly ever have sums, are a range.
 */
function* fill(dialect: Dialect, id: string, windowS: number, wallMs: number): Operation<number> {
  const { least, isAnyOf } = dialect;
  const sinceMs = windowStartMs(windowS, wallMs);
  const latestMs = yield* latestEndMs(wallMs);
  const days = daysOfWindow(windowS, wallMs);
  const [count] = yield* rows(
    `SELECT count(*) AS rows FROM (${endedSince('1', 'inf_gw.journal', 'CAST($1 AS bigint)')} LIMIT $2) AS j`,
    [sinceMs, MOST_FILL_ROWS + 1],
  );
  const sealed = `${isAnyOf('day', '$2')} AND settled_to_ms >= $3`;
  const dropped = yield* rows(
    `SELECT day FROM inf_gw.sealed_days WHERE key_id = $1 AND ${sealed}
       UNION ALL SELECT day FROM inf_gw.sealed_levels WHERE ${isLevel(id)} AND ${sealed} LIMIT 1`,
    [id, days, sinceMs],
  );
  if (Number(count?.rows) <= MOST_FILL_ROWS && dropped.length === 0) {
    const ended = endedSince('key_id, levels, settled_at_ms, cost_nanos', 'inf_gw.journal', 'CAST($4 AS bigint)');
    yield* rows(
      `INSERT INTO inf_gw.budget_steps (key_id, window_s, at_ms, cost_nanos)
         SELECT level_id, CAST($2 AS bigint),
           ${least}(settled_at_ms, CAST($5 AS bigint)) / CAST($3 AS bigint) * CAST($3 AS bigint), sum(cost_nanos)
         FROM (${bookedTo(id, dialect, ended)}) AS b WHERE true GROUP BY 1, 3 HAVING sum(cost_nanos) > 0
       ON CONFLICT (key_id, window_s, at_ms) DO NOTHING`,
      [id, windowS, stepMs(windowS), sinceMs, wallMs],
    );
    return latestMs > wallMs ? exactAfterMs(windowS, latestMs) : sinceMs;
  }
  const sums = [
    ...(yield* rows(chargedOn(id, isAnyOf('day', '$2')), [id, days])),
    ...(yield* rows(chargedOn(id, 'day > $2'), [id, utcDay(wallMs)])),
  ];
  const kept = yield* ownWindows(id, windowS);
  for (const { level_id: level, day, nanos } of sums) {
    if (kept.has(level as string)) continue;
    yield* rows(
      `INSERT INTO inf_gw.budget_steps AS s (key_id, window_s, at_ms, cost_nanos) VALUES ($1, $2, $3, $4)
         ON CONFLICT (key_id, window_s, at_ms) DO UPDATE SET cost_nanos = s.cost_nanos + excluded.cost_nanos`,
      [level as string, windowS, lastStepOf(day as string, windowS, wallMs), nanos as bigint],
    );
  }
  return exactAfterMs(windowS, latestMs);
}

/** End of the last request, or now. It is later than now only if the clock was ahead before. */
export function* latestEndMs(wallMs: number): Operation<number> {
  const [row] = yield* rows(
    `SELECT max(settled_at_ms) AS at_ms FROM (${endedSince('settled_at_ms', 'inf_gw.journal', 'CAST($1 AS bigint)')}) AS j`,
    [wallMs],
  );
  return Math.max(Number(row?.at_ms ?? wallMs), wallMs);
}

/**
 * Adds an amount, possibly negative, to the sliding windows of a level at the end of a request. Where a window was filled
 * by day, the step may contain less than the amount to subtract; it stops at zero, so the window counts too much rather
 * than too little. Gateways decide no requests until the transaction ends.
 */
export function correctSteps({ greatest }: Dialect, id: string, settledAtMs: number, nanos: Nanos): Operation<unknown> {
  const owner = ownerOf(id);
  return rows(
    `INSERT INTO inf_gw.budget_steps AS s (key_id, window_s, at_ms, cost_nanos)
       SELECT DISTINCT CAST($1 AS text), window_s, CAST($2 AS bigint) / (window_s * 10) * (window_s * 10),
           ${greatest}(0, CAST($3 AS bigint))
         FROM inf_gw.budgets WHERE (key_id = $1 OR key_id = $4) AND window_s IS NOT NULL
       ON CONFLICT (key_id, window_s, at_ms) DO UPDATE SET cost_nanos = ${greatest}(0, s.cost_nanos + CAST($3 AS bigint))`,
    [id, settledAtMs, nanos, owner === undefined ? id : userId(owner.ownerId)],
  );
}
