/** A bar in several parts: how much of a whole each of them is. Pure. */
import type { Line, Span } from './line.ts';

export interface Part extends Omit<Span, 'text'> {
  readonly value: number;
  /** One column of it. Parts differ by their sign, and not by their tone alone. */
  readonly sign: string;
}

/** Parts of a bar that is exactly this wide. Any part at all takes at least one column. */
export function gauge(parts: readonly Part[], width: number): Line {
  const whole = parts.reduce((sum, { value }) => sum + Math.max(0, value), 0);
  const columns = parts.map(({ value }) => (value <= 0 ? 0 : Math.max(1, Math.floor((value / whole) * width))));
  // What rounding has left over or taken too much is the largest part's.
  const largest = columns.indexOf(Math.max(...columns));
  const others = columns.reduce((sum, each, index) => (index === largest ? sum : sum + each), 0);
  columns[largest] = Math.max(0, width - others);
  if (whole === 0) return [{ text: ' '.repeat(width) }];
  return parts.map(({ value: _, sign, ...style }, index) => ({ text: sign.repeat(columns[index] ?? 0), ...style }));
}
