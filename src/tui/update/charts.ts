/** The range of the charts in the Overview, and what of the past has to be read for it. */
import type { ChartRange, Model } from '../model.ts';
import { CHART_RANGES } from '../model.ts';
import { type Effect, type Step, step } from './step.ts';
import { after } from './turning.ts';

const HOUR_MS = 3_600_000;

/** How far back the ranges reach that seconds are not enough for, in milliseconds. */
const LONG_RANGES: Readonly<Partial<Record<ChartRange, number>>> = { '1h': HOUR_MS, '24h': 24 * HOUR_MS };

export function onOverviewKey(model: Model, key: string): Step {
  if (key !== 't') return step(model);
  return withCharts(model, after(CHART_RANGES, model.chartRange));
}

export function withCharts(model: Model, chartRange: ChartRange): Step {
  const next = { ...model, chartRange };
  return step(next, ...historyToLoad(next));
}

/** What the journal has to tell when the charts are opened: what was before the gateway. */
export function historyToLoad({ chartRange, nowMs, snapshot }: Model): readonly Effect[] {
  const rangeMs = LONG_RANGES[chartRange];
  if (rangeMs === undefined) return [];
  const span = { sinceMs: nowMs - rangeMs, untilMs: snapshot?.started_at_ms ?? nowMs };
  return span.sinceMs < span.untilMs ? [{ kind: 'load_history', span }] : [];
}
