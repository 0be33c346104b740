/** Measures, cleans, truncates and pads text in terminal columns. Pure. */
import { createRequire } from 'node:module';
import { replaceUnprintable } from '../core/printable.ts';

// The build removes this line, and bundles each required module: scripts/bundling.ts.
const require = createRequire(import.meta.url);

export type Align = 'left' | 'right';

/** Characters of one column: ASCII, lines, blocks and dots of bars and charts, and the signs of states. */
// biome-ignore lint/complexity/useRegexLiterals: the build escapes strings alone, and a script all in ASCII takes half the memory
const PLAIN = new RegExp('^[ -~─-▟⠀-⣿…●○▲▸▾✕·’–]*$');
let stringWidth: typeof import('string-width').default | undefined;
let graphemes: Intl.Segmenter | undefined;

/** Letters that join the next character (Grapheme_Cluster_Break=Prepend), such as the blank after a name. */
const JOINS_NEXT =
  /[\u0d4e\u{111c2}\u{111c3}\u{113d1}\u{1193f}\u{11941}\u{11a3a}\u{11a84}-\u{11a89}\u{11d46}\u{11f02}]/gu;

/** Replaces characters that move the cursor, change the direction of text or shift columns with U+FFFD. */
export function clean(text: string): string {
  return PLAIN.test(text) ? text : replaceUnprintable(text).replace(JOINS_NEXT, '\ufffd');
}

/** The width of a cleaned text in columns. */
export function widthOf(text: string): number {
  // A hundred times as fast. Most commands never load the library, which takes 60 ms.
  if (PLAIN.test(text)) return text.length;
  stringWidth ??= (require('string-width') as typeof import('string-width')).default;
  return stringWidth(text);
}

/** Pads a text to a width. Longer texts stay whole. */
export function pad(text: string, width: number, align: Align = 'left'): string {
  const padding = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'right' ? padding + text : text + padding;
}

/** Cleans a text and fits it to exactly this width. A truncated text ends in an ellipsis. */
export function fit(text: string, width: number, align: Align = 'left'): string {
  return pad(cut(clean(text), width), width, align);
}

/** Truncates a cleaned text to this width. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  return width <= 0 ? '' : `${asManyAsFit(segmentsOf(text), width - 1).join('')}…`;
}

/** The share of a shortened text before its ellipsis. */
const HEAD_SHARE = 0.7;

/** Shortens a cleaned text to this width in its middle: names often differ at their end. */
export function cutMiddle(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  if (width <= 2) return cut(text, width);
  const segments = segmentsOf(text);
  const headWidth = Math.ceil((width - 1) * HEAD_SHARE);
  const head = asManyAsFit(segments, headWidth).join('');
  const tail = asManyAsFit(segments.toReversed(), width - 1 - widthOf(head)).toReversed();
  return `${head}…${tail.join('')}`;
}

/** Shortens a cleaned list to this width: omits its last items and adds their number, or truncates the first item. */
export function cutList(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  const items = text.split(', ');
  const more = (shown: number) => (shown === items.length ? '' : ` +${items.length - shown}`);
  const first = (shown: number) => `${items.slice(0, shown).join(', ')}${more(shown)}`;
  const shown = items.findLastIndex((_, i) => widthOf(first(i)) <= width);
  return shown > 0 ? first(shown) : cut(cut(items[0] ?? '', width - more(1).length) + more(1), width);
}

const NOT_ASCII = /\P{ASCII}/u;
const ASCII: Readonly<Record<string, string>> = { '…': '~', '●': '*', '▲': '!', '✕': 'x', '─': '-', '’': "'" };
/** Blocks that are at least half full. */
const FULL = /[▋▊▉█▌]/;
const BLOCK = /[▀-▟]/;

/** Converts a text to ASCII of the same width, with a `?` for each column without an equivalent. */
export function toAscii(text: string): string {
  // Escape codes of colours are ASCII.
  if (!NOT_ASCII.test(text)) return text;
  return segmentsOf(text)
    .map((segment) => {
      if (!NOT_ASCII.test(segment)) return segment;
      if (BLOCK.test(segment)) return FULL.test(segment) ? '#' : '-';
      return ASCII[segment] ?? '?'.repeat(widthOf(segment));
    })
    .join('');
}

/** The graphemes of a text, which readers see as characters. */
export function segmentsOf(text: string): string[] {
  // A thousand times as fast.
  if (PLAIN.test(text)) return [...text];
  // Creating it takes 20 ms, which most commands do not need.
  graphemes ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
}

function asManyAsFit(segments: readonly string[], width: number): readonly string[] {
  let room = width;
  const end = segments.findIndex((segment) => {
    room -= widthOf(segment);
    return room < 0;
  });
  return end < 0 ? segments : segments.slice(0, end);
}

/** Wraps a cleaned text between words. A word longer than a line is broken. */
export function wrap(text: string, width: number): string[] {
  return filled(
    text.split(' ').flatMap((word) => pieces(word, width)),
    width,
  );
}

/** Words, where quoted text and a command of the program after a colon count as one: they stay whole, to be copied. */
const WHOLE_WORDS = /^ +\S+|(?:`[^`]*`|"(?:\\.|[^"\\])*"|(?<=: )(?:npx )?inf-gw [^;]+|\S)+/g;

/** Wraps a cleaned text between words. A longer word gets a line of its own, which may be too wide. */
export function wrapWhole(text: string, width: number): string[] {
  return widthOf(text) <= width ? [text] : filled(text.match(WHOLE_WORDS) ?? [], width);
}

function filled(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line === '' || widthOf(longer) <= width) {
      line = longer;
    } else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

/** Wraps the paragraphs of a text that have a line that is too wide. Indented lines stay as they are. */
export function rewrapped(text: string, width: number): string {
  return text.replaceAll(/^\S.*(?:\n\S.*)*/gm, (paragraph) => {
    const isTooWide = paragraph.split('\n').some((line) => widthOf(line) > width);
    return isTooWide ? wrap(paragraph.replaceAll('\n', ' '), width).join('\n') : paragraph;
  });
}

function pieces(word: string, width: number): string[] {
  if (widthOf(word) <= width) return [word];
  const found = [''];
  for (const segment of segmentsOf(word)) {
    const longer = found.at(-1) + segment;
    if (widthOf(longer) <= width) found[found.length - 1] = longer;
    else found.push(segment);
  }
  return found;
}
