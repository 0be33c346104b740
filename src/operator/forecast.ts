/** Forecasts of when the credit runs out, and when a key reaches its monthly spend limit. Pure. */
import { DAY_MS, utcDay } from '../core/clock.ts';
import { type Nanos, parseUsd } from '../core/money.ts';
import type { Balance } from '../state/account.ts';
import { count } from './format.ts';
import type { Tone } from './health.ts';
import { roundedSpan } from './moments.ts';
import { type Marked, marked } from './table.ts';

/** An amount spent in a span of time: a pace. */
export interface Spending {
  readonly costNanos: Nanos;
  readonly spanMs: number;
}

export const MINUTE_MS = 60_000;
/** The recent pace is an average over ten minutes: over one minute, it would change the forecast by hours within minutes. */
export const RECENT_MS = 10 * MINUTE_MS;
/** The shortest span from which the pace of a month or a week is computed. */
const LEAST_SPAN_MS = 3_600_000;
/** A week is today and the six days before. */
const DAYS_BEFORE = 6;
/** Forecasts reach at most a year ahead. */
export const FAR_MS = 366 * DAY_MS;
/** Credit that runs out within an hour is bad, within a day a warning. */
const BAD_MS = 3_600_000;
const WARN_MS = DAY_MS;

export type CreditForecast =
  | { readonly kind: 'refusing'; readonly requests: number }
  | { readonly kind: 'nothing_free' }
  | { readonly kind: 'no_spending' }
  | { readonly kind: 'far' }
  | { readonly kind: 'ends'; readonly inMs: number };

/** The balance less all open holds. Most holds become charges, so new requests can only use the rest. */
export function freeOf({ balanceNanos, heldNanos }: Balance): Nanos {
  return balanceNanos - heldNanos;
}

/** Forecasts when the credit runs out at a pace. `refusals`: requests refused for lack of credit in the last minute. */
export function forecastCredit(balance: Balance, refusals: number, { costNanos, spanMs }: Spending): CreditForecast {
  const freeNanos = freeOf(balance);
  // A large request may be refused although some credit is free.
  if (refusals > 0) return { kind: 'refusing', requests: refusals };
  if (freeNanos <= 0n) return { kind: 'nothing_free' };
  if (costNanos <= 0n || spanMs <= 0) return { kind: 'no_spending' };
  const inMs = Number((freeNanos * BigInt(Math.ceil(spanMs))) / costNanos);
  return inMs > FAR_MS ? { kind: 'far' } : { kind: 'ends', inMs };
}

/** A minute of traffic: the start in seconds since 1970, and the cost in decimal USD. */
interface TrafficMinute {
  readonly at_s: number;
  readonly cost_usd: string;
}

/** Returns what a gateway charged in the last ten minutes, or since it started. `minutes` has a row per minute with traffic. */
export function recentSpending(minutes: readonly TrafficMinute[], startedAtMs: number, nowMs: number): Spending {
  const fromMs = Math.ceil((nowMs - RECENT_MS) / MINUTE_MS) * MINUTE_MS;
  const within = minutes.filter(({ at_s }) => at_s * 1_000 >= fromMs);
  const costNanos = within.reduce((sum, { cost_usd }) => sum + (parseUsd(cost_usd) ?? 0n), 0n);
  return { costNanos, spanMs: Math.max(MINUTE_MS, nowMs - Math.max(fromMs, startedAtMs)) };
}

/** How long the credit lasts at the pace of the last ten minutes, and of the last seven days. */
export interface Paces {
  readonly recent?: CreditForecast | undefined;
  readonly week?: CreditForecast | undefined;
}

