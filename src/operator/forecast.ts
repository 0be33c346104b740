/** Forecasts: when the credit ends, and when a key reaches its spend limit. Pure. */
import { DAY_MS, utcDay } from '../core/clock.ts';
import type { Nanos } from '../core/money.ts';
import type { Balance } from '../state/account.ts';
import { count, duration } from './format.ts';
import { type Marked, marked, type Tone } from './table.ts';

/** What was spent in a span of time, which says at which pace. */
export interface Spending {
  readonly costNanos: Nanos;
  readonly spanMs: number;
}

export const MINUTE_MS = 60_000;
/** A shorter time says little about a month or a week. */
const LEAST_SPAN_MS = 3_600_000;
/** The days of a week before today. */
const DAYS_BEFORE = 6;
/** A forecast beyond it would be a guess. */
const FAR_MS = 366 * DAY_MS;
/** Credit that ends sooner needs attention at once, or today. */
const BAD_MS = 3_600_000;
const WARN_MS = DAY_MS;

export type CreditForecast =
  | { readonly kind: 'refusing'; readonly requests: number }
  | { readonly kind: 'nothing_free' }
  | { readonly kind: 'no_spending' }
  | { readonly kind: 'far' }
  | { readonly kind: 'ends'; readonly inMs: number };

/** What counts is what is free: the holds of requests in flight are spoken for, and most are spent. */
export function freeOf({ balanceNanos, heldNanos }: Balance): Nanos {
  return balanceNanos - heldNanos;
}

/** When the credit ends at this pace. `refusals`: requests refused for money in the last minute. */
export function forecastCredit(balance: Balance, refusals: number, { costNanos, spanMs }: Spending): CreditForecast {
  const freeNanos = freeOf(balance);
  // A large request may be refused while there is still something free.
  if (refusals > 0) return { kind: 'refusing', requests: refusals };
  if (freeNanos <= 0n) return { kind: 'nothing_free' };
  if (costNanos <= 0n || spanMs <= 0) return { kind: 'no_spending' };
  const inMs = Number((freeNanos * BigInt(Math.ceil(spanMs))) / costNanos);
  return inMs > FAR_MS ? { kind: 'far' } : { kind: 'ends', inMs };
}

/** What the credit lasts for, at the pace of the last minute, of the last seven days, or of both. */
export interface Paces {
  readonly minute?: CreditForecast | undefined;
  readonly week?: CreditForecast | undefined;
}

/** How long the credit lasts, as people read it. */
export function lastsText({ minute, week }: Paces): Marked | undefined {
  const [first = minute] = [minute, week].filter((each) => each !== undefined);
  if (first === undefined) return undefined;
  switch (first.kind) {
    case 'refusing':
      return marked(`${count(first.requests)} refused for money in the last minute`, 'bad');
    case 'nothing_free':
      return marked('nothing is free', 'bad');
    case 'no_spending':
    case 'far':
    case 'ends': {
      const texts = [
        minute === undefined ? [] : paceText(minute, 'this minute’s pace', 'this minute'),
        week === undefined ? [] : paceText(week, 'the last seven days’ pace', 'in the last seven days'),
      ];
      return marked(texts.flat().join('; '), toneOfEnd(soonestEndMs({ minute, week }) ?? FAR_MS));
    }
  }
}

function paceText(forecast: CreditForecast, pace: string, span: string): string[] {
  switch (forecast.kind) {
    case 'no_spending':
      return [`nothing spent ${span}`];
    case 'far':
      return [`more than a year at ${pace}`];
    case 'ends':
      return [`${duration(forecast.inMs / 1_000)} at ${pace}`];
    case 'refusing':
    case 'nothing_free':
      return [];
  }
}

/** When the credit ends at the faster of the paces; undefined where it does at none. */
export function soonestEndMs({ minute, week }: Paces): number | undefined {
  const ends = [minute, week].flatMap((each) => (each?.kind === 'ends' ? [each.inMs] : []));
  return ends.length === 0 ? undefined : Math.min(...ends);
}

/** Of credit that ends in so many milliseconds. */
export function toneOfEnd(inMs: number): Tone {
  if (inMs < BAD_MS) return 'bad';
  return inMs < WARN_MS ? 'warn' : 'good';
}

/** Where the last seven days start, today among them: whole days, whose sums are kept even if their requests are not. */
export function weekStartMs(nowMs: number): number {
  return dayStartMs(nowMs) - DAYS_BEFORE * DAY_MS;
}

/** What was spent since the week's start, or since the first day on which anything was. Days in order. */
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

/** The day on which a key reaches its spend limit at this month's pace. `costNanos`: this month's. */
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

/** When a key reaches its limit, as people read it; undefined without a limit. */
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
