/**
 * Counts the tokens of a piece by byte pair encoding with the first 65,531 of the 200,000 tokens of o200k_base. The
 * encoding merges the pair of the lowest rank first, and no merge creates a pair of a lower rank. So these are the first
 * merges of the encoding, in its order, and the count is never below the encoding's.
 */
import { packedMerges } from './token-merges.ts';
import { unpack } from './token-tables.ts';

/** Lower tokens are single bytes. The others are numbered by rank. */
const FIRST_MADE = 256;
const TOKENS = 1 << 16;
/** Twice as many as merges, so that a search takes 1.5 steps on average and 29 at most. */
const SLOTS = 1 << 17;
/** Maximum bytes per merge. Longer pieces are split, at a cost of a few tokens per split. */
const MOST_BYTES = 16_384;
/** Up to this length, searching for the lowest merge is faster than keeping merges in order. */
const SHORT_BYTES = 28;

let merger: Merger | undefined;

/** Counts the tokens of a piece of a text in UTF-8. The first call loads the merges, which takes 10 ms and 1.3 MB. */
export function countTokens(bytes: Uint8Array, start: number, end: number): number {
  merger ??= new Merger();
  let count = 0;
  for (let from = start; from < end; from += MOST_BYTES) {
    count += merger.count(bytes, from, Math.min(end - from, MOST_BYTES));
  }
  return count;
}

class Merger {
  /** A hash table of merges: two tokens as one number, and the token that they make, 0 where a slot is free. */
  readonly #pairs = new Int32Array(SLOTS);
  readonly #made = new Uint16Array(SLOTS);
  /**
   * The tokens of a piece, and the merge of each with the next one, or 0. In a long piece the index of a token is its first
   * byte.
   */
  readonly #tokens = new Uint16Array(MOST_BYTES);
  readonly #merges = new Uint16Array(MOST_BYTES);
  /** The neighbours of each token of a long piece. */
  readonly #nexts = new Uint16Array(MOST_BYTES);
  readonly #befores = new Uint16Array(MOST_BYTES + 1);
  /** By token: the last item in the list of indexes where a merge creates it, or 0. */
  readonly #lasts = new Uint16Array(TOKENS);
  /** Items of these lists: an index and the previous item, or 0. Each byte adds at most one item, and each merge two. */
  readonly #indexes = new Uint16Array(3 * MOST_BYTES + 1);
  readonly #earlier = new Uint16Array(3 * MOST_BYTES + 1);
  #items = 0;
  /** Bitmaps of tokens with a list: one bit per token, per 32 tokens and per 1,024 tokens. */
  readonly #listed = new Int32Array(TOKENS >> 5);
  readonly #by32 = new Int32Array(TOKENS >> 10);
  readonly #by1024 = new Int32Array(TOKENS >> 15);
  /** The indexes where merges create the current token. */
  readonly #batch = new Uint16Array(MOST_BYTES);

  constructor() {
    const packed = unpack(packedMerges());
    for (let at = 0; at < packed.length; at += 4) {
      const pair = packed.readInt32BE(at);
      let slot = slotOf(pair);
      while (this.#made[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
      this.#pairs[slot] = pair;
      this.#made[slot] = FIRST_MADE + at / 4;
    }
  }

  count(bytes: Uint8Array, start: number, length: number): number {
    for (let at = 0; at < length; at++) this.#tokens[at] = bytes[start + at] as number;
    return length <= SHORT_BYTES ? this.#countShort(length) : this.#countLong(length);
  }

  /** Returns the merge of two tokens, or 0. */
  #mergeOf(left: number, right: number): number {
    const pair = (left << 16) | right;
    let slot = slotOf(pair);
    for (;;) {
      const token = this.#made[slot] as number;
      if (token === 0 || this.#pairs[slot] === pair) return token;
      slot = (slot + 1) & (SLOTS - 1);
    }
  }

  /** Searches all pairs for each merge. */
  #countShort(length: number): number {
    const tokens = this.#tokens;
    const merges = this.#merges;
    let count = length;
    for (let at = 0; at + 1 < count; at++) merges[at] = this.#mergeOf(tokens[at] as number, tokens[at + 1] as number);
    for (;;) {
      let lowest = TOKENS;
      let at = 0;
      for (let each = 0; each + 1 < count; each++) {
        const token = merges[each] as number;
        if (token !== 0 && token < lowest) {
          lowest = token;
          at = each;
        }
      }
      if (lowest === TOKENS) return count;
      count--;
      for (let each = at + 1; each < count; each++) {
        tokens[each] = tokens[each + 1] as number;
        merges[each] = merges[each + 1] as number;
      }
      tokens[at] = lowest;
      if (at + 1 < count) merges[at] = this.#mergeOf(lowest, tokens[at + 1] as number);
      if (at > 0) merges[at - 1] = this.#mergeOf(tokens[at - 1] as number, lowest);
    }
  }

