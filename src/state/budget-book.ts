/** Budgets in the operator's book, and what a new sliding window begins with. */
import { type Budget, isSamePeriod, sortedBudgets, stepMs, stepOf, windowSOf } from '../core/budgets.ts';
import { DAY_MS, utcDay } from '../core/clock.ts';
import type { Nanos } from '../core/money.ts';
import { type BudgetedKey, endedSince, exactAfterMs } from './budgets.ts';
import { ofAllUsers } from './levels.ts';
import { type Dialect, type Operation, rows } from './operation.ts';

/** What has to be written so that a key has these budgets and no others. */
interface BudgetDifference {
  /** Kept budgets as well: their limits, or how their windows are spelled, may have changed. */
  readonly after: readonly Budget[];
  /** Those whose period is new. */
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
 * The number of journal rows at most that are read to fill a new window, while all requests wait. Where there are more,
 * or some were dropped, the sums by day are taken.
 */
const MOST_FILL_ROWS = 100_000;

/** Where a new window begins: everything that may count ended from then on. */
function windowStartMs(windowS: number, wallMs: number): number {
  return stepOf(wallMs, windowS) - windowS * 1_000;
}

/** How long after its day a request may end of which no more than the day of its admission is known. */
const OVERTIME_MS = 3_600_000;

/** The days up to today whose sums may count in a window. */
function daysOfWindow(windowS: number, wallMs: number): string[] {
  const first = Math.floor((windowStartMs(windowS, wallMs) - OVERTIME_MS) / DAY_MS);
  const days = Math.floor(wallMs / DAY_MS) - first + 1;
  return Array.from({ length: days }, (_, i) => utcDay((first + i) * DAY_MS));
}

/** The step that the cost of a day is put into where no more is known: the last possible one. So it never leaves early. */
function lastStepOf(day: string, windowS: number, wallMs: number): number {
  return stepOf(Math.min(Date.parse(day) + DAY_MS + OVERTIME_MS - 1, wallMs), windowS);
}

/** Gives a key that was just created its budgets. It has spent nothing, so there is nothing to fill its windows with. */
export function writeFirstBudgets(keyId: string, budgets: readonly Budget[], wallMs: number): Operation<void> {
  return insertBudgets(keyId, sortedBudgets(budgets), (windowS) => windowStartMs(windowS, wallMs));
}

/** Gives a key these budgets and no others. No gateway decides meanwhile. */
export function* writeBudgets(
  dialect: Dialect,
  { id, budgets }: BudgetedKey,
  wanted: readonly Budget[],
  wallMs: number,
): Operation<void> {
  const { after, added, removed } = budgetDifference(budgets, wanted);
  const windowsOf = (some: readonly Budget[]) => some.map(windowSOf).filter((windowS) => windowS !== null);
  for (const windowS of windowsOf([...removed, ...added])) {
    yield* dropSteps(id, windowS);
  }
  const exactFrom = new Map<number, number>();
  for (const windowS of windowsOf(added)) exactFrom.set(windowS, yield* fill(dialect, id, windowS, wallMs));
  const text = 'DELETE FROM inf_gw.budgets WHERE key_id = $1 RETURNING window_s, exact_from_ms';
  for (const { window_s: windowS, exact_from_ms: atMs } of yield* rows(text, [id])) {
    if (windowS !== null && !exactFrom.has(Number(windowS))) exactFrom.set(Number(windowS), Number(atMs));
  }
  yield* insertBudgets(id, after, (windowS) => exactFrom.get(windowS) as number);
}

/** Of what holds for all end users: the steps of all who have no such budget of their own. */
function dropSteps(id: string, windowS: number): Operation<unknown> {
  if (!id.endsWith('/')) {
    return rows('DELETE FROM inf_gw.budget_steps WHERE key_id = $1 AND window_s = $2', [id, windowS]);
  }
  // The sign after a slash is a zero.
  return rows(
    `DELETE FROM inf_gw.budget_steps WHERE key_id > $1 AND key_id < $2 AND window_s = $3 AND NOT EXISTS (
       SELECT 1 FROM inf_gw.budgets AS b WHERE b.key_id = budget_steps.key_id AND b.window_s = budget_steps.window_s)`,
    [id, `${id.slice(0, -1)}0`, windowS],
  );
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

/** What a level was charged for the requests of some days, by day. */
const chargedOn = (days: string) => `SELECT day, sum(cost_nanos) AS nanos FROM (
    SELECT day, cost_nanos FROM inf_gw.usage_days WHERE key_id = $1 AND ${days}
    UNION ALL SELECT day, cost_nanos FROM inf_gw.level_days WHERE level_id = $1 AND ${days}) AS u
  GROUP BY day HAVING sum(cost_nanos) > 0`;

/**
 * Fills a new window with what the level has spent before: what is dated in the future counts as now. Returns from when on
 * its steps are exact. Each day is named, since a file sorts its sums by day first: a range of days would be read for
 * all keys. Only of days to come, which hardly ever have sums, there is no list.
 */
function* fill(
  { least, isAnyOf, isBookedTo }: Dialect,
  keyId: string,
  windowS: number,
  wallMs: number,
): Operation<number> {
  // Nobody knows by then who the end users are that it is for.
  if (keyId.endsWith('/')) return stepOf(wallMs, windowS) + stepMs(windowS);

  const sinceMs = windowStartMs(windowS, wallMs);
  const latestMs = yield* latestEndMs(wallMs);
  const days = daysOfWindow(windowS, wallMs);
  const [count] = yield* rows(
    `SELECT count(*) AS rows FROM (${endedSince('1', 'inf_gw.journal', 'CAST($1 AS bigint)')} LIMIT $2) AS j`,
    [sinceMs, MOST_FILL_ROWS + 1],
  );
  const dropped = yield* rows(
    ['sealed_days WHERE key_id', 'sealed_levels WHERE level_id']
      .map((from) => `SELECT day FROM inf_gw.${from} = $1 AND ${isAnyOf('day', '$2')} AND settled_to_ms >= $3`)
      .join(' UNION ALL '),
    [keyId, days, sinceMs],
  );
  if (Number(count?.rows) <= MOST_FILL_ROWS && dropped.length === 0) {
    yield* rows(
      `INSERT INTO inf_gw.budget_steps (key_id, window_s, at_ms, cost_nanos)
         SELECT CAST($4 AS text), CAST($1 AS bigint),
           ${least}(settled_at_ms, CAST($5 AS bigint)) / CAST($2 AS bigint) * CAST($2 AS bigint), sum(cost_nanos)
         FROM (${endedSince('key_id, levels, settled_at_ms, cost_nanos', 'inf_gw.journal', 'CAST($3 AS bigint)')}) AS j
         WHERE key_id = $4 OR ${isBookedTo('levels', '$4')} GROUP BY 1, 3 HAVING sum(cost_nanos) > 0`,
      [windowS, stepMs(windowS), sinceMs, keyId, wallMs],
    );
    return latestMs > wallMs ? exactAfterMs(windowS, latestMs) : sinceMs;
  }
  const sums = yield* rows(`${chargedOn(isAnyOf('day', '$2'))} UNION ALL ${chargedOn('day > $3')}`, [
    keyId,
    days,
    utcDay(wallMs),
  ]);
  for (const { day, nanos } of sums) {
    yield* rows(
      `INSERT INTO inf_gw.budget_steps AS s (key_id, window_s, at_ms, cost_nanos) VALUES ($1, $2, $3, $4)
         ON CONFLICT (key_id, window_s, at_ms) DO UPDATE SET cost_nanos = s.cost_nanos + excluded.cost_nanos`,
      [keyId, windowS, lastStepOf(day as string, windowS, wallMs), nanos as bigint],
    );
  }
  return exactAfterMs(windowS, latestMs);
}

/** When the last request ended, or now: later than now only after a clock that was ahead. */
export function* latestEndMs(wallMs: number): Operation<number> {
  const [row] = yield* rows(
    `SELECT max(settled_at_ms) AS at_ms FROM (${endedSince('settled_at_ms', 'inf_gw.journal', 'CAST($1 AS bigint)')}) AS j`,
    [wallMs],
  );
  return Math.max(Number(row?.at_ms ?? wallMs), wallMs);
}

/**
 * Adds an amount, possibly negative, to the sliding windows of a level at the end of a request. What a window knows by
 * day only may be less there: it then counts too much, and not too little. No gateway decides meanwhile.
 */
export function correctSteps(
  { greatest }: Dialect,
  levelId: string,
  settledAtMs: number,
  nanos: Nanos,
): Operation<unknown> {
  return rows(
    `INSERT INTO inf_gw.budget_steps AS s (key_id, window_s, at_ms, cost_nanos)
       SELECT DISTINCT CAST($1 AS text), window_s, CAST($2 AS bigint) / (window_s * 10) * (window_s * 10), ${greatest}(0, CAST($3 AS bigint))
         FROM inf_gw.budgets WHERE key_id IN ($1, $4) AND window_s IS NOT NULL
       ON CONFLICT (key_id, window_s, at_ms) DO UPDATE SET cost_nanos = ${greatest}(0, s.cost_nanos + CAST($3 AS bigint))`,
    [levelId, settledAtMs, nanos, ofAllUsers(levelId)],
  );
}
