/** Budgets: how much a key may spend in a period, which periods there are, and what is spent of one. Pure. */
import { DAY_MS, isoTime } from './clock.ts';
import { formatUsd, type Nanos } from './money.ts';

/** A limit on what requests cost that were admitted in one period, or that ended in a sliding one. */
export interface Budget {
  /** `day`, `week` or `total`, or the length of a sliding window as it was set: `24h`. */
  readonly period: string;
  readonly limitNanos: Nanos;
}

/** What a key has spent of a budget in the current period. */
export interface BudgetSpend extends Budget {
  readonly chargedNanos: Nanos;
  /** When less than the limit counts, if nothing is added. Null for never; the present or past if that is so now. */
  readonly freesAtMs: number | null;
  /** When nothing counts any more, if nothing is added. Null for never, and for a sliding window in which nothing counts. */
  readonly resetsAtMs: number | null;
}

export type Period =
  /** A day or a week of the calendar, in UTC. Weeks begin on Monday. */
  | { readonly kind: 'day' | 'week' }
  | { readonly kind: 'total' }
  | { readonly kind: 'sliding'; readonly windowS: number };

/** The number of budgets of a key at most. */
export const MAX_BUDGETS = 8;
/** The longest sliding window: 366 days. */
const MAX_WINDOW_S = 366 * 86_400;
const UNITS_S = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** The period with that name, or undefined. */
export function parsePeriod(name: string): Period | undefined {
  if (name === 'day' || name === 'week' || name === 'total') return { kind: name };
  const [, number, unit] = /^([1-9]\d{0,8})([smhd])$/.exec(name) ?? [];
  const windowS = Number(number) * UNITS_S[unit as keyof typeof UNITS_S];
  return windowS <= MAX_WINDOW_S ? { kind: 'sliding', windowS } : undefined;
}

/** The period of a stored budget. */
export function periodOf({ period }: Budget): Period {
  const parsed = parsePeriod(period);
  if (parsed === undefined) throw new Error(`a budget has the unknown period ${period}`);
  return parsed;
}

/** The length of a budget's sliding window; null if it has none. */
export function windowSOf(budget: Budget): number | null {
  const period = periodOf(budget);
  return period.kind === 'sliding' ? period.windowS : null;
}

/** Whether two budgets are for the same period: `24h` is `1d`, but not `day`. */
export function isSamePeriod(a: Budget, b: Budget): boolean {
  return a.period === b.period || (windowSOf(a) !== null && windowSOf(a) === windowSOf(b));
}

/** The order in which budgets are shown: the shortest first. */
export function sortedBudgets<T extends Budget>(budgets: readonly T[]): readonly T[] {
  return budgets.length < 2 ? budgets : budgets.toSorted((a, b) => lengthS(a) - lengthS(b));
}

/** A calendar period comes before the sliding window of its length. */
function lengthS(budget: Budget): number {
  const period = periodOf(budget);
  switch (period.kind) {
    case 'day':
      return UNITS_S.d - 0.5;
    case 'week':
      return 7 * UNITS_S.d - 0.5;
    case 'total':
      return Number.POSITIVE_INFINITY;
    case 'sliding':
      return period.windowS;
  }
}

/** From when to when (exclusive) the day or week of that moment goes, in milliseconds since 1970. */
export function calendarPeriod(
  kind: 'day' | 'week',
  wallMs: number,
): { readonly fromMs: number; readonly toMs: number } {
  const day = Math.floor(wallMs / DAY_MS);
  if (kind === 'day') return { fromMs: day * DAY_MS, toMs: (day + 1) * DAY_MS };
  // 1 January 1970 was a Thursday.
  const monday = day - ((((day + 3) % 7) + 7) % 7);
  return { fromMs: monday * DAY_MS, toMs: (monday + 7) * DAY_MS };
}

/**
 * A sliding window counts in steps of a hundredth of its length, so that it takes a hundred sums however many requests
 * it has. What ended in a step leaves when the last moment of the step does: up to one percent late, never early.
 */
const STEPS = 100;
/**
 * The steps of a window that are kept at most, the newest ones. Those that have left are among them, in case they have
 * left by a clock that was ahead: in the window's length it adds a hundred, and so it drops none that still counts.
 */
