/** Usage of groups and end users, and budget spend of all levels, in the operator's book. */
import { type Budget, type BudgetSpend, calendarPeriod, fixedSpend, periodOf, slidingSpend } from '../core/budgets.ts';
import { DAY_MS, utcDay, utcMonth } from '../core/clock.ts';
import type { Nanos } from '../core/money.ts';
import type { BudgetedKey } from './budgets.ts';
import { type Dialect, type Operation, rows, type Values } from './operation.ts';
import { monthStart } from './periods.ts';
import { monthFiguresOf, type Row } from './rows.ts';
import { isUser, MONTH_SUMS } from './sql.ts';
import type { MonthFigures } from './usage.ts';

export class LevelBook {
  readonly #dialect: Dialect;
  /** The charges of levels, including keys, on given days and in total, with the charges of the levels inside them. */
  readonly #onDays: string;
  readonly #ever: string;
  readonly #steps: string;

  constructor(dialect: Dialect) {
    const { isAnyOf } = dialect;
    this.#dialect = dialect;
    // SQLite sorts the sums of keys by day and month first; listing the periods avoids a scan of the table.
    const own = (table: string, period: string) =>
      `SELECT key_id AS id, ${period}, cost_nanos FROM inf_gw.${table} WHERE ${isAnyOf(period, '$2')} AND ${isAnyOf('key_id', '$1')}`;
    const booked = (table: string, period: string, condition: string) =>
      `SELECT level_id, ${period}, cost_nanos FROM inf_gw.${table} WHERE ${isAnyOf('level_id', '$1')} ${condition}`;
    this.#onDays = `SELECT id, day, sum(cost_nanos) AS nanos FROM (${own('usage_days', 'day')}
      UNION ALL ${booked('level_days', 'day', `AND ${isAnyOf('day', '$2')}`)}) AS charged GROUP BY id, day`;
    this.#ever = `SELECT id, sum(cost_nanos) AS nanos FROM (${own('usage_months', 'month')}
      UNION ALL ${booked('level_months', 'month', '')}
      UNION ALL ${booked('level_days', 'day', `AND ${isUser('level_id')}`)}) AS charged GROUP BY id`;
    this.#steps = `SELECT key_id AS id, window_s, at_ms, cost_nanos AS nanos FROM inf_gw.budget_steps WHERE ${isAnyOf('key_id', '$1')}`;
  }

  /** The figures of these levels in a month, by id. Unused levels may be missing. */
  *monthsOf(ids: readonly string[], month: string): Operation<ReadonlyMap<string, MonthFigures>> {
    const isAsked = this.#dialect.isAnyOf('level_id', '$2');
    const found = yield* rows(
      `SELECT level_id, requests, cost_nanos, prompt_tokens + completion_tokens AS tokens FROM inf_gw.level_months
         WHERE month = $1 AND ${isAsked}
       UNION ALL SELECT level_id, ${MONTH_SUMS} FROM inf_gw.level_days
         WHERE substr(day, 1, 7) = $1 AND ${isAsked} AND ${isUser('level_id')} GROUP BY level_id`,
      [month, ids],
    );
    return new Map(found.map((row) => [row.level_id as string, monthFiguresOf(row)]));
  }

  /** The charges of these levels in a month, by id, including the levels inside them. */
  *chargesIn(month: string, ids: readonly string[]): Operation<ReadonlyMap<string, Nanos>> {
    if (ids.length === 0) return new Map();
    const { isAnyOf } = this.#dialect;
    const found = yield* rows(
      `SELECT id, sum(cost_nanos) AS nanos FROM (
         SELECT key_id AS id, cost_nanos FROM inf_gw.usage_months WHERE month = $1 AND ${isAnyOf('key_id', '$2')}
         UNION ALL SELECT level_id, cost_nanos FROM inf_gw.level_months WHERE month = $1 AND ${isAnyOf('level_id', '$2')}
         UNION ALL SELECT level_id, cost_nanos FROM inf_gw.level_days
           WHERE substr(day, 1, 7) = $1 AND ${isAnyOf('level_id', '$2')} AND ${isUser('level_id')}
       ) AS charged GROUP BY id`,
      [month, ids],
    );
    return new Map(found.map((row) => [row.id as string, row.nanos as Nanos]));
  }

  /** The spend of each level in each of its budgets, in order, by level id. */
  *spentBy(levels: readonly BudgetedKey[], wallMs: number): Operation<ReadonlyMap<string, readonly BudgetSpend[]>> {
    const idsWith = (...kinds: readonly string[]) =>
      levels.filter(({ budgets }) => budgets.some((each) => kinds.includes(periodOf(each).kind))).map(({ id }) => id);
    const days = yield* rowsById(this.#onDays, idsWith('day', 'week'), [daysOfWeek(wallMs)]);
    const ever = idsWith('total');
    const totals = yield* rowsById(this.#ever, ever, [ever.length === 0 ? [] : yield* monthsWithSums()]);
    const steps = yield* rowsById(this.#steps, idsWith('sliding'));
    const spends = ({ id, budgets }: BudgetedKey) =>
      budgets.map((budget) => spendOf(budget, days.get(id) ?? [], totals.get(id) ?? [], steps.get(id) ?? [], wallMs));
    return new Map(levels.map((level) => [level.id, spends(level)]));
  }
}

type Rows = readonly Row[];

function spendOf(budget: Budget, days: Rows, totals: Rows, steps: Rows, wallMs: number): BudgetSpend {
  const period = periodOf(budget);
  switch (period.kind) {
    case 'day':
    case 'week': {
      const { fromMs, toMs } = calendarPeriod(period.kind, wallMs);
      const within = days.filter(({ day }) => (day as string) >= utcDay(fromMs) && (day as string) < utcDay(toMs));
      return fixedSpend(budget, nanosIn(within), toMs, wallMs);
    }
    case 'total':
      return fixedSpend(budget, nanosIn(totals), null, wallMs);
    case 'sliding': {
      const own = steps.filter((row) => Number(row.window_s) === period.windowS);
      const ofWindow = own.map((row) => [Number(row.at_ms), row.nanos as bigint] as const);
      return slidingSpend(budget, period.windowS, ofWindow, wallMs);
    }
  }
}

function nanosIn(found: Rows): Nanos {
  return found.reduce((sum, { nanos }) => sum + (nanos as bigint), 0n);
}

/** Runs a statement with the ids as `$1` and groups its rows by `id`. Without ids it runs no query. */
function* rowsById(text: string, ids: readonly string[], values: Values = []): Operation<ReadonlyMap<string, Rows>> {
  if (ids.length === 0) return new Map();
  return Map.groupBy(yield* rows(text, [ids, ...values]), ({ id }) => id as string);
}

function daysOfWeek(wallMs: number): string[] {
  const { fromMs, toMs } = calendarPeriod('week', wallMs);
  return Array.from({ length: (toMs - fromMs) / DAY_MS }, (_, day) => utcDay(fromMs + day * DAY_MS));
}

/** All months from the first to the last with sums. */
function* monthsWithSums(): Operation<string[]> {
  const end = (which: 'min' | 'max') => `(SELECT ${which}(month) FROM inf_gw.usage_months)`;
  const [found] = yield* rows(`SELECT ${end('min')} AS first, ${end('max')} AS last`);
  const months: string[] = [];
  const lastMs = Date.parse(String(found?.last));
  for (let at = Date.parse(String(found?.first)); at <= lastMs; at = monthStart(at, 1)) months.push(utcMonth(at));
  return months;
}
