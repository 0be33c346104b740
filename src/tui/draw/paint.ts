/** Turns lines into text with the escape codes of their styles. Pure. */
import { asciiOf, showsUtf8 } from './ascii.ts';
import type { Line, Span, Tone } from './line.ts';

/** From the terminal's own palette, so that they suit the user's theme. */
const COLOURS: Readonly<Record<Tone, number>> = { accent: 36, other: 35, good: 32, warn: 33, bad: 31 };
const BOLD = 1;
const DIM = 2;
const INVERSE = 7;
/** A dark band with light text on it and the palette's bright colours: readable in light themes and in dark ones. */
const BAND = [48, 5, 237, 38, 5, 255];
const BRIGHTER = 60;
/** What bars and charts are made of: inverse, a bar would be a hole. */
const BLOCKS = /[▀-▟⠀-⣿]/;

const ESCAPE = '\u001b';
const PLAIN = `${ESCAPE}[0m`;

/** What the terminal can show. */
export interface Abilities {
  readonly hasColours: boolean;
  /** Whether it has 256 colours, so that a row can have a band behind it. */
  readonly hasBand: boolean;
  readonly isAscii: boolean;
}

/** Of the terminals in use, only consoles and those of hardware lack the 256 colours. */
export function abilitiesOf({ NO_COLOR: noColour = '', TERM: term = '', ...rest }: NodeJS.ProcessEnv): Abilities {
  // As https://no-color.org asks.
  const hasColours = noColour === '';
  return { hasColours, hasBand: hasColours && !/^(linux|ansi|cons|vt|sun)/.test(term), isAscii: !showsUtf8(rest) };
}

export function painted(line: Line, abilities: Abilities): string {
  return line.map((each) => paintedSpan(each, abilities)).join('');
}

function paintedSpan(span: Span, { hasColours, hasBand, isAscii }: Abilities): string {
  const text = isAscii ? asciiOf(span.text) : span.text;
  const codes = span.selected ? selectedCodes(span, hasBand) : codesOf(span, hasColours);
  return codes.length === 0 || text === '' ? text : `${ESCAPE}[${codes.join(';')}m${text}${PLAIN}`;
}

function codesOf({ tone, bold = false, dim = false, inverse = false }: Span, hasColours: boolean): number[] {
  return [
    ...(bold ? [BOLD] : []),
    ...(dim ? [DIM] : []),
    ...(inverse ? [INVERSE] : []),
    ...(tone !== undefined && hasColours ? [COLOURS[tone]] : []),
  ];
}

/** Without a band, bars stand in their place beside inverse text. */
function selectedCodes({ text, tone, bold = false, dim = false }: Span, hasBand: boolean): number[] {
  const bolder = bold ? [BOLD] : [];
  if (!hasBand) return BLOCKS.test(text) ? bolder : [...bolder, INVERSE];
  const colour = tone === undefined ? [] : [COLOURS[tone] + BRIGHTER];
  return [...bolder, ...(dim ? [DIM] : []), ...BAND, ...colour];
}
