/** A bar in several parts, each as long as its share of the whole. Pure. */
import type { Line, Span } from './line.ts';

export interface Part extends Omit<Span, 'text'> {
  readonly value: number;
  /** The character of one column. Signs distinguish the parts without colour. */
  readonly sign: string;
}

/** Draws parts of a bar of exactly this width. A part above 0 takes at least one column. */
export function gauge(parts: readonly Part[], width: number): Line {
  const whole = parts.reduce((sum, { value }) => sum + Math.max(0, value), 0);
  const columns = parts.map(({ value }) => (value <= 0 ? 0 : Math.max(1, Math.floor((value / whole) * width))));
  // The largest part absorbs the rounding error.
  const largest = columns.indexOf(Math.max(...columns));
  const others = columns.reduce((sum, each, index) => (index === largest ? sum : sum + each), 0);
  columns[largest] = Math.max(0, width - others);
  if (whole === 0) return [{ text: ' '.repeat(width) }];
  return parts.map(({ value: _, sign, ...style }, index) => ({ text: sign.repeat(columns[index] ?? 0), ...style }));
}