  /**
   * Lists the indexes where each token can be created. Tokens are created in ascending order; a merge only adds to lists of
   * higher tokens.
   */
  #countLong(length: number): number {
    let count = length;
    this.#items = 0;
    for (let at = 0; at < length; at++) {
      this.#nexts[at] = at + 1;
      this.#befores[at + 1] = at;
      this.#list(at, at + 1 < length ? this.#mergeOf(this.#tokens[at] as number, this.#tokens[at + 1] as number) : 0);
    }
    for (let token = this.#takeLowest(); token !== 0; token = this.#takeLowest()) {
      const size = this.#takeList(token);
      for (let index = 0; index < size; index++) {
        const at = this.#batch[index] as number;
        // An earlier merge of this batch may have used one of the two tokens.
        if (this.#merges[at] !== token) continue;
        this.#merge(at, token, length);
        count--;
      }
    }
    return count;
  }

  #merge(at: number, token: number, length: number): void {
    const next = this.#nexts[at] as number;
    const after = this.#nexts[next] as number;
    this.#tokens[at] = token;
    this.#merges[next] = 0;
    this.#nexts[at] = after;
    this.#befores[after] = at;
    this.#list(at, after < length ? this.#mergeOf(token, this.#tokens[after] as number) : 0);
    if (at === 0) return;
    const before = this.#befores[at] as number;
    this.#list(before, this.#mergeOf(this.#tokens[before] as number, token));
  }

  /** Records the merge of an index with the next one, or 0. Its stale items in other lists are skipped later. */
  #list(at: number, token: number): void {
    this.#merges[at] = token;
    if (token === 0) return;
    const item = ++this.#items;
    this.#indexes[item] = at;
    this.#earlier[item] = this.#lasts[token] as number;
    this.#lasts[token] = item;
    setBit(this.#listed, token);
    setBit(this.#by32, token >>> 5);
    setBit(this.#by1024, token >>> 10);
  }

  /** Returns the lowest token with a list and removes the list; 0 if all lists are empty. */
  #takeLowest(): number {
    const top = this.#by1024[0] === 0 ? 1 : 0;
    if (this.#by1024[top] === 0) return 0;
    const middle = (top << 5) | lowestBit(this.#by1024[top] as number);
    const bottom = (middle << 5) | lowestBit(this.#by32[middle] as number);
    const token = (bottom << 5) | lowestBit(this.#listed[bottom] as number);
    if (clearLowest(this.#listed, bottom) && clearLowest(this.#by32, middle)) clearLowest(this.#by1024, top);
    return token;
  }

  /** Moves the indexes that still create a token to the batch, and returns their number. */
  #takeList(token: number): number {
    let size = 0;
    for (let item = this.#lasts[token] as number; item !== 0; item = this.#earlier[item] as number) {
      const at = this.#indexes[item] as number;
      if (this.#merges[at] === token) this.#batch[size++] = at;
    }
    this.#lasts[token] = 0;
    // Pairs overlap only if both tokens are the same. The first one merges first.
    const first = this.#batch[0] as number;
    if (size > 1 && this.#tokens[first] === this.#tokens[this.#nexts[first] as number]) {
      this.#batch.subarray(0, size).sort();
    }
    return size;
  }
}

function slotOf(pair: number): number {
  return Math.imul(pair, 0x9e3779b1) >>> 15;
}

function setBit(bits: Int32Array, index: number): void {
  bits[index >>> 5] = (bits[index >>> 5] as number) | (1 << index);
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}

/** Clears the lowest bit of an integer, and returns whether the result is zero. */
function clearLowest(integers: Int32Array, index: number): boolean {
  const bits = integers[index] as number;
  integers[index] = bits & (bits - 1);
  return integers[index] === 0;
}
