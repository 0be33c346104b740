/** Budgets: the spend limits of a key, their periods, and the spend of a period. Pure. */
import { DAY_MS, isoTime } from './clock.ts';
import { formatUsd, type Nanos } from './money.ts';

/** A spend limit. A calendar period counts requests by admission time, a sliding window by end time. */
export interface Budget {
  /** `day`, `week` or `total`, or the length of a sliding window as configured: `24h`. */
  readonly period: string;
  readonly limitNanos: Nanos;
}

/** The spend of a key in the current period of a budget. */
export interface BudgetSpend extends Budget {
  readonly chargedNanos: Nanos;
  /** When the spend falls below the limit, without further requests. Null for never; now or earlier if it is below already. */
  readonly freesAtMs: number | null;
  /** When the spend falls to zero, without further requests. Null for never, and for a sliding window without spend. */
  readonly resetsAtMs: number | null;
}

export type Period =
  /** A calendar day or week, in UTC. Weeks begin on Monday. */
  | { readonly kind: 'day' | 'week' }
  | { readonly kind: 'total' }
  | { readonly kind: 'sliding'; readonly windowS: number };

/** Maximum number of budgets of a key. */
export const MAX_BUDGETS = 8;
/** The longest sliding window: 366 days. */
const MAX_WINDOW_S = 366 * 86_400;
const UNITS_S = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** Parses the name of a period; undefined if it is invalid. */
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

/** Reports whether two budgets have the same period: `24h` equals `1d`, but not `day`. */
export function isSamePeriod(a: Budget, b: Budget): boolean {
  return a.period === b.period || (windowSOf(a) !== null && windowSOf(a) === windowSOf(b));
}

/** Sorts budgets for display, the shortest period first. */
export function sortedBudgets<T extends Budget>(budgets: readonly T[]): readonly T[] {
  return budgets.length < 2 ? budgets : budgets.toSorted((a, b) => lengthS(a) - lengthS(b));
}

/** A calendar period sorts before the sliding window of its length. */
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

/** Returns the bounds of the day or week that contains a moment, in milliseconds since 1970. `toMs` is exclusive. */
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
 * Number of steps in a sliding window. Costs are summed per step, so a window needs a hundred sums for any number of requests.
 * The cost of a request leaves the window together with its whole step: up to one percent late, never early.
 */
const STEPS = 100;
/**
 * Maximum number of steps kept per window, the newest ones. Expired steps are kept as well: a clock that was ahead may have
 * expired them too early. One window length adds at most a hundred steps, so no step that still counts is dropped.
 */
export const MOST_STEPS = 2 * STEPS;

/** The length of a step. */
export function stepMs(windowS: number): number {
  return (windowS * 1_000) / STEPS;
}

/** Returns the beginning of the step that contains a moment. */
export function stepOf(wallMs: number, windowS: number): number {
  const step = stepMs(windowS);
  return Math.floor(wallMs / step) * step;
}

/** Returns when the step that begins at `atMs` leaves the window. */
export function leavesAtMs(atMs: number, windowS: number): number {
  return atMs + stepMs(windowS) + windowS * 1_000;
}

/** Adds a cost to its step. Beyond the maximum number of steps it removes the expired ones. */
export function addToStep(steps: Map<number, Nanos>, windowS: number, atMs: number, nanos: Nanos): void {
  steps.set(atMs, (steps.get(atMs) ?? 0n) + nanos);
  if (steps.size <= MOST_STEPS) return;
  for (const old of steps.keys()) if (leavesAtMs(old, windowS) <= atMs) steps.delete(old);
}

/** Computes the spend of a sliding window. `steps` maps the beginning of each step to its cost, in any order. */
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

/** Returns when the spend of a window at its limit falls below it; null for never, which requires a limit of 0. */
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

/** Computes the spend of a day, of a week, or of the total, which never resets. A limit of 0 never frees. */
export function fixedSpend(budget: Budget, chargedNanos: Nanos, endsAtMs: number | null, nowMs: number): BudgetSpend {
  const isReached = chargedNanos >= budget.limitNanos;
  const freesAtMs = budget.limitNanos === 0n ? null : endsAtMs;
  return { ...budget, chargedNanos, freesAtMs: isReached ? freesAtMs : Math.floor(nowMs), resetsAtMs: endsAtMs };
}

/** Returns the reached limit that frees last, the first one on a tie. Null means never. */
export function lastToFree<T extends { readonly freesAtMs: number | null }>(reached: readonly T[]): T | undefined {
  const at = ({ freesAtMs }: T) => freesAtMs ?? Number.POSITIVE_INFINITY;
  return reached.reduce<T | undefined>(
    (last, each) => (last === undefined || at(each) > at(last) ? each : last),
    undefined,
  );
}

/** The JSON form of a budget in commands and the API. */
export function budgetJson({ period, limitNanos, chargedNanos, resetsAtMs }: BudgetSpend) {
  return {
    period,
    limit_usd: formatUsd(limitNanos),
    spent_usd: formatUsd(chargedNanos),
    resets_at: resetsAtMs === null ? null : isoTime(resetsAtMs),
  };
}

/** Formats a time for messages: `2026-11-23T00:00:00Z`, rounded up to the second. */
export function shownTime(wallMs: number): string {
  return isoTime(Math.ceil(wallMs / 1_000) * 1_000).replace('.000Z', 'Z');
}
