/** Fits the weights of letters: as small as they can be where text is common, and enough for every word there can be. */
import { CELLS, cellsOf, UNIT } from './cells.ts';
import { type Found, WordSearch } from './search.ts';
import type { Vocabulary } from './vocabulary.ts';

/** The part of its tokens that every word weighs at least: the search proves it. The promise is 0.9; the rest is a margin. */
const PROVED = 0.92;
/** The part to which words that weigh less are raised: with a step between the two, few passes do. */
const AIM = 0.95;
/** A letter is never more than a token, so no cell has to weigh more. */
const MOST = UNIT;
const MOST_PASSES = 400;

/** How often each cell occurs in unknown words. */
type CellShares = Float64Array;

/** The weight of every cell, in units. */
export function fitWeights(vocabulary: Vocabulary, shares: CellShares, log: (line: string) => void): Int32Array {
  const weights = Int32Array.from(shares, (share) => (share < RARE ? MOST : START));
  // Short tokens are what makes a word heavy. With them alone a pass takes a fifth of the time, and little is left to do.
  for (const mostLetters of [3, 4, Infinity]) {
    const search = new WordSearch(vocabulary, PROVED * UNIT, UNIT, mostLetters);
    for (let pass = 1; ; pass++) {
      const found = search.find(weights);
      log(
        `tokens up to ${mostLetters}, pass ${pass}: ${found.length} words weigh too little; the worst: ${JSON.stringify(found[0] ?? null)}`,
      );
      if (found.length === 0) break;
      if (pass === MOST_PASSES) throw new Error(`the weights do not reach all words after ${MOST_PASSES} passes`);
      raise(weights, shares, found);
      if (found.length < FEW) lift(weights);
    }
  }
  return weights;
}

const START = 20;
/** Share at which a cell counts as common. */
const FLAT = 3e-8;
/** A cell of a smaller share starts at the most it can weigh: it hardly counts in any text. */
const RARE = 1e-6;
const WORDS_PER_PASS = 30_000;
/** Below so many words each pass would find others that are much like the last: all cells are raised instead. */
const FEW = 300;

/** Raises every cell by a unit: two units or so for a token, 4% of it. */
function lift(weights: Int32Array): void {
  for (let cell = 0; cell < CELLS; cell++) weights[cell] = Math.min(MOST, (weights[cell] as number) + 1);
}

/** Raises the weights of the words found, above all of cells that many of them have and that text seldom has. */
function raise(weights: Int32Array, shares: CellShares, found: readonly Found[]): void {
  const words = found.slice(0, WORDS_PER_PASS).map(({ word, tokens }) => {
    const letters = /[A-Za-z]*$/.exec(word)?.[0] ?? '';
    const lead = letters.length === word.length || word.startsWith(' ') ? 0 : UNIT;
    return { cells: cellsOf(letters), price: AIM * UNIT * tokens - lead };
  });
  const uses = new Float64Array(CELLS);
  for (const { cells } of words) for (const cell of cells) uses[cell] = (uses[cell] as number) + 1;
  const ease = (cell: number): number => (uses[cell] as number) / ((shares[cell] as number) + FLAT);
  for (const { cells, price } of words) {
    let missing = price - cells.reduce((sum, cell) => sum + (weights[cell] as number), 0);
    while (missing > 1e-9) {
      let [best, bestEase] = [-1, -1];
      for (const cell of cells) {
        if ((weights[cell] as number) >= MOST || ease(cell) <= bestEase) continue;
        [best, bestEase] = [cell, ease(cell)];
      }
      // All of its letters are tokens of their own by now, which is more than any word can be.
      if (best < 0) break;
      const step = Math.min(Math.ceil(missing), MOST - (weights[best] as number), STEP);
      weights[best] = (weights[best] as number) + step;
      uses[best] = (uses[best] as number) * 0.7;
      missing -= step * cells.filter((cell) => cell === best).length;
    }
  }
}
const STEP = 1;
