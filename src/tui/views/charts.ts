/** The charts of the Overview: requests and their errors, first bytes, tokens and spending. */
import { Box, useIsScreenReaderEnabled } from 'ink';
import { createElement as h, type ReactNode, useMemo } from 'react';
import { short, usd } from '../../operator/format.ts';
import { fit } from '../../operator/text.ts';
import { Choices } from '../components/choices.ts';
import { Lines } from '../components/styled.ts';
import { AXIS_COLUMNS, axisFigure, axisTime, roundTop, withAxis } from '../draw/axis.ts';
import { columns, curves, SAMPLES_PER_COLUMN } from '../draw/braille.ts';
import { bold, dim, type Line, lineWidth, type Span, span } from '../draw/line.ts';
import { CHART_RANGES, type Model } from '../model.ts';
import { presentOf } from '../present.ts';
import { type Bucket, isLongRange, series, stretched } from '../series.ts';
import { about, courseRoom, firstBytesOf } from './first-bytes.ts';

export interface Room {
  /** Charts per row, and the number of rows. */
  readonly across: number;
  readonly down: number;
  /** Height of a chart's plot, without its head and its time axis. */
  readonly height: number;
  readonly hasTimeAxis: boolean;
}

/** Columns between two charts. */
const GAP = 2;

/** The time ranges, with the chosen one marked. */
export function Ranges({ model }: { readonly model: Model }): ReactNode {
  return h(Choices, { all: CHART_RANGES, chosen: model.chartRange, isAll: true, on: 'chart_range' });
}

export function chartsHeight({ down, height, hasTimeAxis }: Room): number {
  return down * (height + (hasTimeAxis ? 2 : 1)) + down - 1;
}

/** Shows as many charts as fit, the most informative first. */
export function Charts({ model, room }: { readonly model: Model; readonly room: Room }): ReactNode {
  const { across, down, height, hasTimeAxis } = room;
  const { columns: all, chartRange, snapshot, shared } = model;
  const isAlone = shared === undefined;
  const width = Math.floor((all - GAP * (across - 1)) / across);
  const present = presentOf(model);
  const samples = series(model, samplesOf(width));
  const isRead = useIsScreenReaderEnabled();
  // Memoized: charts change once a second, not with each key press.
  // biome-ignore lint/correctness/useExhaustiveDependencies: of the model, only these parts are drawn
  const drawn = useMemo(
    () => CHARTS.slice(0, across * down).map((chart) => chart(model, width, { across, down, height, hasTimeAxis })),
    [samples, present, snapshot, chartRange, isAlone, width, across, down, height, hasTimeAxis],
  );
  const rows = Array.from({ length: down }, (_, row) => drawn.slice(row * across, (row + 1) * across));
  return h(
    Box,
    { flexDirection: 'column', gap: isRead ? 0 : 1, flexShrink: 0 },
    rows.map((charts, row) =>
      h(
        Box,
        { key: row, gap: GAP, flexShrink: 0 },
        // A screen reader reads only a chart's head.
        charts.map((lines, index) => h(Lines, { key: index, lines: isRead ? lines.slice(0, 1) : lines, width })),
      ),
    ),
  );
}

type Chart = (model: Model, width: number, room: Room) => Line[];

const CHARTS: readonly Chart[] = [requests, firstBytes, tokens, spending];

function requests(model: Model, width: number, room: Room): Line[] {
  const samples = bucketsOf(model, width);
  const { answersPerS, errorsPerS } = presentOf(model);
  const most = mostOf(samples, ({ answers }) => answers);
  const head = headOf(model, 'requests/s', width, [
    [{ text: axisFigure(answersPerS) }],
    errorsPerS === 0 ? [] : [span(`${axisFigure(errorsPerS)} errors/s`, { tone: 'bad' })],
    [dim(`max ${axisFigure(most)}`)],
  ]);
  const top = roundTop(most);
  const plot = columns(
    samples.map(({ answers, errors }) => ({ value: answers, part: errors })),
    { ...sizeOf(width, room), top },
    { value: 'accent', part: 'bad' },
  );
  return [head, ...withAxis(plot, width, { top, show: axisFigure, reach: reachOf(model, room) })];
}

