/** A plot of the cost over time, with its title and its burn. Pure. */
import { isoTime } from '../../core/clock.ts';
import { type Burn, burnOf, type HistorySpan } from '../../operator/cost-history.ts';
import { percent, usd } from '../../operator/format.ts';
import { LOCAL } from '../../operator/moments.ts';
import { type PlotSpan, plotLines } from '../../operator/plot.ts';
import { clean, wrap } from '../../operator/text.ts';
import { bold, dim, EMPTY, type Line, type Span, span } from '../draw/line.ts';
import type { Model, PlottedCost } from '../model.ts';
import { isSamePlot, plotQuery } from '../plot-query.ts';

const RANGE_NAMES = { '24h': 'last 24 h', '7d': 'last 7 days', '30d': 'last 30 days' } as const;
const WEEK_MS = 7 * 86_400_000;
/** Lines of a plot outside its rows: the title, the times, and the burn. */
const BESIDE = 4;
const LEAST_ROWS = 3;

/** The plot of the row under the cursor in up to `height` lines; empty if it does not fit or the row has no plot. */
export function costPlot(model: Model, width: number, height: number): Line[] {
  const query = plotQuery(model);
  const rows = height - BESIDE;
  if (query === undefined || rows < LEAST_ROWS) return [];
  const { plot } = model;
  const title: Span[] = [bold(clean(query.title)), dim(`  cost (USD), ${RANGE_NAMES[query.range]}`)];
  if (plot === undefined || !isSamePlot(plot.of, query)) {
    // The placeholder is as high as the plot, so that the table above does not move.
    return [title, [dim('reading…')], ...Array<Line>(rows).fill(EMPTY)];
  }
  const { history } = plot;
  const zone = history.span.by === 'day' ? () => 0 : LOCAL;
  const lines = plotLines(history, { width, height: rows + 1 }, zone).map((line) => line.map(styled));
  return [[...title, ...change(plot)], ...lines, ...burnLines(plot, width)];
}

function styled({ text, part }: PlotSpan): Span {
  return part === 'now' ? span(text, { tone: 'accent' }) : dim(text);
}

function sumOf(costs: readonly bigint[]): bigint {
  return costs.reduce((sum, cost) => sum + cost, 0n);
}

/** Text such as `12.30, a week before 9.10 (+35%)`. The dim curve is the earlier week. */
function change({
  history: {
    costs,
    earlier,
    span: { earlierMs },
  },
}: PlottedCost): Span[] {
  const [now, before] = [sumOf(costs), sumOf(earlier)];
  const weeks = Math.round(earlierMs / WEEK_MS);
  const share =
    before === 0n ? '' : ` (${now >= before ? '+' : '-'}${percent(Math.abs(Number(now) / Number(before) - 1))})`;
  const when = weeks === 1 ? 'a week before' : `${weeks} weeks before`;
  return [{ text: `  ${usd(now)}` }, dim(`  ⠒ ${when} ${usd(before)}${share}`)];
}

/** The time of the burn, its largest spenders, and whether it has stopped. */
function burnLines({ history: { span: steps, costs }, burnBy }: PlottedCost, width: number): Line[] {
  const burn = burnOf(costs);
  if (burn === undefined) return [];
  const goesOn = burn.to === steps.steps;
  const until = goesOn ? 'still going on' : `stopped ${timeOf(steps, burn.to)}`;
  const text = `Burn since ${timeOf(steps, burn.from)}, ${until}: ${usd(burn.costNanos)} USD${burnBy === '' ? '' : `, ${burnBy}`}`;
  return wrap(clean(text), width).map((line) => [span(line, { tone: goesOn ? 'bad' : 'warn' })]);
}

/** Formats `11-24 16:00`, labelled if it is UTC; days are in UTC. */
function timeOf({ by, fromMs, stepMs }: HistorySpan, step: Burn['from']): string {
  const atMs = fromMs + step * stepMs;
  if (by === 'day') return `${isoTime(atMs).slice(5, 10)} UTC`;
  return `${isoTime(atMs + LOCAL(atMs))
    .slice(5, 16)
    .replace('T', ' ')}${LOCAL(atMs) === 0 ? ' UTC' : ''}`;
}
