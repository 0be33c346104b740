/** Lines as what a terminal takes: codes for their styles, and of a new screen only the lines that differ. Pure. */
import type { Line, Span, Tone } from './line.ts';

/** Of the terminal's own palette, so that they fit what its owner has chosen. */
const COLOURS: Readonly<Record<Tone, number>> = { accent: 36, good: 32, warn: 33, bad: 31 };
const BOLD = 1;
const DIM = 2;
const INVERSE = 7;

const ESCAPE = '\u001b';
const PLAIN = `${ESCAPE}[m`;
/** A terminal that knows these shows all that stands between them at once. */
const BEGIN = `${ESCAPE}[?2026h`;
const END = `${ESCAPE}[?2026l`;

/** The other screen, without a cursor, with marks around what is pasted; a character too wide by mistake breaks no line. */
export const ENTER_SCREEN = `${ESCAPE}[?1049h${ESCAPE}[?25l${ESCAPE}[?2004h${ESCAPE}[?7l`;
export const LEAVE_SCREEN = `${ESCAPE}[?7h${ESCAPE}[?2004l${ESCAPE}[?25h${ESCAPE}[?1049l`;

/** A line with its styles. */
export function painted(line: Line, hasColours: boolean): string {
  return line.map((each) => paintedSpan(each, hasColours)).join('');
}

function paintedSpan({ text, tone, bold = false, dim = false, inverse = false }: Span, hasColours: boolean): string {
  const codes = [
    ...(bold ? [BOLD] : []),
    ...(dim ? [DIM] : []),
    ...(inverse ? [INVERSE] : []),
    ...(tone !== undefined && hasColours ? [COLOURS[tone]] : []),
  ];
  return codes.length === 0 || text === '' ? text : `${ESCAPE}[${codes.join(';')}m${text}${PLAIN}`;
}

/** What turns one screen into the next; nothing where they are alike. Without a screen before, all is drawn. */
export function changes(before: readonly string[] | undefined, after: readonly string[]): string {
  const lines = after.flatMap((line, row) =>
    // Cleared before it is drawn: behind its last column a terminal would clear that column itself.
    line === before?.[row] ? [] : [`${ESCAPE}[${row + 1};1H${ESCAPE}[K${line}`],
  );
  const clearing = before === undefined ? [`${PLAIN}${ESCAPE}[2J`] : [];
  const all = [...clearing, ...lines].join('');
  return all === '' ? '' : `${BEGIN}${all}${END}`;
}
