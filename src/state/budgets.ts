/** What keys have spent of their budgets, as operators read it, and what a new sliding window begins with. */
import { type Budget, type BudgetSpend, isSamePeriod, sortedBudgets, stepMs, stepOf } from '../core/budgets.ts';
import { DAY_MS, utcDay } from '../core/clock.ts';
import type { Nanos } from '../core/money.ts';
import type { KeyRecord } from './keys.ts';

export type BudgetedKey = Pick<KeyRecord, 'id' | 'budgets'>;

export interface Budgets {
  /** What keys have spent of each of their budgets, in their order, by key id. Keys without budgets may be left out. */
  spentBy(keys: readonly BudgetedKey[], wallMs: number): Promise<ReadonlyMap<string, readonly BudgetSpend[]>>;
}

/** What has to be written so that a key has these budgets and no others. */
export interface BudgetDifference {
  /** Kept budgets as well: their limits, or how their windows are spelled, may have changed. */
  readonly after: readonly Budget[];
  /** Those whose period is new. */
  readonly added: readonly Budget[];
  readonly removed: readonly Budget[];
}

export function budgetDifference(before: readonly Budget[], after: readonly Budget[]): BudgetDifference {
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
export const MOST_FILL_ROWS = 100_000;

/** Requests that took longer than this have an index of their own, `journal_of_long_requests`, by their end. */
const LONG_MS = 300_000;

/**
 * Selects the rows of the journal that ended then or later. An index by their end would cost every request: these were
 * admitted then, or a little before it, or they took so long that there are few of them.
 */
export function endedSince(columns: string, journal: string, since: string): string {
  return `SELECT ${columns} FROM ${journal} WHERE admitted_at_ms >= ${since} - ${LONG_MS} AND settled_at_ms >= ${since}
      AND settled_at_ms - admitted_at_ms <= ${LONG_MS}
    UNION ALL SELECT ${columns} FROM ${journal} WHERE settled_at_ms - admitted_at_ms > ${LONG_MS} AND settled_at_ms >= ${since}`;
}

/** Where a new window begins: everything that may count ended from then on. */
export function windowStartMs(windowS: number, wallMs: number): number {
  return stepOf(wallMs, windowS) - windowS * 1_000;
}

/** How long after its day a request may end of which no more than the day of its admission is known. */
const OVERTIME_MS = 3_600_000;

/** The days whose sums may count in a window. */
export function daysOfWindow(windowS: number, wallMs: number): string[] {
  const first = Math.floor((windowStartMs(windowS, wallMs) - OVERTIME_MS) / DAY_MS);
  const days = Math.floor(wallMs / DAY_MS) - first + 1;
  return Array.from({ length: days }, (_, i) => utcDay((first + i) * DAY_MS));
}

/** The step that the cost of a day is put into where no more is known: the last possible one. So it never leaves early. */
export function lastStepOf(day: string, windowS: number, wallMs: number): number {
  return stepOf(Math.min(Date.parse(day) + DAY_MS + OVERTIME_MS - 1, wallMs), windowS);
}

/** From when on the steps of a window are exact if it was filled with sums by day. */
export function exactAfterMs(windowS: number, wallMs: number): number {
  return stepOf(wallMs, windowS) + stepMs(windowS);
}

/** The cost of one step, by its beginning. */
export type Step = readonly [atMs: number, nanos: Nanos];
