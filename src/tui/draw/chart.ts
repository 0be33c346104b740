/** Bars for the used share of a limit, and charts over time. Pure. */
import { blocks } from '../../operator/format.ts';
import type { Line, Span, Tone } from './line.ts';

const EIGHTHS = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/** The shares of a limit from which a bar turns yellow and red. */
const WARN_SHARE = 0.75;
const BAD_SHARE = 0.95;

export function toneOfShare(share: number): Tone {
  if (share >= BAD_SHARE) return 'bad';
  return share >= WARN_SHARE ? 'warn' : 'good';
}

/** Draws the used share of a limit as a bar, to an eighth of a column. Any use is visible. */
export function bar(used: number, limit: number, width: number): Line {
  const share = limit > 0 ? Math.min(1, used / limit) : used > 0 ? 1 : 0;
  const filled = blocks(share, width);
  return [
    { text: filled, tone: toneOfShare(share) },
    { text: '░'.repeat(width - filled.length), dim: true },
  ];
}

/** The last `width` values as columns up to `height` lines high, scaled to the largest of them. */
export function chart(
  values: readonly number[],
  width: number,
  height: number,
  style: Omit<Span, 'text'> = {},
): Line[] {
  const shown = values.slice(Math.max(0, values.length - width));
  const padded = [...Array<number>(Math.max(0, width - shown.length)).fill(0), ...shown];
  const top = Math.max(...padded, Number.MIN_VALUE);
  const levels = padded.map((value) => (value <= 0 ? 0 : Math.max(1, Math.round((value / top) * height * 8))));
  return Array.from({ length: height }, (_, row) => {
    const floor = (height - 1 - row) * 8;
    const text = levels.map((level) => EIGHTHS[Math.min(8, Math.max(0, level - floor))]).join('');
    return [{ text, ...style }];
  });
}
