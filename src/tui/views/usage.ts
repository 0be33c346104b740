/** The Usage view: requests, tokens and cost by key, model, day, month, source, user, tag or app. */
import { Box } from 'ink';
import { createElement as h, type ReactNode } from 'react';
import { NANOS_PER_USD } from '../../core/money.ts';
import { blocks, countOf, short, usd, usdInColumn } from '../../operator/format.ts';
import { NO_USAGE } from '../../operator/messages.ts';
import type { UsageRow } from '../../state/usage.ts';
import { Choices, choicesWidth } from '../components/choices.ts';
import { type ListColumn, ListView, longest } from '../components/list-view.ts';
import { Styled } from '../components/styled.ts';
import type { ViewProps } from '../components/view-props.ts';
import { SAMPLES_PER_COLUMN, spark } from '../draw/braille.ts';
import { bold, dim, type Line, lineText, type Span, span } from '../draw/line.ts';
import { shortModel } from '../draw/model-name.ts';
import { changePercent, nameOfUsage, shownUsage } from '../lists/usage.ts';
import { localTime, zoneLabel } from '../local-time.ts';
import { type ComparedUsage, type Model, RANGES, type Range, USAGE_CHOICES } from '../model.ts';
import { plotQuery } from '../plot-query.ts';
import { hasPane } from '../select.ts';
import { stretched } from '../series.ts';
import { costPlot } from './plot.ts';

/** Minimum columns for all groupings in one line, and for all ranges as well. */
const GROUPS_COLUMNS = 91;
const RANGES_COLUMNS = 118;
/** Minimum columns for the sum of the week before, next to the sums of requests and tokens. */
const TOTALS_COLUMNS = 80;
/**
 * Increases over the week before, in percent, that are yellow and red; the last bound is the largest written-out
 * figure.
 */
const MORE_PERCENT = 20;
const TWICE_PERCENT = 100;
const MOST_PERCENT = 999;
/** Columns for a share, and with a curve of the cost, which takes precedence. */
const SHARE = 17;
const SHARE_BESIDE = 13;
/** Columns for the curve of the cost, and its heading. */
const COURSE = 12;
const COURSES: Readonly<Record<Range, string>> = {
  today: 'TODAY (UTC)',
  '24h': 'LAST 24 H',
  '7d': 'LAST 7 D',
  '30d': 'LAST 30 D',
  'this month': 'THIS MONTH',
  all: 'LAST 30 D',
};

/** Parts of a timestamp: `09:00` and `11-23`. Days are in UTC. */
const HOUR = [11, 16] as const;
const DAY = [5, 10] as const;

export function UsageView({ model, height }: ViewProps): ReactNode {
  const rows = shownUsage(model);
  const asOf = asOfLine(model.usage);
  return h(ListView<ComparedUsage>, {
    model,
    height,
    about: choicesOf(model),
    rows,
    columns: columnsOf(model, rows),
    detail: hasPlot(model) ? (width, room) => [costPlot(model, width, plotHeight(model, room))] : undefined,
    empty: [[dim(asOf === '' ? 'Reading…' : NO_USAGE)], [dim(asOf)]],
    foot: { left: totalLine(rows, model.columns), right: [dim(asOf)] },
  });
}

/** Minimum rows of the screen for a plot below the table. */
const PLOT_ROWS = 30;
const MOST_PLOT = 16;

function hasPlot(model: Model): boolean {
  return plotQuery(model) !== undefined && (hasPane(model) || model.rows >= PLOT_ROWS);
}

/** Returns the height of the plot: at most two fifths of the screen. */
function plotHeight(model: Model, room: number): number {
  return Math.min(MOST_PLOT, hasPane(model) ? room : Math.floor(model.rows * 0.4));
}

/** The grouping and the range, with the alternatives if they fit. */
function choicesOf({ usage: { by, range, of }, columns, trail }: Model) {
  const isAll = (least: number) => columns >= least && trail.length === 0;
  const groups = { all: USAGE_CHOICES, chosen: by, isAll: isAll(GROUPS_COLUMNS), on: 'usage_group' } as const;
  const ranges = { all: RANGES, chosen: range, isAll: isAll(RANGES_COLUMNS), on: 'usage_range' } as const;
  const period = of.period === undefined ? h(Choices, ranges) : h(Styled, { line: [{ text: of.period }] });
  const node = h(
    Box,
    { flexShrink: 0 },
    h(Styled, { line: [dim('by ')] }),
    h(Choices, groups),
    h(Styled, { line: [dim('  over ')] }),
    period,
  );
  const width = choicesWidth(groups) + (of.period?.length ?? choicesWidth(ranges)) + 'by   over '.length;
  return { node, width };
}

/** The time of the last read. The figures refresh while the view is open, but the database may be unreachable. */
function asOfLine({ readAtMs }: Model['usage']): string {
  return readAtMs === undefined ? '' : `as of ${localTime(readAtMs).slice(-8)}${zoneLabel(readAtMs)}`;
}

