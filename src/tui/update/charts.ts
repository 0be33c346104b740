/** The range of the Overview's charts, and the part of the past to read for it. */
import type { ChartRange, Model } from '../model.ts';
import { CHART_RANGES } from '../model.ts';
import { type Effect, type Step, step } from './step.ts';
import { after } from './turning.ts';

const HOUR_MS = 3_600_000;

/** The reach of the ranges that need minutes instead of seconds, in milliseconds. */
const LONG_RANGES: Readonly<Partial<Record<ChartRange, number>>> = { '1h': HOUR_MS, '24h': 24 * HOUR_MS };

export function onOverviewKey(model: Model, key: string): Step {
  if (key !== 't') return step(model);
  return withCharts(model, after(CHART_RANGES, model.chartRange));
}

export function withCharts(model: Model, chartRange: ChartRange): Step {
  const next = { ...model, chartRange };
  return step(next, ...historyToLoad(next));
}

/** Returns the span to read from the journal when the charts open: the time before the gateway's start. */
export function historyToLoad({ chartRange, nowMs, snapshot }: Model): readonly Effect[] {
  const rangeMs = LONG_RANGES[chartRange];
  if (rangeMs === undefined) return [];
  const span = { sinceMs: nowMs - rangeMs, untilMs: snapshot?.started_at_ms ?? nowMs };
  return span.sinceMs < span.untilMs ? [{ kind: 'load_history', span }] : [];
}