/** The forecasts of the credit as one line. */
export function lastsText({ recent, week }: Paces): Marked | undefined {
  const [first = recent] = [recent, week].filter((each) => each !== undefined);
  if (first === undefined) return undefined;
  switch (first.kind) {
    case 'refusing':
      return marked(`${count(first.requests)} refused for lack of credit in the last minute`, 'bad');
    case 'nothing_free':
      return marked('no credit is free', 'bad');
    case 'no_spending':
    case 'far':
    case 'ends': {
      const texts = [
        recent === undefined ? [] : paceText(recent, 'the last 10 min'),
        week === undefined ? [] : paceText(week, 'the last 7 days'),
      ];
      return marked(texts.flat().join('; '), toneOfEnd(soonestEndMs({ recent, week }) ?? FAR_MS));
    }
  }
}

function paceText(forecast: CreditForecast, span: string): string[] {
  switch (forecast.kind) {
    case 'no_spending':
      return [`no spending in ${span}`];
    case 'far':
      return [`more than a year at the pace of ${span}`];
    case 'ends':
      return [`about ${roundedSpan(forecast.inMs)} at the pace of ${span}`];
    case 'refusing':
    case 'nothing_free':
      return [];
  }
}

/** When the credit runs out at the faster pace, in milliseconds from now; undefined if it does at neither. */
export function soonestEndMs({ recent, week }: Paces): number | undefined {
  const ends = [recent, week].flatMap((each) => (each?.kind === 'ends' ? [each.inMs] : []));
  return ends.length === 0 ? undefined : Math.min(...ends);
}

/** The tone of a forecast that the credit runs out in this time. */
export function toneOfEnd(inMs: number): Tone {
  if (inMs < BAD_MS) return 'bad';
  return inMs < WARN_MS ? 'warn' : 'good';
}

/** The start of the last seven days, today included. Whole days, since sums by day outlive the journal's rows. */
export function weekStartMs(nowMs: number): number {
  return dayStartMs(nowMs) - DAYS_BEFORE * DAY_MS;
}

/** The spending since the start of the week, or since the first day with a charge. `days` are ordered by time. */
export function weekSpending(
  days: readonly { readonly day: string | undefined; readonly costNanos: Nanos }[],
  nowMs: number,
): Spending {
  const first = days[0]?.day;
  const startMs = first === undefined ? weekStartMs(nowMs) : Date.parse(`${first}T00:00:00Z`);
  const costNanos = days.reduce((sum, day) => sum + day.costNanos, 0n);
  return { costNanos, spanMs: Math.max(LEAST_SPAN_MS, nowMs - startMs) };
}

export type LimitForecast =
  | { readonly kind: 'no_limit' }
  | { readonly kind: 'reached' }
  | { readonly kind: 'no_spending' }
  | { readonly kind: 'not_this_month' }
  | { readonly kind: 'on'; readonly day: string };

/** Forecasts the day on which a key reaches its spend limit at this month's pace. `costNanos`: the charges of this month. */
export function forecastLimit(limitNanos: Nanos | null, costNanos: Nanos, nowMs: number): LimitForecast {
  if (limitNanos === null) return { kind: 'no_limit' };
  if (costNanos >= limitNanos) return { kind: 'reached' };
  if (costNanos <= 0n) return { kind: 'no_spending' };
  const now = new Date(nowMs);
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  const spanMs = Math.max(LEAST_SPAN_MS, nowMs - Date.UTC(year, month));
  const atMs = nowMs + Number(((limitNanos - costNanos) * BigInt(Math.ceil(spanMs))) / costNanos);
  return atMs < Date.UTC(year, month + 1) ? { kind: 'on', day: utcDay(atMs) } : { kind: 'not_this_month' };
}

/** The forecast of a spend limit as a text; undefined without a limit. */
export function limitText(forecast: LimitForecast): Marked | undefined {
  switch (forecast.kind) {
    case 'no_limit':
      return undefined;
    case 'reached':
      return marked('limit reached; refused until next month (UTC)', 'bad');
    case 'no_spending':
      return marked('nothing spent this month', 'good');
    case 'not_this_month':
      return marked('limit not reached this month at its pace', 'good');
    case 'on':
      return marked(`limit reached on ${forecast.day} at this month’s pace`, 'warn');
  }
}

function dayStartMs(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS) * DAY_MS;
}
