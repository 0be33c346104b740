/** Plots of costs over time as text: filled columns of braille dots, with an earlier time as a dim line. Pure. */

import { isoTime } from '../core/clock.ts';
import { NANOS_PER_USD, type Nanos } from '../core/money.ts';
import type { CostHistory, HistorySpan } from './cost-history.ts';
import { short } from './format.ts';
import type { Zone } from './moments.ts';

/** A piece of a line, and the part of the plot that it belongs to. */
export interface PlotSpan {
  readonly text: string;
  readonly part: 'axis' | 'now' | 'earlier';
}

export interface PlotSize {
  /** In columns and rows of a terminal, with the axes. */
  readonly width: number;
  readonly height: number;
}

/** Columns for the figures of the axis, and the axis. */
const LABEL = 6;
const AXIS = LABEL + 1;
const DOT_ROWS = 4;
/** The bits of a braille character by dot column, from the lowest dot up. */
const DOTS = [
  [0x40, 0x04, 0x02, 0x01],
  [0x80, 0x20, 0x10, 0x08],
] as const;
const BRAILLE = 0x2800;

/** Draws a history. Each line has exactly `width` columns but the last one, which has the times. */
export function plotLines({ span, costs, earlier }: CostHistory, size: PlotSize, zone: Zone): PlotSpan[][] {
  const columns = Math.max(2, size.width - AXIS);
  const rows = Math.max(2, size.height - 1);
  const dots = columns * 2;
  const top = roundTop(Math.max(...[...costs, ...earlier].map(usdOf)));
  const levelOf = (cost: number) => (cost <= 0 ? 0 : Math.max(1, Math.round((cost / top) * rows * DOT_ROWS)));
  const now = spread(costs.map(usdOf), dots).map(levelOf);
  const line = spread(earlier.map(usdOf), dots).map(levelOf);
  const lines = Array.from({ length: rows }, (_, row): PlotSpan[] => {
    const value = axisValue(row, rows, top);
    const label = value === undefined ? '' : axisText(value);
    const axis: PlotSpan = { text: `${label.padStart(LABEL)}${label === '' ? '│' : '┤'}`, part: 'axis' };
    return [axis, ...cells(now, line, rows - 1 - row, columns)];
  });
  return [...lines, [{ text: `${' '.repeat(AXIS)}${timeLine(span, columns, zone)}`.trimEnd(), part: 'axis' }]];
}

function usdOf(nanos: Nanos): number {
  return Number(nanos) / Number(NANOS_PER_USD);
}

const ROUND = [1, 1.5, 2, 3, 4, 5, 6, 8, 10] as const;

/** A round figure at or above the largest value, whose half is short, too. */
export function roundTop(most: number): number {
  if (!(most > 0)) return 1;
  const base = 10 ** Math.floor(Math.log10(most));
  const factor = ROUND.find((each) => each * base >= most * (1 - 1e-9)) ?? 10;
  return Number((factor * base).toPrecision(2));
}

/** The axis labels: at the top, middle and bottom row. */
function axisValue(row: number, rows: number, top: number): number | undefined {
  if (row === 0) return top;
  if (row === rows - 1) return 0;
  return row === Math.floor(rows / 2) && rows > 3 ? top / 2 : undefined;
}

/** A figure of an axis in at most six columns: `0.0005`, `1.25`, `2.5`, `1,000`, `25.0k`. */
export function axisText(value: number): string {
  return value < 10 && !Number.isInteger(value) ? String(Number(value.toPrecision(3))) : short(value);
}

/** Stretches values to this number of dot columns, or merges neighbours: the largest of them is shown. */
function spread(values: readonly number[], dots: number): number[] {
  const each = dots / values.length;
  return Array.from({ length: dots }, (_, i) => {
    const first = Math.floor(i / each);
    const last = Math.max(first + 1, Math.floor((i + 1) / each));
    return Math.max(...values.slice(first, last));
  });
}

/** One row of characters. The line is drawn in cells without a column. */
function cells(now: readonly number[], line: readonly number[], row: number, columns: number): PlotSpan[] {
  const spans: { text: string; part: PlotSpan['part'] }[] = [];
  for (let column = 0; column < columns; column++) {
    const filled = bitsOf(column, row, (dot, level) => (now[dot] ?? 0) > level);
    const drawn = bitsOf(column, row, (dot, level) => isOnLine(line, dot, level));
    const part = filled > 0 ? 'now' : 'earlier';
    const bits = filled > 0 ? filled : drawn;
    const text = bits === 0 ? ' ' : String.fromCharCode(BRAILLE + bits);
    const last = spans.at(-1);
    if (last !== undefined && (last.part === part || bits === 0)) last.text += text;
    else spans.push({ text, part });
  }
  return spans;
}

/** The line joins each value with the one before, so that it does not fall apart into dots. */
function isOnLine(line: readonly number[], dot: number, level: number): boolean {
  const here = (line[dot] ?? 0) - 1;
  const before = (line[dot - 1] ?? line[dot] ?? 0) - 1;
  if (here < 0 && before < 0) return false;
  return here === level || (level > Math.min(here, before) && level <= Math.max(here, before) && level !== before);
}

function bitsOf(column: number, row: number, isSet: (dot: number, level: number) => boolean): number {
  let bits = 0;
  for (const [side, levels] of DOTS.entries()) {
    for (const [level, bit] of levels.entries()) {
      if (isSet(column * 2 + side, row * DOT_ROWS + level)) bits |= bit;
    }
  }
  return bits;
}

const MOST_TIMES = 8;
const TIME_GAP = 4;

/** The times of some steps, each at the left edge of its step. */
function timeLine(span: HistorySpan, columns: number, zone: Zone): string {
  const widest = span.by === 'day' || span.steps > 24 ? '11-24'.length : '16:00'.length;
  const most = Math.max(1, Math.min(MOST_TIMES, Math.floor(columns / (widest + TIME_GAP))));
  const every = Math.ceil(span.steps / most);
  let text = '';
  for (let step = 0; step < span.steps; step += every) {
    const at = Math.floor((step * columns) / span.steps);
    const label = stepText(span, step, zone);
    if (at < text.length || at + label.length > columns) continue;
    text = text.padEnd(at) + label;
  }
  return text;
}

/** The start of a step: `16:00`, or the day in a span of more than a day. Days of UTC are not moved to the zone. */
export function stepText(span: HistorySpan, step: number, zone: Zone): string {
  const atMs = span.fromMs + step * span.stepMs;
  const text = isoTime(atMs + (span.by === 'day' ? 0 : zone(atMs)));
  return span.by === 'day' || span.steps > 24 + 1 ? text.slice(5, 10) : text.slice(11, 16);
}
