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
  '▏': '|',
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
  '·': '.',
  '…': '~',
  '›': '>',
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
const PIECES = new RegExp(`[${KNOWN}]|[^ -~${KNOWN}]+`, 'gu');

/** A cleaned text in ASCII, as wide as before: what has no likeness there becomes question marks. */
export function asciiOf(text: string): string {
  return text.replace(PIECES, (piece) => SIGNS[piece] ?? '?'.repeat(widthOf(piece)));
}

/** Whether the locale says that the terminal shows UTF-8. As in POSIX, the first that is not empty counts. */
export function showsUtf8({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  return /utf-?8/i.test([LC_ALL, LC_CTYPE, LANG].find((value) => value !== undefined && value !== '') ?? '');
}
