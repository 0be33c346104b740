/** The bytes that put lines on the screen, each in its place, wherever the cursor was left. Pure. */

const ESCAPE = '\u001b';
/**
 * Terminals that know it show all of a drawing at once. A line that is wider there than here must
 * not run into the next, and whoever wrote last may have left a colour on.
 */
const BEGIN = `${ESCAPE}[?2026h${ESCAPE}[?7l${ESCAPE}[0m`;
const END = `${ESCAPE}[?7h${ESCAPE}[?2026l`;
/**
 * What another program may have changed: it can have shown the cursor, narrowed what scrolls,
 * switched to another character set, or turned off the marks around what is pasted.
 */
const RECLAIM = `${ESCAPE}[?25l${ESCAPE}[r${ESCAPE}(B\u000f${ESCAPE}[?2004h`;

/** Ink leaves out the blanks at the end of a line. They are erased first: at the edge that would take the last column. */
const ERASE = `${ESCAPE}[K`;

/** Draws the lines that differ from those on the screen; all if it is not known what is there. */
export function placed(lines: readonly string[], onScreen: readonly string[] | undefined): string {
  const changed = lines
    .map((line, row) => (line === onScreen?.[row] ? '' : `${ESCAPE}[${row + 1};1H${ERASE}${line}`))
    .join('');
  if (onScreen === undefined) return `${BEGIN}${RECLAIM}${changed}${END}`;
  return changed === '' ? '' : `${BEGIN}${changed}${END}`;
}
