/** Packs the tables of the token estimate into strings, which src/wire/token-tables.ts and byte-pairs.ts unpack. */
import { brotliCompressSync } from 'node:zlib';
import { ABOVE_LETTERS, ABOVE_SHARED_SHIFT, SIGN_CODES } from '../../src/wire/token-tables.ts';
import type { Vocabulary } from './vocabulary.ts';
import type { Word } from './words.ts';

function pack(bytes: Uint8Array): string {
  return brotliCompressSync(bytes).toString('base64');
}

/** Integers of 32 bits, the high bytes first. */
function packIntegers(integers: readonly number[]): string {
  const bytes = Buffer.alloc(4 * integers.length);
  for (const [index, integer] of integers.entries()) bytes.writeInt32BE(integer, 4 * index);
  return pack(bytes);
}

/** See fillWords in src/wire/token-tables.ts. */
export function packWords(words: readonly Word[]): string {
  const bytes: number[] = [];
  let previous = '';
  for (const { letters, forms, more, leads } of words) {
    let shared = 0;
    while (shared < previous.length && previous[shared] === letters[shared]) shared++;
    const others = Array.from(letters.slice(shared), (letter) => letter.charCodeAt(0) & 31);
    bytes.push(shared | (more << ABOVE_SHARED_SHIFT), ...others, forms | ABOVE_LETTERS, leads);
    previous = letters;
  }
  return pack(Uint8Array.from(bytes));
}

/** The keys of runs: six bits for each sign. */
export function packSigns(runs: readonly string[]): string {
  const codes = runs.map((run) => Array.from(run, (sign) => SIGN_CODES[sign.charCodeAt(0)] as number));
  return packIntegers(codes.map((each) => each.reduce((key, code) => (key << 6) | code, 0)));
}

export function packWeights(weights: Int32Array): string {
  return pack(Uint8Array.from(weights));
}

const BYTES = 256;

/** Merges of the tokens below a rank, each as two tokens of 16 bits. Tokens are renumbered: bytes by their values, then the others. */
export function packMerges(vocabulary: Vocabulary, ranks: number): string {
  const numbers = new Map<number, number>();
  const merges: number[] = [];
  for (let rank = 0; rank < ranks; rank++) {
    const bytes = vocabulary.tokens[rank] as string;
    if (bytes.length === 1) numbers.set(rank, bytes.charCodeAt(0));
    const parts = vocabulary.partsOf(rank)?.map((part) => numbers.get(part));
    if (parts === undefined) continue;
    const [left, right] = parts;
    if (left === undefined || right === undefined) throw new Error(`token ${rank} is made of tokens that come later`);
    numbers.set(rank, BYTES + merges.length);
    merges.push((left << 16) | right);
  }
  return packIntegers(merges);
}
