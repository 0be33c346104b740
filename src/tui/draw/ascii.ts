/** Lines, bars and signs in ASCII, for terminals that show nothing else. Pure. */
import { widthOf } from '../../operator/text.ts';

/** One column for one column. Every sign that a view draws needs a place here. */
const SIGNS: Readonly<Record<string, string>> = {
  '─': '-',
  '━': '=',
  '│': '|',
  '╭': '+',
  '╮': '+',
  '╰': '+',
  '╯': '+',
  '┤': '|',
  '▏': '|',
  '▎': '-',
  '▍': '-',
  '▌': '#',
  '▋': '#',
  '▊': '#',
  '▉': '#',
  '░': '.',
  '▓': '=',
  '▁': '_',
  '▂': '.',
  '▃': ':',
  '▄': '-',
  '▅': '=',
  '▆': '+',
  '▇': '*',
  '█': '#',
  '●': '*',
  '○': 'o',
  '▲': '!',
  '✓': '+',
  '✕': 'x',
  '·': '.',
  '…': '~',
  '›': '>',
  '▸': '>',
  '▾': 'v',
  '≤': '<',
  '↑': '^',
  '↓': 'v',
  '←': '<',
  '→': '>',
  '–': '-',
  '“': '"',
  '”': '"',
  '’': "'",
};
const KNOWN = Object.keys(SIGNS).join('');
const BRAILLE = /^[⠀-⣿]$/;
const PIECES = new RegExp(`[${KNOWN}]|[⠀-⣿]|[^ -~⠀-⣿${KNOWN}]+`, 'gu');

/** Dots that stand on the lower edge of their row, by the height of the higher sample. */
const FILLED = [' ', '.', ':', '+', '#'] as const;
/** The dots of a braille character by height, the lowest first. */
const HEIGHTS = [0xc0, 0x24, 0x12, 0x09] as const;

/** The likeness of dots: how high they reach in a column of a chart, or how high a line runs. */
function dotsOf(character: string): string {
  const bits = character.charCodeAt(0) & 0xff;
  const highest = HEIGHTS.findLastIndex((dots) => (bits & dots) !== 0);
  const lowest = HEIGHTS.findIndex((dots) => (bits & dots) !== 0);
  if (lowest <= 0) return FILLED[highest + 1] ?? ' ';
  if (highest === HEIGHTS.length - 1) return lowest === highest ? "'" : '|';
  return '-';
}

/** A cleaned text in ASCII, as wide as before: what has no likeness there becomes question marks. */
export function asciiOf(text: string): string {
  return text.replace(
    PIECES,
    (piece) => SIGNS[piece] ?? (BRAILLE.test(piece) ? dotsOf(piece) : '?'.repeat(widthOf(piece))),
  );
}
