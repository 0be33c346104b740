/** `usage --chart` and `--svg`: the cost over time as a plot, with the time of the highest spending. */
import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { isoTime } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import type { Nanos } from '../core/money.ts';
import {
  type Burn,
  burnOf,
  type CostHistory,
  type HistoryFilter,
  type HistorySpan,
  historySpan,
  MOST_STEPS,
  readCostHistory,
} from '../operator/cost-history.ts';
import { percent, usd } from '../operator/format.ts';
import { LOCAL, type Zone } from '../operator/moments.ts';
import { type PlotSpan, plotLines } from '../operator/plot.ts';
import { plotSvg } from '../operator/plot-svg.ts';
import { type Look, zoneOf } from '../operator/table.ts';
import { clean, wrap } from '../operator/text.ts';
import type { UsageGroup } from '../state/usage.ts';
import { look, notice, printLine, printLines, printNote } from './output.ts';
import type { State } from './state.ts';

const DAY_MS = 86_400_000;
const ROWS = 14;
/** Where the output is no terminal. */
const USUAL_COLUMNS = 80;

export interface PlotQuery {
  readonly filter: HistoryFilter;
  /** The names of the key, group, model and so on that the plot is of; empty for all requests. */
  readonly of: readonly string[];
  readonly by: readonly UsageGroup[];
  readonly since?: number;
  readonly until?: number;
  readonly chart?: true;
  readonly svg?: string;
}

export async function plotUsage(query: PlotQuery, command: Command, state: State): Promise<void> {
  const [by, ...others] = query.by;
  if (others.length > 0 || (by !== undefined && by !== 'hour' && by !== 'day')) {
    command.error('error: a plot is by hour or by day: --by hour or --by day');
  }
  const untilMs = query.until ?? state.nowMs;
  const span = historySpan(query.since ?? untilMs - DAY_MS, untilMs, by);
  if (span.steps > MOST_STEPS)
    command.error(`error: a plot has at most ${MOST_STEPS} steps; use a later --since, or --by day`);
  const history = await readCostHistory(state.usage, query.filter, span);
  if (history.droppedDays.length > 0) {
    notice(
      `note: the journal no longer has the requests of ${history.droppedDays.join(', ')} (journal_retention); --by day has their cost`,
    );
  }
  if (query.svg !== undefined) return writeSvg(query.svg, history, query.of, LOCAL);
  printLines(chartLines(history, query.of, look()));
  const burn = burnOf(history.costs);
  if (burn !== undefined) printNote(await burnText(burn, span, query.filter, state));
}

function writeSvg(file: string, history: CostHistory, of: readonly string[], zone: Zone): void {
  try {
    writeFileSync(file, plotSvg(history, titleOf(history, of, zone), earlierText(history), zone));
  } catch (error) {
    throw new UserError(`cannot write ${file}: ${error instanceof Error ? error.message : error}`);
  }
  printLine(`Wrote ${file}.`);
}

/** The plot with its title and its legend. */
export function chartLines(history: CostHistory, of: readonly string[], look: Look): string[] {
  const zone = zoneOf(look);
  const size = { width: look.room ?? USUAL_COLUMNS, height: ROWS };
  return [
    ...wrap(clean(titleOf(history, of, zone)), size.width).map((line) => look.paint(line, 'bold')),
    ...plotLines(history, size, zone).map((line) =>
      line
        .map((span) => painted(span, look))
        .join('')
        .trimEnd(),
    ),
    `${look.paint('⣿', 'good')} this time`,
    ...wrap(`⠒ ${earlierText(history)}`, size.width).map((line) => look.paint(line, 'dim')),
  ];
}

function painted({ text, part }: PlotSpan, { paint }: Look): string {
  return text.trim() === '' ? text : paint(text, part === 'now' ? 'good' : 'dim');
}

function titleOf({ span, costs }: CostHistory, of: readonly string[], zone: Zone): string {
  const [fromMs, untilMs] = [span.fromMs, span.fromMs + span.steps * span.stepMs];
  const days = span.by === 'day';
  const time = (atMs: number) => (days ? isoTime(atMs).slice(0, 10) : timeText(atMs, zone));
  const range = `${time(fromMs)} to ${time(days ? untilMs - DAY_MS : untilMs)}${days ? ' UTC' : ''}`;
  return `Cost by ${span.by}${of.length === 0 ? '' : ` of ${of.join(', ')}`}, ${range}: ${usd(sumOf(costs))} USD`;
}

/** `11-24 16:00`, labelled where the zone is UTC. */
function timeText(atMs: number, zone: Zone): string {
  return `${isoTime(atMs + zone(atMs))
    .slice(5, 16)
    .replace('T', ' ')}${zone(atMs) === 0 ? ' UTC' : ''}`;
}

/** `a week before: 9.10 USD (+35%)`: the change from the earlier time to this one. */
function earlierText({ span, costs, earlier }: CostHistory): string {
  const weeks = Math.round(span.earlierMs / (7 * DAY_MS));
  const [now, before] = [sumOf(costs), sumOf(earlier)];
  const change =
    before === 0n ? '' : ` (${now >= before ? '+' : '-'}${percent(Math.abs(Number(now) / Number(before) - 1))})`;
  return `${weeks === 1 ? 'a week' : `${weeks} weeks`} before: ${usd(before)} USD${change}`;
}

function sumOf(costs: readonly Nanos[]): Nanos {
  return costs.reduce((sum, cost) => sum + cost, 0n);
}

const BURN_GROUPS = ['key', 'model', 'user'] as const;

/** When most was spent, and by which key, model and end user. */
async function burnText(burn: Burn, span: HistorySpan, filter: HistoryFilter, state: State): Promise<string> {
  const at = (step: number) => span.fromMs + step * span.stepMs;
  const zone = span.by === 'day' ? () => 0 : zoneOf(look());
  const mayGoOn = burn.to === span.steps;
  const time = `${mayGoOn ? 'since ' : ''}${timeText(at(burn.from), zone)}${mayGoOn ? '' : ` to ${timeText(at(burn.to), zone)}`}`;
  const parts: string[] = [];
  for (const by of BURN_GROUPS) {
    const { rows } = await state.usage.report({ ...filter, by, sinceMs: at(burn.from), untilMs: at(burn.to) });
    const [first] = rows;
    const name = first?.[by] ?? first?.keyId ?? '';
    if (first === undefined || name === '') continue;
    parts.push(`${percent(Number(first.costNanos) / Number(burn.costNanos))} by ${by} ${name}`);
  }
  return `Highest spending ${time}: ${usd(burn.costNanos)} USD${parts.length === 0 ? '' : `, ${parts.join(', ')}`}.`;
}
