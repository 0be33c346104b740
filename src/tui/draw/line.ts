/** Styled text: lines of spans, which `components/styled.ts` renders. Pure. */
import { type Health, SIGNS } from '../../operator/health.ts';
import { cut, widthOf } from '../../operator/text.ts';

/** The meaning of a colour; `other` distinguishes a second curve from the first. The theme defines the colours. */
export type Tone = 'accent' | 'other' | 'good' | 'warn' | 'bad';

export interface Span {
  readonly text: string;
  readonly tone?: Tone | undefined;
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly inverse?: boolean;
}

export type Line = readonly Span[];

export const EMPTY: Line = [];

export function span(text: string, style: Omit<Span, 'text'> = {}): Span {
  return { text, ...style };
}

/** Returns a state with its sign, which distinguishes states without colour. */
export function signed(health: Health, text: string): Span {
  return span(`${SIGNS[health]} ${text}`, { tone: toneOf(health) });
}

export function toneOf(health: Health): Tone | undefined {
  return health === 'unknown' ? undefined : health;
}

export function dim(text: string): Span {
  return { text, dim: true };
}

export function bold(text: string): Span {
  return { text, bold: true };
}

export function lineText(line: Line): string {
  return line.map(({ text }) => text).join('');
}

export function lineWidth(line: Line): number {
  return line.reduce((sum, { text }) => sum + widthOf(text), 0);
}

/** Fits a line of cleaned texts to exactly this width. A cut line ends in an ellipsis. */
export function fitLine(line: Line, width: number): Line {
  const missing = width - lineWidth(line);
  if (missing >= 0) return missing === 0 ? line : [...line, { text: ' '.repeat(missing) }];
  const shown: Span[] = [];
  let room = width;
  for (const each of line) {
    const taken = widthOf(each.text);
    if (taken >= room) {
      // The extra character forces an ellipsis even if this text alone would fit.
      const text = cut(`${each.text}…`, room);
      shown.push({ ...each, text }, { text: ' '.repeat(room - widthOf(text)) });
      break;
    }
    shown.push(each);
    room -= taken;
  }
  return shown;
}

/** Whether two lines look alike, so that React can skip the second. */
export function isSameLine(one: Line, other: Line): boolean {
  return (
    one === other ||
    (one.length === other.length &&
      one.every((each, index) => {
        const { text, tone, bold, dim, inverse } = other[index] as Span;
        return (
          each.text === text && each.tone === tone && each.bold === bold && each.dim === dim && each.inverse === inverse
        );
      }))
  );
}
