/** Texts that are hard to estimate, at random from a seed, and the ratio of an estimate to the count. */
import { readdirSync, readFileSync } from 'node:fs';
import { countTokens, setMergeCacheSize } from 'gpt-tokenizer/encoding/o200k_base';
import { estimateTokens } from '../../../src/wire/token-estimate.ts';

setMergeCacheSize(2_000);

/** Names of special tokens within a text are text. */
const AS_TEXT = { disallowedSpecial: new Set<string>() };

export function tokensOf(text: string): number {
  return countTokens(text, AS_TEXT);
}

/** The estimate of a text, as a part of its count. */
export function ratioOf(text: string): number {
  return estimateTokens(text) / Math.max(1, tokensOf(text));
}

/** A text of this folder. */
export function sampleText(name: string): string {
  return readFileSync(new URL(`texts/${name}.txt`, import.meta.url), 'utf8');
}

/** The languages of the texts in `texts/languages/`. Each tells the same short stories in the same order. */
export const LANGUAGES: readonly string[] = readdirSync(new URL('texts/languages', import.meta.url))
  .map((file) => file.replace('.txt', ''))
  .toSorted();

export function languageText(language: string): string {
  return sampleText(`languages/${language}`);
}

/** First and last code point of alphabets, each of which is cut, merged or counted in its own way. */
export const ALPHABETS: readonly (readonly [number, number])[] = [
  [0x20, 0x7e],
  [0x00, 0x1f],
  [0x61, 0x7a],
  [0x41, 0x5a],
  [0x30, 0x39],
  [0x21, 0x2f],
  [0x7f, 0xff],
  [0x100, 0x24f],
  [0x300, 0x3ff],
  [0x400, 0x52f],
  [0x530, 0x6ff],
  [0x900, 0xdff],
  [0xe00, 0x10ff],
  [0x1100, 0x1fff],
  [0x2000, 0x206f],
  [0x2070, 0x2bff],
  [0x3000, 0x30ff],
  [0x3400, 0x9fff],
  [0xac00, 0xd7a3],
  [0xd800, 0xdfff],
  [0xe000, 0xf8ff],
  [0xf900, 0xffff],
  [0x10000, 0x1f2ff],
  [0x1f300, 0x1faff],
  [0x20000, 0x2ffff],
];

/** Blanks, joiners and what stands at the seams of pieces. */
export const SEAMS: readonly string[] = [
  ...[' ', '  ', '\n', '\r\n', '\r', '\t', '\v', '\f', '\u00a0', '\u0085', '\u2028', '\u3000', '\u200b'],
  ...["'", "'s", "'LL", "'Ve", '’t', '\u200d', '\ufe0f', '\ufeff', '\u0301', '/', '/\n', '--', '==', '"', '\\', '123'],
];
