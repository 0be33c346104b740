/** Replaces lines, bars and signs by ASCII, for terminals without UTF-8. Pure. */
import { widthOf } from '../../operator/text.ts';

/** Replacements of equal width. Every sign that a view draws needs an entry. */
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

/** Replacements for dots on the lower edge of a row, by the height of the higher sample. */
const FILLED = [' ', '.', ':', '+', '#'] as const;
/** The dots of a braille character by height, the lowest first. */
const HEIGHTS = [0xc0, 0x24, 0x12, 0x09] as const;

/** Returns the replacement of braille dots: the height of a column in a chart, or of a line. */
function dotsOf(character: string): string {
  const bits = character.charCodeAt(0) & 0xff;
  const highest = HEIGHTS.findLastIndex((dots) => (bits & dots) !== 0);
  const lowest = HEIGHTS.findIndex((dots) => (bits & dots) !== 0);
  if (lowest <= 0) return FILLED[highest + 1] ?? ' ';
  if (highest === HEIGHTS.length - 1) return lowest === highest ? "'" : '|';
  return '-';
}

/** Returns a cleaned text in ASCII at the same width; characters without a replacement become question marks. */
export function asciiOf(text: string): string {
  return text.replace(
    PIECES,
    (piece) => SIGNS[piece] ?? (BRAILLE.test(piece) ? dotsOf(piece) : '?'.repeat(widthOf(piece))),
  );
}
