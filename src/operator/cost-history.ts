/** Costs by hour or by day, with the costs of earlier weeks, for plots in commands and dashboard. */
import { DAY_MS } from '../core/clock.ts';
import type { Nanos } from '../core/money.ts';
import type { OpenState } from '../state/state.ts';
import type { UsageQuery } from '../state/usage.ts';

const STEPS_MS = { hour: 3_600_000, day: DAY_MS } as const;
const WEEK_MS = 7 * DAY_MS;
/** Up to this length, hours are shown; beyond, days. */
const LONGEST_OF_HOURS_MS = 8 * DAY_MS;
/** A year by hour. */
export const MOST_STEPS = 366 * 24;

/** A range of time in steps. Days are UTC days, as in the sums. */
export interface HistorySpan {
  readonly by: 'hour' | 'day';
  readonly stepMs: number;
  /** The start of the first step. */
  readonly fromMs: number;
  readonly steps: number;
  /** The distance to the compared time: whole weeks, so that it has the same weekdays. */
  readonly earlierMs: number;
}

/** The steps that begin from `sinceMs` on, up to the one that contains the last moment before `untilMs`. */
export function historySpan(sinceMs: number, untilMs: number, by?: 'hour' | 'day'): HistorySpan {
  const step = by ?? (untilMs - sinceMs <= LONGEST_OF_HOURS_MS ? 'hour' : 'day');
  const stepMs = STEPS_MS[step];
  const fromMs = Math.ceil(sinceMs / stepMs) * stepMs;
  const steps = Math.max(1, Math.ceil((untilMs - fromMs) / stepMs));
  return { by: step, stepMs, fromMs, steps, earlierMs: Math.ceil((steps * stepMs) / WEEK_MS) * WEEK_MS };
}

/** Filters a history by key, group, model and names. */
export type HistoryFilter = Pick<UsageQuery, 'keyId' | 'groupId' | 'model' | 'names'>;

export interface CostHistory {
  readonly span: HistorySpan;
  /** By step. */
  readonly costs: readonly Nanos[];
  /** The same steps, `earlierMs` before. */
  readonly earlier: readonly Nanos[];
  /** Days whose requests the journal has dropped, which a history by hour lacks. */
  readonly droppedDays: readonly string[];
}

/** Reads a history in two reports. Hours are read from the journal, in a time that grows with the number of requests. */
export async function readCostHistory(
  usage: Pick<OpenState['usage'], 'report'>,
  filter: HistoryFilter,
  span: HistorySpan,
): Promise<CostHistory> {
  const { by, stepMs, fromMs, steps, earlierMs } = span;
  const read = async (sinceMs: number) => {
    const untilMs = sinceMs + steps * stepMs;
    const { rows, droppedDays } = await usage.report({ ...filter, by, sinceMs, untilMs });
    const costs = new Map(rows.map(({ hour, day = '', costNanos }) => [Date.parse(hour ?? day), costNanos]));
    return { costs: Array.from({ length: steps }, (_, i) => costs.get(sinceMs + i * stepMs) ?? 0n), droppedDays };
  };
  const now = await read(fromMs);
  const earlier = await read(fromMs - earlierMs);
  return { span, ...now, earlier: earlier.costs };
}

/** A step that costs this share of the most expensive one belongs to its burn. */
const BURN_SHARE = 0.25;

/** Steps in which much more was spent than before. */
export interface Burn {
  /** The index of the first step. */
  readonly from: number;
  /** After the last step. Equal to the number of steps if the burn may go on. */
  readonly to: number;
  readonly costNanos: Nanos;
}

/**
 * Finds the steps around the most expensive one that cost at least a quarter of it. Undefined if they reach back to the
 * first step or are more than half of all: then the spending began earlier, or is usual.
 */
export function burnOf(costs: readonly Nanos[]): Burn | undefined {
  const most = costs.reduce((top, cost) => (cost > top ? cost : top), 0n);
  if (most === 0n) return undefined;
  const isMuch = (cost: Nanos) => Number(cost) >= Number(most) * BURN_SHARE;
  const peak = costs.lastIndexOf(most);
  const before = costs.findLastIndex((cost, i) => i < peak && !isMuch(cost));
  if (before < 0) return undefined;
  const after = costs.findIndex((cost, i) => i > peak && !isMuch(cost));
  const [from, to] = [before + 1, after < 0 ? costs.length : after];
  if (to - from > costs.length / 2) return undefined;
  return { from, to, costNanos: costs.slice(from, to).reduce((sum, cost) => sum + cost, 0n) };
}
