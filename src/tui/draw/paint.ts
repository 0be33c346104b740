/** Lines as what a terminal takes: with codes for their styles. Pure. */
import type { Line, Span, Tone } from './line.ts';

/** Of the terminal's own palette, so that they fit what its owner has chosen. */
const COLOURS: Readonly<Record<Tone, number>> = { accent: 36, good: 32, warn: 33, bad: 31 };
const BOLD = 1;
const DIM = 2;
const INVERSE = 7;

const ESCAPE = '\u001b';
/** Written out: Ink takes a code without a number for none at all, and styles would run on to the end of the line. */
const PLAIN = `${ESCAPE}[0m`;

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
