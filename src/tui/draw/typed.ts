/** A text input: its caret, the keys that edit it, and its display in a field. Pure. */
import { clean, segmentsOf, widthOf } from '../../operator/text.ts';
import type { Line, Span } from './line.ts';

export interface Typed {
  readonly text: string;
  /** The caret: an offset in `text`, between two graphemes. */
  readonly caret: number;
}

/** Maximum length of typed or pasted text, equal to the bound of names and notes. */
export const MAX_TYPED_CHARACTERS = 500;

export const NOTHING_TYPED: Typed = { text: '', caret: 0 };

/** Returns a text with the caret at its end. */
export function typed(text: string): Typed {
  return { text, caret: text.length };
}

/** Returns the text after a key press; undefined for a key that neither edits it nor moves the caret. */
export function edited(before: Typed, key: string): Typed | undefined {
  const { text, caret } = before;
  switch (key) {
    case 'left':
      return { text, caret: leftOf(before) };
    case 'right':
      return { text, caret: rightOf(before) };
    case 'home':
    case 'ctrl+a':
      return { text, caret: 0 };
    case 'end':
    case 'ctrl+e':
      return typed(text);
    case 'backspace':
      return without(before, leftOf(before), caret);
    case 'delete':
      return without(before, caret, rightOf(before));
    case 'ctrl+w':
      return without(before, wordBefore(before), caret);
    case 'ctrl+u':
      return without(before, 0, caret);
    case 'ctrl+k':
      return without(before, caret, text.length);
  }
  const isCharacter = [...key].length === 1;
  if (!isCharacter || text.length >= MAX_TYPED_CHARACTERS) return undefined;
  return { text: text.slice(0, caret) + key + text.slice(caret), caret: caret + key.length };
}

function leftOf({ text, caret }: Typed): number {
  return ends(text).findLast((end) => end < caret) ?? 0;
}

function rightOf({ text, caret }: Typed): number {
  return ends(text).find((end) => end > caret) ?? text.length;
}

/** Returns the end of each grapheme. */
function ends(text: string): number[] {
  let end = 0;
  return segmentsOf(text).map((segment) => (end += segment.length));
}

/** Returns the start of the word before the caret. Blanks separate words, as in a shell. */
function wordBefore({ text, caret }: Typed): number {
  return Math.max(0, text.slice(0, caret).search(/\S+\s*$/u));
}

function without({ text }: Typed, from: number, to: number): Typed {
  return { text: text.slice(0, from) + text.slice(to), caret: from };
}

/** A grapheme as drawn. */
interface Cell {
  readonly text: string;
  readonly width: number;
}

/** After the last character, the caret takes a column of its own. */
const END: Cell = { text: '▏', width: 1 };
const ELLIPSIS = '…';

/**
 * Draws the text in at most this many columns (ten or more), since a grapheme can take several. The caret stays
 * visible, near the middle of a long text.
 */
export function typedSpans({ text, caret }: Typed, width: number, style: Omit<Span, 'text'> = {}): Line {
  const at = ends(text.slice(0, caret)).length;
  const segments = segmentsOf(text).map(cellOf);
  const cells = at >= segments.length ? [...segments, END] : segments;
  const [from, to] = windowAround(at, cells, width);
  const part = (start: number, end: number) =>
    cells
      .slice(start, end)
      .map((cell) => cell.text)
      .join('');
  const caretCell = cells[at] as Cell;
  const line: Span[] = [
    { text: (from > 0 ? ELLIPSIS : '') + part(from, at), ...style },
    { text: caretCell.text, ...style, ...(caretCell !== END && { inverse: true }) },
    { text: part(at + 1, to) + (to < cells.length ? ELLIPSIS : ''), ...style },
  ];
  return line.filter((each) => each.text !== '');
}

function cellOf(segment: string): Cell {
  const shown = clean(segment);
  const width = widthOf(shown);
  // Replaces a zero-width mark, so that the caret on it is visible.
  return width > 0 ? { text: shown, width } : { text: '\ufffd', width: 1 };
}

/** Returns the visible cells: as many on both sides of the caret as fit. Unused width on one side goes to the other. */
function windowAround(at: number, cells: readonly Cell[], width: number): readonly [from: number, to: number] {
  const widthOfCell = (index: number) => cells[index]?.width ?? Number.POSITIVE_INFINITY;
  let [from, to, before, after] = [at, at + 1, 0, 0];
  const fits = (start: number, end: number, added: number) => {
    const ellipses = (start > 0 ? 1 : 0) + (end < cells.length ? 1 : 0);
    return before + widthOfCell(at) + after + added + ellipses <= width;
  };
  for (;;) {
    const growsLeft = fits(from - 1, to, widthOfCell(from - 1));
    const growsRight = fits(from, to + 1, widthOfCell(to));
    if (!growsLeft && !growsRight) return [from, to];
    if (growsLeft && (before <= after || !growsRight)) before += widthOfCell(--from);
    else after += widthOfCell(to++);
  }
}
