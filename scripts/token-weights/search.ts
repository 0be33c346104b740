/** Finds the words that have the most tokens for their weight, among all words there can be. */
import { cellOf, cellsOf, isUpper, LOWER_CELLS, letterOf } from './cells.ts';
import type { Vocabulary } from './vocabulary.ts';

/** A token of a word: at most one sign before it, then upper-case letters, then lower-case ones. */
const WORD_TOKEN = /^([^A-Za-z0-9\r\n\x80-\xff]?)([A-Z]*)([a-z]*)$/;
/** A word so found: its letters with the sign before them, and its tokens. */
export interface Found {
  readonly word: string;
  readonly tokens: number;
}

/** Words are paths from token to token. A state is a token, and for one of a single letter the letter before it. */
interface Part {
  readonly rank: number;
  readonly letters: string;
  /** Whether a sign comes first: such a token only starts words. */
  readonly lead: string;
  readonly state: number;
  /** Cells that do not depend on what goes before. */
  readonly inner: Int32Array;
}

const LETTERS = 27;
/** A path of so many tokens is as long as any that is looked for; shorter ones end when no path gets lighter. */
const MOST_TOKENS = 40;

export class WordSearch {
  readonly #vocabulary: Vocabulary;
  readonly #parts: Part[] = [];
  readonly #states: number;
  readonly #partOf: Int32Array;
  /** Price in units of each token that the weights have to reach. */
  readonly #price: number;
  readonly #leadWeight: number;