function columnsOf({ usage: state }: Model, rows: readonly ComparedUsage[]): ListColumn<ComparedUsage>[] {
  const top = rows.reduce((most, { costNanos }) => (costNanos > most ? costNanos : most), 0n);
  const decimals = top < NANOS_PER_USD ? 6 : 2;
  const most = Math.max(1, ...rows.map(({ requests }) => requests));
  // If all costs are 0, the bars show requests.
  const shareOf = (row: UsageRow) => (top > 0n ? Number(row.costNanos) / Number(top) : row.requests / most);
  const course = courseColumns(state, rows);
  return [
    {
      head: state.rowsBy.toUpperCase(),
      field: 'name',
      width: 15,
      grows: true,
      middle: true,
      cell: (row, room) => shortModel(nameOfUsage(row), room),
    },
    {
      head: top > 0n ? 'SHARE' : 'SHARE OF REQUESTS',
      width: course.length > 0 ? SHARE_BESIDE : SHARE,
      grows: true,
      // The curve of the cost takes precedence over the share.
      rank: course.length > 0 ? 5 : 1,
      cell: (row, width) => [span(blocks(shareOf(row), width), { tone: 'accent' })],
    },
    ...course,
    {
      head: 'REQUESTS',
      field: 'requests',
      width: 8,
      align: 'right',
      // The change takes precedence over the number.
      ...(isCompared(rows) && { rank: 4 }),
      cell: ({ requests }) => short(requests),
    },
    {
      head: 'ERRORS',
      field: 'errors',
      width: 6,
      align: 'right',
      rank: 3,
      cell: ({ errors }) => (errors === 0 ? [dim('0')] : [span(short(errors), { tone: 'bad' })]),
    },
    { head: 'IN', field: 'in', width: 5, align: 'right', rank: 6, cell: ({ promptTokens }) => short(promptTokens) },
    {
      head: 'CACHED',
      field: 'cached',
      width: 6,
      align: 'right',
      rank: 7,
      cell: ({ cachedTokens }) => (cachedTokens === 0 ? [dim('-')] : [span(short(cachedTokens))]),
    },
    {
      head: 'OUT',
      field: 'out',
      width: 5,
      align: 'right',
      rank: 6,
      cell: ({ completionTokens }) => short(completionTokens),
    },
    {
      head: 'COST (USD)',
      field: 'cost',
      width: 12,
      align: 'right',
      cell: ({ costNanos }) => usdInColumn(costNanos, decimals),
    },
    ...(isCompared(rows) ? comparison(decimals) : []),
  ];
}

/** Whether the rows include the cost of the week before. */
function isCompared(rows: readonly ComparedUsage[]): boolean {
  return rows.some(({ beforeNanos }) => beforeNanos !== undefined);
}

/** The cost by hour or day, scaled to the row's own maximum, and the time of high cost. */
function courseColumns({ range }: Model['usage'], rows: readonly ComparedUsage[]): ListColumn<ComparedUsage>[] {
  const samples = rows.find(({ costs }) => costs !== undefined)?.costs?.length;
  if (samples === undefined) return [];
  const width = Math.max(COURSE, Math.ceil(samples / SAMPLES_PER_COLUMN));
  const cell = ({ costs }: ComparedUsage): Line =>
    costs === undefined ? [] : [span(spark(stretched(costs, width * SAMPLES_PER_COLUMN), width), { tone: 'accent' })];
  const hasHours = range === 'today' || range === '24h';
  const at = (wallMs: number) => localTime(wallMs).slice(...(hasHours ? HOUR : DAY));
  const since = ({ high }: ComparedUsage): Line => {
    if (high === undefined) return [dim('-')];
    if (high.untilMs === undefined) return [span(at(high.sinceMs), { tone: 'warn' })];
    return [{ text: `${at(high.sinceMs)}–${at(high.untilMs)}` }];
  };
  return [
    { head: COURSES[range], width, rank: 1, cell },
    { head: 'SINCE', width: longest(rows, (row) => lineText(since(row)), 5, 11), rank: 2, cell: since },
  ];
}

/** The same time span in the week before. */
function comparison(decimals: 2 | 6): ListColumn<ComparedUsage>[] {
  return [
    {
      head: 'LAST WEEK',
      field: 'before',
      width: 12,
      align: 'right',
      cell: ({ beforeNanos = 0n }) => [dim(usdInColumn(beforeNanos, decimals))],
    },
    { head: 'CHANGE', field: 'change', width: 7, align: 'right', cell: (row) => [changeSpan(row)] },
  ];
}

function changeSpan({ costNanos, beforeNanos = 0n }: Pick<ComparedUsage, 'costNanos' | 'beforeNanos'>): Span {
  const percent = changePercent(costNanos, beforeNanos);
  if (percent === undefined) return costNanos === 0n ? dim('-') : span('new', { tone: 'warn' });
  const text = percent > MOST_PERCENT ? `>${MOST_PERCENT}%` : `${percent > 0 ? '+' : ''}${percent}%`;
  return span(text, { tone: percent >= TWICE_PERCENT ? 'bad' : percent >= MORE_PERCENT ? 'warn' : 'good' });
}

function totalLine(rows: readonly ComparedUsage[], columns: number): Line {
  const sum = (read: (row: UsageRow) => number) => rows.reduce((total, row) => total + read(row), 0);
  const requests = sum((row) => row.requests);
  const tokens = sum(({ promptTokens, completionTokens }) => promptTokens + completionTokens);
  const cost = rows.reduce((total, { costNanos }) => total + costNanos, 0n);
  const figures = `${countOf(requests, 'request')}, ${countOf(tokens, 'token')}, `;
  if (!isCompared(rows)) return [bold('Total'), { text: `  ${figures}${usd(cost)} USD` }];
  const before = rows.reduce((total, { beforeNanos = 0n }) => total + beforeNanos, 0n);
  return [
    bold('Total'),
    { text: `  ${columns < TOTALS_COLUMNS ? '' : figures}${usd(cost)} USD` },
    dim(`  ${usd(before)} a week earlier  `),
    changeSpan({ costNanos: cost, beforeNanos: before }),
  ];
}
