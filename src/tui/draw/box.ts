/** The size of the box that a dialog is drawn in, and a long text in it. Pure. */
import { clean, wrap } from '../../operator/text.ts';

const MAX_WIDTH = 72;
/** Beside the text: the window's margin, the frame and its padding. */
const BESIDE = 4;
/** What is not the text of a notice: frame, title, hints, two empty lines, and the line of hints below. */
const AROUND_NOTICE = 7;

/** The columns for text in a window this wide. */
export function boxWidth(columns: number): number {
  return Math.min(MAX_WIDTH, columns - BESIDE);
}

/** How many lines of a notice show at once. */
export function noticeRoom(rows: number): number {
  return Math.max(1, rows - AROUND_NOTICE);
}

/** All lines of a notice. Where one is wrapped, its further lines are indented. */
export function noticeLines(lines: readonly string[], columns: number): string[] {
  return lines.flatMap((line) =>
    wrap(clean(line), boxWidth(columns) - 2).map((part, index) => (index === 0 ? part : `  ${part}`)),
  );
}
