/** What groups and end users have used, in the operator's book. */
import { type Budget, type BudgetSpend, calendarPeriod, fixedSpend, periodOf, slidingSpend } from '../core/budgets.ts';
import { utcDay } from '../core/clock.ts';
import type { Nanos } from '../core/money.ts';
import type { BudgetedKey, Step } from './budgets.ts';
import { type Dialect, type Operation, rows } from './operation.ts';
import { monthFiguresOf } from './rows.ts';
import { bookedMonths, isUser, MONTH_SUMS } from './sql.ts';
import type { MonthFigures } from './usage.ts';

export class LevelBook {
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** The figures of these levels in a month, by id; one that was not used may be left out. */
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

  /** What levels have spent of each of their budgets, in their order, by id. */
  *spentBy(levels: readonly BudgetedKey[], wallMs: number): Operation<ReadonlyMap<string, readonly BudgetSpend[]>> {
    const found = new Map<string, readonly BudgetSpend[]>();
    for (const { id, budgets } of levels) {
      const spends: BudgetSpend[] = [];
      for (const budget of budgets) spends.push(yield* spendOf(budget, id, wallMs));
      found.set(id, spends);
    }
    return found;
  }
}

function* spendOf(budget: Budget, id: string, wallMs: number): Operation<BudgetSpend> {
  const period = periodOf(budget);
  switch (period.kind) {
    case 'day':
    case 'week': {
      const { fromMs, toMs } = calendarPeriod(period.kind, wallMs);
      const days = 'inf_gw.level_days WHERE level_id = $1 AND day >= $2 AND day < $3';
      return fixedSpend(budget, yield* chargedIn(days, [id, utcDay(fromMs), utcDay(toMs)]), toMs, wallMs);
    }
    case 'total':
      return fixedSpend(budget, yield* chargedIn(`${bookedMonths('$1')} AS booked`, [id]), null, wallMs);
    case 'sliding':
      return slidingSpend(budget, period.windowS, yield* stepsOf(id, period.windowS), wallMs);
  }
}

function* chargedIn(sums: string, values: readonly string[]): Operation<Nanos> {
  const text = `SELECT CAST(coalesce(sum(cost_nanos), 0) AS bigint) AS nanos FROM ${sums}`;
  const [row] = yield* rows(text, values);
  return row?.nanos as bigint;
}

function* stepsOf(id: string, windowS: number): Operation<Step[]> {
  const text = 'SELECT at_ms, cost_nanos FROM inf_gw.budget_steps WHERE key_id = $1 AND window_s = $2';
  const found = yield* rows(text, [id, windowS]);
  return found.map((row) => [Number(row.at_ms), row.cost_nanos as bigint]);
}
