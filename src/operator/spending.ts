/** What a key has spent of what it may spend, with its limit of the month as one of its budgets. Pure. */
import { type BudgetSpend, calendarPeriod, fixedSpend, lastToFree, windowSOf } from '../core/budgets.ts';
import { DAY_MS, isoTime, utcDay } from '../core/clock.ts';
import type { Nanos } from '../core/money.ts';
import type { KeyRecord } from '../state/keys.ts';
import { monthStart } from '../state/periods.ts';
import { FAR_MS, type Spending } from './forecast.ts';
import { SIGNS } from './health.ts';
import { type Marked, marked } from './table.ts';

const MONTH = 'month';
/** Less of a period says little about its pace. */
const LEAST_SPAN_MS = 3_600_000;

/**
 * All of its bounds, the shortest period first. `monthNanos` is what this month has cost. Of those that are not spent
 * `freesAtMs` is 0: otherwise they would differ with each read.
 */
export function spendBounds(
  spendLimitNanos: Nanos | null,
  monthNanos: Nanos,
  budgets: readonly BudgetSpend[],
  nowMs: number,
): readonly BudgetSpend[] {
  const settled = budgets.map((each) => (isSpent(each, nowMs) ? each : { ...each, freesAtMs: 0 }));
  if (spendLimitNanos === null) return settled;
  const limit = { period: MONTH, limitNanos: spendLimitNanos };
  const month = fixedSpend(limit, monthNanos, monthStart(nowMs, 1), nowMs);
  const total = settled.findIndex(({ period }) => period === 'total');
  const shown = isSpent(month, nowMs) ? month : { ...month, freesAtMs: 0 };
  return total < 0 ? [...settled, shown] : settled.toSpliced(total, 0, shown);
}

/** Whether nothing of it is left, and nothing has come free since it was read. */
export function isSpent({ limitNanos, chargedNanos, freesAtMs }: BudgetSpend, nowMs: number): boolean {
  return chargedNanos >= limitNanos && (freesAtMs === null || freesAtMs > nowMs);
}

/** From 0 to 1, and beyond: requests in flight may overdraw. */
export function shareSpent({ limitNanos, chargedNanos }: BudgetSpend): number {
  return limitNanos === 0n ? 1 : Number(chargedNanos) / Number(limitNanos);
}

/** Of what is spent, what opens last; otherwise the one of which the largest part is gone. Undefined without any. */
export function tightest(bounds: readonly BudgetSpend[], nowMs: number): BudgetSpend | undefined {
  const spent = lastToFree(bounds.filter((each) => isSpent(each, nowMs)));
  return spent ?? bounds.toSorted((a, b) => shareSpent(b) - shareSpent(a))[0];
}

/** Whether a key serves at present, with the moment from which on it does. */
export function standingOf(
  { state, expiresAtMs }: Pick<KeyRecord, 'state' | 'expiresAtMs'>,
  bounds: readonly BudgetSpend[],
  nowMs: number,
): Marked {
  if (state !== 'enabled') return marked(state, state === 'disabled' ? 'warn' : 'bad');
  if (expiresAtMs !== null && expiresAtMs <= nowMs) return marked(`${SIGNS.bad} expired`, 'bad');
  const bound = tightest(bounds, nowMs);
  if (bound === undefined || !isSpent(bound, nowMs)) return marked(state, 'good');
  return marked(
    bound.freesAtMs === null ? `${SIGNS.bad} spent` : `${SIGNS.bad} spent, opens ${clockTime(bound.freesAtMs, nowMs)}`,
    'bad',
  );
}

/** A time to come, in UTC: `18:20` today or at its end, `11-24 12:00` within a day, otherwise its day: `12-01`. */
function clockTime(wallMs: number, nowMs: number): string {
  const text = isoTime(wallMs);
  const [day, time] = [text.slice(5, 10), text.slice(11, 16)];
  if (wallMs - nowMs > DAY_MS) return day;
  // At noon `12:00` alone would look as if it were over.
  return utcDay(wallMs - 1) === utcDay(nowMs) ? time : `${day} ${time}`;
}

/**
 * What comes of a bound: when it opens again, when it is spent, or when it begins anew. A period of the calendar is
 * spent at its own pace so far; a sliding window and a total at the key's in the last seven days, if that is known.
 */
export function outlookOf(bound: BudgetSpend, nowMs: number, week?: Spending): Marked | undefined {
  const { freesAtMs, resetsAtMs } = bound;
  if (isSpent(bound, nowMs)) {
    return marked(freesAtMs === null ? 'never opens' : `opens ${clockTime(freesAtMs, nowMs)}`, 'bad');
  }
  const spentAtMs = spentAtOf(bound, nowMs, week);
  if (spentAtMs !== undefined) return marked(`spent ${whenText(spentAtMs, nowMs)} at its pace`, 'warn');
  return resetsAtMs === null ? undefined : marked(`resets ${clockTime(resetsAtMs, nowMs)}`, 'good');
}

/** Undefined where it begins anew before, or only a guess could say. */
function spentAtOf(bound: BudgetSpend, nowMs: number, week: Spending | undefined): number | undefined {
  const { resetsAtMs, chargedNanos } = bound;
  const left = Number(bound.limitNanos - chargedNanos);
  const fromMs = beginOf(bound, nowMs);
  if (fromMs !== undefined) {
    const atMs = nowMs + (left / Number(chargedNanos)) * Math.max(LEAST_SPAN_MS, nowMs - fromMs);
    return resetsAtMs !== null && atMs < resetsAtMs ? atMs : undefined;
  }
  if (week === undefined) return undefined;
  // Of a total nothing leaves; what a window has leaves it about evenly, and by its end all has.
  const windowMs = (windowSOf(bound) ?? Number.POSITIVE_INFINITY) * 1_000;
  const gainedPerMs = Number(week.costNanos) / week.spanMs - Number(chargedNanos) / windowMs;
  const inMs = gainedPerMs > 0 ? left / gainedPerMs : Number.POSITIVE_INFINITY;
  return inMs <= Math.min(windowMs, FAR_MS) ? nowMs + inMs : undefined;
}

function whenText(wallMs: number, nowMs: number): string {
  const [day, today] = [utcDay(wallMs), utcDay(nowMs)];
  if (day === today) return `at ${clockTime(wallMs, nowMs)}`;
  return `on ${day.slice(0, 4) === today.slice(0, 4) ? day.slice(5) : day}`;
}

/** When the current period of the calendar began; undefined for sliding windows and totals. */
function beginOf({ period }: BudgetSpend, nowMs: number): number | undefined {
  if (period === MONTH) return monthStart(nowMs, 0);
  return period === 'day' || period === 'week' ? calendarPeriod(period, nowMs).fromMs : undefined;
}
