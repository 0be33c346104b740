/** Text in terminal columns: cleaned of control characters, and cut or padded to a width. Pure. */
import { createRequire } from 'node:module';
import { replaceUnprintable } from '../core/printable.ts';

// The build removes this line, and bundles what is required: scripts/bundling.ts.
const require = createRequire(import.meta.url);

export type Align = 'left' | 'right';

/** ASCII, the lines, blocks and dots of bars and charts, and the signs of states: each takes one column. */
// biome-ignore lint/complexity/useRegexLiterals: the build escapes strings alone, and a script all in ASCII takes half the memory
const PLAIN = new RegExp('^[ -~─-▟⠀-⣿…●○▲▸▾✕·’–]*$');
let stringWidth: typeof import('string-width').default | undefined;
let graphemes: Intl.Segmenter | undefined;

/** Letters that take the next character into their own place, such as the space after a name (Grapheme_Cluster_Break=Prepend). */
const JOINS_NEXT =
  /[\u0d4e\u{111c2}\u{111c3}\u{113d1}\u{1193f}\u{11941}\u{11a3a}\u{11a84}-\u{11a89}\u{11d46}\u{11f02}]/gu;

/** Replaces whatever could move the cursor, turn the direction of the text or shift a column with U+FFFD. */
export function clean(text: string): string {
  return PLAIN.test(text) ? text : replaceUnprintable(text).replace(JOINS_NEXT, '\ufffd');
}

/** How many columns a cleaned text takes. */
export function widthOf(text: string): number {
  // A hundred times as fast, and most commands never load the library, which takes 60 ms.
  if (PLAIN.test(text)) return text.length;
  stringWidth ??= (require('string-width') as typeof import('string-width')).default;
  return stringWidth(text);
}

/** Pads a text to a width. A longer text stays as it is. */
export function pad(text: string, width: number, align: Align = 'left'): string {
  const padding = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'right' ? padding + text : text + padding;
}

/** Cleans a text and fits it to exactly this width. A text that is cut ends in an ellipsis. */
export function fit(text: string, width: number, align: Align = 'left'): string {
  return pad(cut(clean(text), width), width, align);
}

/** Cuts the end off a cleaned text that is wider than this. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  return width <= 0 ? '' : `${asManyAsFit(segmentsOf(text), width - 1).join('')}…`;
}

/** Of what is left of a text that is cut in its middle, the part before the cut. */
const HEAD_SHARE = 0.7;

/** Cuts the middle out of a cleaned text that is wider than this: names often differ at their end. */
export function cutMiddle(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  if (width <= 2) return cut(text, width);
  const segments = segmentsOf(text);
  const headWidth = Math.ceil((width - 1) * HEAD_SHARE);
  const head = asManyAsFit(segments, headWidth).join('');
  const tail = asManyAsFit(segments.toReversed(), width - 1 - widthOf(head)).toReversed();
  return `${head}…${tail.join('')}`;
}

/** Leaves out the last of a cleaned list that is wider than this, and says how many; if it must, cuts what is first. */
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

/** A text for a terminal that takes ASCII only: as wide as before, with a `?` for each column that it cannot show. */
export function toAscii(text: string): string {
  // Escape codes of colours are ASCII, and stay.
  if (!NOT_ASCII.test(text)) return text;
  return segmentsOf(text)
    .map((segment) => {
      if (!NOT_ASCII.test(segment)) return segment;
      if (BLOCK.test(segment)) return FULL.test(segment) ? '#' : '-';
      return ASCII[segment] ?? '?'.repeat(widthOf(segment));
    })
    .join('');
}

/** The graphemes of a text: what a reader takes for one character. */
export function segmentsOf(text: string): string[] {
  // A thousand times as fast.
  if (PLAIN.test(text)) return [...text];
  // Made on first use: it takes 20 ms.
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

/** Breaks a cleaned text into lines: between words, or within a word longer than a line. */
export function wrap(text: string, width: number): string[] {
  return filled(
    text.split(' ').flatMap((word) => pieces(word, width)),
    width,
  );
}

/** Words. What is quoted is one, and so is a command of the program after a colon: they stay whole, to be copied. */
const WHOLE_WORDS = /^ +\S+|(?:`[^`]*`|"(?:\\.|[^"\\])*"|(?<=: )(?:npx )?inf-gw [^;]+|\S)+/g;

/** Breaks a cleaned text into lines between such words. A longer one has a line of its own, which may be too wide. */
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

/** A text of several paragraphs, those broken anew of which a line is too wide. Indented lines stay as they are. */
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
