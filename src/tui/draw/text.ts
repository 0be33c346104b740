/** Texts in cells of a terminal: cleaned of what could move the cursor, and cut or filled to a width. Pure. */
import stringWidth from 'string-width';

export type Align = 'left' | 'right';

/** Nothing but characters of one column: ASCII, and the lines and blocks that bars and charts are made of. */
const PLAIN = /^[ -~─-▟…]*$/;
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Control characters, formatting ones (such as those that turn the direction of writing), and line ends, as one sign each. */
export function clean(text: string): string {
  return PLAIN.test(text) ? text : text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd');
}

/** How many columns a cleaned text takes. */
export function widthOf(text: string): number {
  return PLAIN.test(text) ? text.length : stringWidth(text);
}

/** A text in exactly so many columns; what does not fit ends in an ellipsis. */
export function fit(text: string, width: number, align: Align = 'left'): string {
  const shown = cut(clean(text), width);
  const padding = ' '.repeat(Math.max(0, width - widthOf(shown)));
  return align === 'right' ? padding + shown : shown + padding;
}

/** A cleaned text in so many columns at most. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  if (width <= 0) return '';
  let shown = '';
  let room = width - 1;
  for (const { segment } of graphemes.segment(text)) {
    room -= widthOf(segment);
    if (room < 0) break;
    shown += segment;
  }
  return `${shown}…`;
}

/** The end of a cleaned text, in so many columns at most. */
export function ending(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  const segments = Array.from(graphemes.segment(text), ({ segment }) => segment);
  let shown = '';
  let room = width - 1;
  for (const segment of segments.toReversed()) {
    room -= widthOf(segment);
    if (room < 0) break;
    shown = segment + shown;
  }
  return `…${shown}`;
}

/** A cleaned text in lines of so many columns at most: broken between words, and within one that is longer than a line. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap((each) => pieces(each, width))) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (widthOf(longer) <= width) {
      line = longer;
    } else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

function pieces(word: string, width: number): string[] {
  if (widthOf(word) <= width) return [word];
  const found = [''];
  for (const { segment } of graphemes.segment(word)) {
    const longer = found.at(-1) + segment;
    if (widthOf(longer) <= width) found[found.length - 1] = longer;
    else found.push(segment);
  }
  return found;
}
