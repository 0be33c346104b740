/** The bytes that put lines on the screen, each in its place, wherever the cursor was left. Pure. */

const ESCAPE = '\u001b';
const PLAIN = `${ESCAPE}[0m`;
/**
 * Terminals that know it show all of a drawing at once. A line that is wider there than here must
 * not run into the next, and whoever wrote last may have left a colour on.
 */
const BEGIN = `${ESCAPE}[?2026h${ESCAPE}[?7l${PLAIN}`;
const END = `${ESCAPE}[?7h${ESCAPE}[?2026l`;
/**
 * What another program may have changed: it can have shown the cursor, narrowed what scrolls,
 * switched to another character set, or turned off the marks around what is pasted.
 */
const RECLAIM = `${ESCAPE}[?25l${ESCAPE}[r${ESCAPE}(B\u000f${ESCAPE}[?2004h`;

/** Lines come without the blanks at their ends. They are erased first: at the edge that would take the last column. */
const ERASE = `${ESCAPE}[K`;

const STYLE = new RegExp(`${ESCAPE}\\[[\\d;]*m`, 'g');
/** What takes one column. Terminals differ in how wide they show the rest, such as emoji. */
const NARROW = /^[ -~─-▟⠀-⣿…●○▲▸▾✓✕·’]*$/;

/** Draws what differs from the lines on the screen; all if it is not known what is there. */
export function placed(lines: readonly string[], onScreen: readonly string[] | undefined): string {
  const changed = lines.map((line, row) => placedLine(line, onScreen?.[row], row)).join('');
  if (onScreen === undefined) return `${BEGIN}${RECLAIM}${changed}${END}`;
  return changed === '' ? '' : `${BEGIN}${changed}${END}`;
}

/** From the last blank on before the first difference: no character and no sequence has one inside. */
function placedLine(line: string, before: string | undefined, row: number): string {
  if (line === before) return '';
  const from = before === undefined ? 0 : Math.max(0, line.lastIndexOf(' ', commonLength(line, before) - 1));
  const same = line.slice(0, from);
  const shown = same.replace(STYLE, '');
  const [column, styles, rest] = NARROW.test(shown)
    ? [shown.length, stylesAtEnd(same), line.slice(from)]
    : [0, '', line];
  const plain = styles === '' ? '' : PLAIN;
  return `${ESCAPE}[${row + 1};${column + 1}H${ERASE}${styles}${rest}${plain}`;
}

/** What is in force there. */
function stylesAtEnd(text: string): string {
  const styles = text.slice(Math.max(0, text.lastIndexOf(PLAIN))).match(STYLE);
  return (styles ?? []).join('');
}

function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}
