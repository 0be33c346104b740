/** Lines of the screen: spans of styled text, fitted to an exact width. Pure. */
import { type Health, SIGNS } from '../../operator/health.ts';
import { cut, widthOf } from '../../operator/text.ts';

/** What a colour means; `other` tells a second line from the first. The colour itself is up to the terminal's palette. */
export type Tone = 'accent' | 'other' | 'good' | 'warn' | 'bad';

/** What a click does: presses a key, or goes to one of what can be chosen. */
export interface Click {
  readonly on: 'key' | 'view' | 'row' | 'head' | 'trouble' | 'chart_range' | 'usage_group' | 'usage_range';
  /** Which of them; a row by its place in the list that is open. */
  readonly which: string | number;
}

export interface Span {
  readonly text: string;
  readonly tone?: Tone | undefined;
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly inverse?: boolean;
  /** Part of the row under the cursor. */
  readonly selected?: boolean;
  /** What a click on it does. */
  readonly click?: Click | undefined;
}

export type Line = readonly Span[];

export const EMPTY: Line = [];

export function span(text: string, style: Omit<Span, 'text'> = {}): Span {
  return { text, ...style };
}

/** A state: they differ by sign, and not by colour alone. */
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

/** A line all of which does the same when it is clicked. */
export function clickable(line: Line, click: Click): Line {
  return line.map((each) => ({ ...each, click }));
}

/** What a click in this column does. */
export function clickAt(line: Line, column: number): Click | undefined {
  let end = 0;
  return line.find(({ text }) => {
    end += widthOf(text);
    return column < end;
  })?.click;
}

export function lineWidth(line: Line): number {
  return line.reduce((sum, { text }) => sum + widthOf(text), 0);
}

/** Fits a line of cleaned texts to exactly this width. One that is cut ends in an ellipsis. */
export function fitLine(line: Line, width: number): Line {
  const missing = width - lineWidth(line);
  if (missing >= 0) return missing === 0 ? line : [...line, { text: ' '.repeat(missing) }];
  const shown: Span[] = [];
  let room = width;
  for (const each of line) {
    const taken = widthOf(each.text);
    if (taken >= room) {
      // One column longer, so that it ends in an ellipsis even if this text alone would fit.
      const text = cut(`${each.text}…`, room);
      shown.push({ ...each, text }, { text: ' '.repeat(room - widthOf(text)) });
      break;
    }
    shown.push(each);
    room -= taken;
  }
  return shown;
}

/** One line at the left edge, one at the right, which is dropped if there is no room. */
export function spread(left: Line, right: Line, width: number): Line {
  const gap = width - lineWidth(left) - lineWidth(right);
  return gap < 1 ? fitLine(left, width) : [...left, { text: ' '.repeat(gap) }, ...right];
}

/** The row under the cursor, from edge to edge. Its tones and bars stay what they are. */
export function selected(line: Line, width: number): Line {
  return fitLine(line, width).map((each) => ({ ...each, selected: true }));
}

/** Puts blocks of lines side by side, each at its width. */
export function beside(
  blocks: readonly { readonly lines: readonly Line[]; readonly width: number }[],
  gap = 2,
): Line[] {
  const height = Math.max(0, ...blocks.map(({ lines }) => lines.length));
  return Array.from({ length: height }, (_, row) =>
    blocks.flatMap(({ lines, width }, index) => [
      ...(index === 0 ? [] : [{ text: ' '.repeat(gap) }]),
      ...fitLine(lines[row] ?? EMPTY, width),
    ]),
  );
}
