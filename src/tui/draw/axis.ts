/** The axes of a chart: round figures at the side, and the time below. Pure. */
import { short } from '../../operator/format.ts';
import { fit } from '../../operator/text.ts';
import { dim, type Line } from './line.ts';

const LABEL = 5;
/** Columns at the side of a chart for its labels and the axis. */
export const AXIS_COLUMNS = LABEL + 1;
/** The smallest top of a scale; a smaller one needs more decimals than fit. */
const LEAST_TOP = 0.01;
const STEPS = [1, 2, 5, 10] as const;

/**
 * Returns a round figure at or above the largest value: 1, 2 or 5 times a power of ten. The scale thus stays constant
 * while values change a little.
 */
export function roundTop(most: number): number {
  if (!(most > 0)) return 1;
  if (most <= LEAST_TOP) return LEAST_TOP;
  const base = 10 ** Math.floor(Math.log10(most));
  const step = STEPS.find((each) => each * base >= most * (1 - 1e-9)) ?? 10;
  return Number((step * base).toPrecision(1));
}

/** Formats a figure of an axis in at most five columns: `0.25`, `2.5`, `1,000`, `25.0k`. */
export function axisFigure(value: number): string {
  return value < 10 && !Number.isInteger(value) ? String(Number(value.toPrecision(2))) : short(value);
}

/** Formats a time in milliseconds: `250ms`, `2.5s`. */
export function axisTime(ms: number): string {
  return ms < 1_000 ? `${axisFigure(ms)}ms` : `${axisFigure(ms / 1_000)}s`;
}

export interface Axis {
  readonly top: number;
  show(value: number): string;
  /** The age of the left edge, such as `5m`; undefined without a time axis. */
  readonly reach: string | undefined;
}

/** Adds the axes to the lines of a chart. */
export function withAxis(plot: readonly Line[], width: number, { top, show, reach }: Axis): Line[] {
  const height = plot.length;
  const labels = new Map([[0, show(top)]]);
  if (height > 1) labels.set(height - 1, '0');
  if (height > 2) labels.set(Math.floor(height / 2), show(top / 2));
  const lines = plot.map((line, row): Line => {
    const label = labels.get(row);
    return [dim(`${fit(label ?? '', LABEL, 'right')}${label === undefined ? '│' : '┤'}`), ...line];
  });
  return reach === undefined ? lines : [...lines, timeLine(width - AXIS_COLUMNS, reach)];
}

function timeLine(width: number, reach: string): Line {
  const [left, right] = [`-${reach}`, 'now'];
  const gap = Math.max(1, width - left.length - right.length);
  return [dim(`${' '.repeat(AXIS_COLUMNS)}${left}${' '.repeat(gap)}${right}`)];
}