function firstBytes(model: Model, width: number, room: Room): Line[] {
  const name = 'first byte';
  const byUpstream = isLongRange(model) ? undefined : firstBytesOf(name, model, width, room.height);
  if (byUpstream !== undefined) {
    const blank = Array<Line>(room.height + 1 - byUpstream.length).fill([]);
    const scale: Line = courseRoom(width) === 0 ? [] : [dim(fit('5 min, log scale', width, 'right'))];
    return [...byUpstream, ...blank, ...(room.hasTimeAxis ? [scale] : [])];
  }
  const samples = bucketsOf(model, width);
  const { p50Ms, p99Ms } = presentOf(model);
  const p50: Line = [span(`p50 ${about(p50Ms)}`, { tone: 'accent' })];
  const p99: Line = [span(`p99 ${about(p99Ms)}`, { tone: 'other' })];
  const whole = headOf(model, name, width, [p50, p99]);
  // If only one figure fits, p99 is shown, since it shows trouble first.
  const head = lineWidth(whole) < lineWidth([...p50, ...p99]) + name.length ? headOf(model, name, width, [p99]) : whole;
  const top = roundTop(mostOf(samples, ({ p99Ms: ms = 0 }) => ms));
  const plot = curves(
    [
      { values: samples.map((bucket) => bucket.p50Ms), tone: 'accent' },
      { values: samples.map((bucket) => bucket.p99Ms), tone: 'other' },
    ],
    { ...sizeOf(width, room), top },
  );
  return [head, ...withAxis(plot, width, { top, show: axisTime, reach: reachOf(model, room) })];
}

function tokens(model: Model, width: number, room: Room): Line[] {
  const now = short(presentOf(model).tokensPerS);
  return area(model, width, room, { name: 'tokens/s', now, read: (bucket) => bucket.tokens });
}

function spending(model: Model, width: number, room: Room): Line[] {
  const now = usd(presentOf(model).spending.costNanos);
  return area(model, width, room, { name: 'USD/min', now, read: (bucket) => bucket.usd * 60 });
}

interface Area {
  readonly name: string;
  readonly now: string;
  read(bucket: Bucket): number;
}

function area(model: Model, width: number, room: Room, { name, now, read }: Area): Line[] {
  const samples = bucketsOf(model, width);
  const most = mostOf(samples, read);
  const top = roundTop(most);
  const head = headOf(model, name, width, [[{ text: now }], [dim(`max ${axisFigure(most)}`)]]);
  const stacked = samples.map((bucket) => ({ value: read(bucket), part: 0 }));
  const plot = columns(stacked, { ...sizeOf(width, room), top }, { value: 'accent', part: 'accent' });
  return [head, ...withAxis(plot, width, { top, show: axisFigure, reach: reachOf(model, room) })];
}

/** The chart's name, and as many whole figures as fit. */
function headOf({ shared }: Model, name: string, width: number, figures: readonly Line[]): Line {
  const head: Span[] = [bold(shared === undefined ? name : `${name} here`)];
  for (const figure of figures.filter((each) => each.length > 0)) {
    const next = [{ text: '  ' }, ...figure];
    if (lineWidth([...head, ...next]) > width) break;
    head.push(...next);
  }
  return head;
}

function samplesOf(width: number): number {
  return (width - AXIS_COLUMNS) * SAMPLES_PER_COLUMN;
}

function bucketsOf(model: Model, width: number): readonly Bucket[] {
  return stretched(series(model, samplesOf(width)), samplesOf(width));
}

/** Returns the largest value among settled buckets. */
function mostOf(samples: readonly Bucket[], read: (bucket: Bucket) => number): number {
  return samples.reduce((most, bucket) => (bucket.isSettled ? Math.max(most, read(bucket)) : most), 0);
}

function sizeOf(width: number, { height }: Room) {
  return { width: width - AXIS_COLUMNS, height };
}

function reachOf({ chartRange }: Model, { hasTimeAxis }: Room): string | undefined {
  return hasTimeAxis ? chartRange : undefined;
}