export const MOST_STEPS = 2 * STEPS;

/** The length of a step. */
export function stepMs(windowS: number): number {
  return (windowS * 1_000) / STEPS;
}

/** The beginning of the step of that moment. */
export function stepOf(wallMs: number, windowS: number): number {
  const step = stepMs(windowS);
  return Math.floor(wallMs / step) * step;
}

/** When what ended in the step that begins at `atMs` has left the window. */
export function leavesAtMs(atMs: number, windowS: number): number {
  return atMs + stepMs(windowS) + windowS * 1_000;
}

/** Adds a cost to the steps of a window. When they get many, those go that have left it. */
export function addToStep(steps: Map<number, Nanos>, windowS: number, atMs: number, nanos: Nanos): void {
  steps.set(atMs, (steps.get(atMs) ?? 0n) + nanos);
  if (steps.size <= MOST_STEPS) return;
  for (const old of steps.keys()) if (leavesAtMs(old, windowS) <= atMs) steps.delete(old);
}

/** What counts of a sliding window: `steps` has the cost of each step by its beginning, in any order. */
export function slidingSpend(
  budget: Budget,
  windowS: number,
  steps: Iterable<readonly [atMs: number, nanos: Nanos]>,
  nowMs: number,
): BudgetSpend {
  let chargedNanos = 0n;
  let newestMs = Number.NEGATIVE_INFINITY;
  for (const [atMs, nanos] of steps) {
    if (nanos === 0n || leavesAtMs(atMs, windowS) <= nowMs) continue;
    chargedNanos += nanos;
    newestMs = Math.max(newestMs, atMs);
  }
  return {
    ...budget,
    chargedNanos,
    freesAtMs:
      chargedNanos < budget.limitNanos ? Math.floor(nowMs) : freesAtMs(budget, windowS, steps, chargedNanos, nowMs),
    resetsAtMs: chargedNanos === 0n ? null : leavesAtMs(newestMs, windowS),
  };
}

/** When less than the limit is left of a window that has reached it; null for never, which is a limit of 0. */
function freesAtMs(
  { limitNanos }: Budget,
  windowS: number,
  steps: Iterable<readonly [atMs: number, nanos: Nanos]>,
  chargedNanos: Nanos,
  nowMs: number,
): number | null {
  let left = chargedNanos;
  for (const [atMs, nanos] of [...steps].sort(([a], [b]) => a - b)) {
    if (leavesAtMs(atMs, windowS) <= nowMs) continue;
    left -= nanos;
    if (left < limitNanos) return leavesAtMs(atMs, windowS);
  }
  return null;
}

/** What is spent of a day, a week, or of the total, which no time frees. A limit of 0 is never free. */
export function fixedSpend(budget: Budget, chargedNanos: Nanos, endsAtMs: number | null, nowMs: number): BudgetSpend {
  const isReached = chargedNanos >= budget.limitNanos;
  const freesAtMs = budget.limitNanos === 0n ? null : endsAtMs;
  return { ...budget, chargedNanos, freesAtMs: isReached ? freesAtMs : Math.floor(nowMs), resetsAtMs: endsAtMs };
}

/** Of a reached limit and others: the one that frees last, the first of those where several do. Null is never. */
export function lastToFree<T extends { readonly freesAtMs: number | null }>(reached: readonly T[]): T | undefined {
  const at = ({ freesAtMs }: T) => freesAtMs ?? Number.POSITIVE_INFINITY;
  return reached.reduce<T | undefined>(
    (last, each) => (last === undefined || at(each) > at(last) ? each : last),
    undefined,
  );
}

/** A budget as commands and clients read it. */
export function budgetJson({ period, limitNanos, chargedNanos, resetsAtMs }: BudgetSpend) {
  return {
    period,
    limit_usd: formatUsd(limitNanos),
    spent_usd: formatUsd(chargedNanos),
    resets_at: resetsAtMs === null ? null : isoTime(resetsAtMs),
  };
}

/** A time for messages: `2026-11-23T00:00:00Z`, rounded up to the second. */
export function shownTime(wallMs: number): string {
  return isoTime(Math.ceil(wallMs / 1_000) * 1_000).replace('.000Z', 'Z');
}