  constructor(vocabulary: Vocabulary, price: number, leadWeight: number, mostLetters = Infinity) {
    this.#vocabulary = vocabulary;
    this.#price = price;
    this.#leadWeight = leadWeight;
    let states = 0;
    vocabulary.tokens.forEach((bytes, rank) => {
      const match = WORD_TOKEN.exec(bytes);
      if (match === null || !vocabulary.isMade(rank)) return;
      const letters = bytes.slice((match[1] as string).length);
      if (letters.length > mostLetters) return;
      const inner = Int32Array.from(cellsOf(letters).slice(2));
      this.#parts.push({ rank, letters, lead: match[1] as string, state: states, inner });
      states += letters.length === 1 ? LETTERS : 1;
    });
    this.#states = states;
    this.#partOf = new Int32Array(states);
    this.#parts.forEach((part, i) => {
      this.#partOf.fill(i, part.state, part.state + (part.letters.length === 1 ? LETTERS : 1));
    });
  }

  /** The lightest word that ends in each state, of those below the price of their tokens. Empty proves there is none. */
  find(weights: Int32Array): Found[] {
    const rounds: Float64Array[] = [];
    const parents: Int32Array[] = [];
    const best = new Float64Array(this.#states).fill(Infinity);
    const innerSums = this.#parts.map((part) => part.inner.reduce((sum, cell) => sum + (weights[cell] as number), 0));
    let current = this.#startStates(weights, innerSums);
    let foundAt = -1;
    for (let round = 0; round < MOST_TOKENS; round++) {
      let isBetter = false;
      for (let s = 0; s < this.#states; s++) {
        if ((current.values[s] as number) < (best[s] as number) - 1e-9) {
          best[s] = current.values[s] as number;
          isBetter = true;
        } else current.values[s] = Infinity;
      }
      if (!isBetter) break;
      rounds.push(current.values);
      parents.push(current.parents);
      if (
        foundAt < 0 &&
        best.some((value, s) => value < -1e-9 && (this.#parts[this.#partOf[s] as number] as Part).letters !== '')
      )
        foundAt = round;
      if (foundAt >= 0 && round > foundAt) break;
      current = this.#step(current.values, weights, innerSums);
    }
    return this.#collect(rounds, parents);
  }

  #startStates(weights: Int32Array, innerSums: number[]): { values: Float64Array; parents: Int32Array } {
    const values = new Float64Array(this.#states).fill(Infinity);
    const parents = new Int32Array(this.#states).fill(-1);
    this.#parts.forEach((part, i) => {
      const lead = part.lead === '' || part.lead === ' ' ? 0 : this.#leadWeight;
      values[part.state] =
        lead + this.#seam(part.letters, 0, 0, false, false, weights) + (innerSums[i] as number) - this.#price;
    });
    return { values, parents };
  }

  /** Weight of the first two letters of a token, which depends on those before it. */
  #seam(letters: string, x: number, y: number, hasUpper: boolean, hasLower: boolean, weights: Int32Array): number {
    if (letters === '') return 0;
    const a = letters.charCodeAt(0);
    const first = weights[cellOf(x, y, a, hasUpper, hasLower)] as number;
    if (letters.length === 1) return first;
    const upper = hasUpper || isUpper(a);
    const lower = hasLower || !isUpper(a);
    const cell = cellOf(y, letterOf(a), letters.charCodeAt(1), upper, lower);
    // The third letter is among the inner ones: it sees two letters of the token itself.
    return first + (weights[cell] as number);
  }

  /** States to go on from, by their last letter and phase, the lightest first. */
  #groups(values: Float64Array): Map<number, number[]> {
    const groups = new Map<number, number[]>();
    for (let s = 0; s < this.#states; s++) {
      if (values[s] === Infinity) continue;
      const part = this.#parts[this.#partOf[s] as number] as Part;
      const last = part.letters.charCodeAt(part.letters.length - 1);
      const key = part.letters === '' ? 0 : letterOf(last) * 2 + (isUpper(last) ? 1 : 0);
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [s]);
      else group.push(s);
    }
    for (const group of groups.values()) group.sort((a, b) => (values[a] as number) - (values[b] as number));
    return groups;
  }

  /** The two letters at the end of a state, and what its piece has had. */
  #contextOf(s: number): { x: number; y: number; hasUpper: boolean; hasLower: boolean } {
    const part = this.#parts[this.#partOf[s] as number] as Part;
    const { letters } = part;
    if (letters === '') return { x: 0, y: 0, hasUpper: false, hasLower: false };
    const last = letters.charCodeAt(letters.length - 1);
    const x = letters.length > 1 ? letterOf(letters.charCodeAt(letters.length - 2)) : s - part.state;
    return { x, y: letterOf(last), hasUpper: isUpper(last), hasLower: !isUpper(last) };
  }

  #step(from: Float64Array, weights: Int32Array, innerSums: number[]): { values: Float64Array; parents: Int32Array } {
    const values = new Float64Array(this.#states).fill(Infinity);
    const parents = new Int32Array(this.#states).fill(-1);
    const least = leastLower(weights);
    const groups = [...this.#groups(from)].map(([key, states]) => ({
      key,
      states,
      contexts: states.map((s) => this.#contextOf(s)),
    }));
    const order = this.#parts
      .map((_, i) => i)
      .filter((i) => (this.#parts[i] as Part).lead === '' && (this.#parts[i] as Part).letters !== '');
    for (const i of order) {
      const part = this.#parts[i] as Part;
      const startsUpper = isUpper(part.letters.charCodeAt(0));
      const isSingle = part.letters.length === 1;
      for (const { key, states, contexts } of groups) {
        if (startsUpper && key !== 0 && (key & 1) === 0) continue;
        const target = part.state + (isSingle ? key >> 1 : 0);
        const base = (innerSums[i] as number) - this.#price;
        const floor = base + this.#leastSeam(part.letters, key, weights, least);
        for (let k = 0; k < states.length; k++) {
          const s = states[k] as number;
          const value = from[s] as number;
          if (value + floor >= (values[target] as number)) break;
          const left = (this.#parts[this.#partOf[s] as number] as Part).rank;
          if (!this.#vocabulary.mayFollow(left, part.rank)) continue;
          const { x, y, hasUpper, hasLower } = contexts[k] as {
            x: number;
            y: number;
            hasUpper: boolean;
            hasLower: boolean;
          };
          const total = value + base + this.#seam(part.letters, x, y, hasUpper, hasLower, weights);
          if (total < (values[target] as number)) {
            values[target] = total;
            parents[target] = s;
          }
        }
      }
    }
    return { values, parents };
  }

  /** The least that the seam can weigh after a last letter, whatever the letter before that is. */
  #leastSeam(letters: string, key: number, weights: Int32Array, least: Int32Array): number {
    const y = key >> 1;
    const a = letters.charCodeAt(0);
    const hasUpper = (key & 1) === 1;
    const isFixed = isUpper(a) || hasUpper || key === 0;
    const first = (isFixed ? weights[cellOf(0, y, a, hasUpper, false)] : least[y * LETTERS + letterOf(a)]) as number;
    if (letters.length === 1) return first;
    const cell = cellOf(y, letterOf(a), letters.charCodeAt(1), hasUpper || isUpper(a), !isUpper(a));
    return first + (weights[cell] as number);
  }

  #collect(rounds: Float64Array[], parents: Int32Array[]): Found[] {
    const found: { word: string; tokens: number; value: number }[] = [];
    rounds.forEach((values, round) => {
      for (let s = 0; s < this.#states; s++) {
        const value = values[s] as number;
        if (value >= -1e-9 || (this.#parts[this.#partOf[s] as number] as Part).letters === '') continue;
        let word = '';
        for (let r = round, at = s; r >= 0; r--) {
          const part = this.#parts[this.#partOf[at] as number] as Part;
          word = part.lead + part.letters + word;
          at = (parents[r] as Int32Array)[at] as number;
        }
        found.push({ word, tokens: round + 1, value });
      }
    });
    return found.toSorted((a, b) => a.value - b.value);
  }
}

/** The least weight of a lower-case letter after another, whatever goes before both. */
function leastLower(weights: Int32Array): Int32Array {
  const least = new Int32Array(LETTERS * LETTERS).fill(0x7fffffff);
  for (let cell = 0; cell < LOWER_CELLS; cell++) {
    const pair = cell % (LETTERS * LETTERS);
    least[pair] = Math.min(least[pair] as number, weights[cell] as number);
  }
  return least;
}
