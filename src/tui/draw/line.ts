/** Lines of the screen: spans of text, each with its style, in exactly so many columns. Pure. */
import { cut, widthOf } from './text.ts';

/** What a colour means; which one it is, is up to the terminal's own palette, so that it fits light and dark ones. */
export type Tone = 'accent' | 'good' | 'warn' | 'bad';

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

export function dim(text: string): Span {
  return { text, dim: true };
}

export function bold(text: string): Span {
  return { text, bold: true };
}

export function lineWidth(line: Line): number {
  return line.reduce((sum, { text }) => sum + widthOf(text), 0);
}

/** A line in exactly so many columns; what does not fit ends in an ellipsis. Texts are taken as clean. */
export function fitLine(line: Line, width: number): Line {
  const missing = width - lineWidth(line);
  if (missing >= 0) return missing === 0 ? line : [...line, { text: ' '.repeat(missing) }];
  const shown: Span[] = [];
  let room = width;
  for (const each of line) {
    const taken = widthOf(each.text);
    if (taken >= room) {
      // Longer by one, so that it ends in an ellipsis though the text by itself may fit.
      const text = cut(`${each.text}…`, room);
      shown.push({ ...each, text }, { text: ' '.repeat(room - widthOf(text)) });
      break;
    }
    shown.push(each);
    room -= taken;
  }
  return shown;
}

/** Two lines beside each other: one from the left, one up to the right edge. The right one goes first where room is short. */
export function spread(left: Line, right: Line, width: number): Line {
  const gap = width - lineWidth(left) - lineWidth(right);
  return gap < 1 ? fitLine(left, width) : [...left, { text: ' '.repeat(gap) }, ...right];
}

/** The line of a row that is selected: as one bar from edge to edge, in which tones would be blots. */
export function selected(line: Line, width: number): Line {
  return fitLine(line, width).map(({ text, bold: isBold = false }) => ({ text, bold: isBold, inverse: true }));
}

/** Blocks of lines side by side, each in its width. */
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
