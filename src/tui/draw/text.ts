/** Texts in cells of a terminal: cleaned of what could move the cursor, and cut or filled to a width. Pure. */
import stringWidth from 'string-width';

export type Align = 'left' | 'right';

const PLAIN = /^[ -~]*$/;
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
