/** The size of a dialog's box, and the wrapping of a long text in it. Pure. */
import { clean, wrap } from '../../operator/text.ts';

const MAX_WIDTH = 72;
/** Columns next to the text: the window's margin, the frame and its padding. */
const BESIDE = 4;
/** Rows around a notice's text: frame, title, hints, two empty lines, and the line of hints below. */
const AROUND_NOTICE = 7;

/** Returns the columns for text in a window of this width. */
export function boxWidth(columns: number): number {
  return Math.min(MAX_WIDTH, columns - BESIDE);
}

/** Returns the number of visible lines of a notice. */
export function noticeRoom(rows: number): number {
  return Math.max(1, rows - AROUND_NOTICE);
}

/** Returns all lines of a notice. Continuation lines are indented. */
export function noticeLines(lines: readonly string[], columns: number): string[] {
  return lines.flatMap((line) =>
    wrap(clean(line), boxWidth(columns) - 2).map((part, index) => (index === 0 ? part : `  ${part}`)),
  );
}
