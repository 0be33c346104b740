/** Turns lines into text with the escape codes of their styles. Pure. */
import { asciiOf } from './ascii.ts';
import type { Line, Span, Tone } from './line.ts';

/** From the terminal's own palette, so that they suit the user's theme. */
const COLOURS: Readonly<Record<Tone, number>> = { accent: 36, other: 35, good: 32, warn: 33, bad: 31 };
const BOLD = 1;
const DIM = 2;
const INVERSE = 7;

const ESCAPE = '\u001b';
const PLAIN = `${ESCAPE}[0m`;

/** What the terminal can show. */
export interface Abilities {
  readonly hasColours: boolean;
  readonly isAscii: boolean;
}

export function painted(line: Line, abilities: Abilities): string {
  return line.map((each) => paintedSpan(each, abilities)).join('');
}

function paintedSpan(span: Span, { hasColours, isAscii }: Abilities): string {
  const { tone, bold = false, dim = false, inverse = false } = span;
  const text = isAscii ? asciiOf(span.text) : span.text;
  const codes = [
    ...(bold ? [BOLD] : []),
    ...(dim ? [DIM] : []),
    ...(inverse ? [INVERSE] : []),
    ...(tone !== undefined && hasColours ? [COLOURS[tone]] : []),
  ];
  return codes.length === 0 || text === '' ? text : `${ESCAPE}[${codes.join(';')}m${text}${PLAIN}`;
}
