/** Splits a time range into whole months, whole days, and the partial days at its ends. Pure. */
import { DAY_MS, utcDay, utcMonth } from '../core/clock.ts';

/** A part of a range, by the table with its figures. `from` is inclusive, `to` exclusive. */
export type Period =
  | { readonly kind: 'months'; readonly from: string; readonly to: string }
  | { readonly kind: 'days'; readonly from: string; readonly to: string }
  | { readonly kind: 'moments'; readonly from: number; readonly to: number };

/** From the year 10000 on, days no longer sort as text. */
const END_MS = Date.UTC(9999, 11, 1);

/** The parts of a range of milliseconds since 1970, UTC; an undefined end is open. */
export function periodsOf(
  sinceMs: number | undefined,
  untilMs: number | undefined,
  coarsest: 'months' | 'days' | 'moments',
): Period[] {
  const since = Math.min(Math.max(sinceMs ?? 0, 0), END_MS);
  const until = Math.min(Math.max(untilMs ?? END_MS, 0), END_MS);
  const [firstDay, lastDay] = [Math.ceil(since / DAY_MS) * DAY_MS, Math.floor(until / DAY_MS) * DAY_MS];
  const periods: Period[] =
    firstDay >= lastDay || coarsest === 'moments'
      ? [moments(since, until)]
      : [moments(since, firstDay), ...wholeDays(firstDay, lastDay, coarsest), moments(lastDay, until)];
  return periods.filter(({ from, to }) => from < to);
}

function wholeDays(firstDay: number, lastDay: number, coarsest: 'months' | 'days'): Period[] {
  const [firstMonth, lastMonth] = [monthStart(firstDay - 1, 1), monthStart(lastDay, 0)];
  if (coarsest === 'days' || firstMonth >= lastMonth) return [days(firstDay, lastDay)];
  const months: Period = { kind: 'months', from: utcMonth(firstMonth), to: utcMonth(lastMonth) };
  return [days(firstDay, firstMonth), months, days(lastMonth, lastDay)];
}

/** The start of the month that is `later` months after the month of `ms`. */
export function monthStart(ms: number, later: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later);
}

function days(fromMs: number, toMs: number): Period {
  return { kind: 'days', from: utcDay(fromMs), to: utcDay(toMs) };
}

function moments(from: number, to: number): Period {
  return { kind: 'moments', from, to };
}

const PERIOD = /^\d{4}-\d{2}(-\d{2})?$/;

/** The bounds of a day, `2026-11-22`, or a month, `2026-11`; undefined for any other text. */
export function boundsOf(period: string): { readonly sinceMs: number; readonly untilMs: number } | undefined {
  const [isPeriod, day] = PERIOD.exec(period) ?? [];
  const sinceMs = isPeriod === undefined ? Number.NaN : Date.parse(period);
  if (Number.isNaN(sinceMs)) return undefined;
  return { sinceMs, untilMs: day === undefined ? monthStart(sinceMs, 1) : sinceMs + DAY_MS };
}
