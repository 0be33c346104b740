/** Measures how often letters follow each other in words of several tokens, in any language. */
import { CELLS, cellsOf } from './cells.ts';
import type { Vocabulary } from './vocabulary.ts';

const WORDS = 1_000_000;
/** By Zipf's law a token is as frequent as the inverse of its rank. Of the first ones, all are much the same. */
const FLAT_RANKS = 1_000;
/** The fraction of words with three tokens; the others have two. */
const LONG = 0.35;

/** Tokens with their frequencies, added up. */
interface Draw {
  readonly tokens: { readonly rank: number; readonly letters: string; readonly sum: number }[];
  total: number;
}

function drawOf(vocabulary: Vocabulary, pattern: RegExp): Draw {
  const draw: Draw = { tokens: [], total: 0 };
  vocabulary.tokens.forEach((token, rank) => {
    const letters = pattern.exec(token)?.[1];
    if (letters === undefined) return;
    draw.total += 1 / (rank + FLAT_RANKS);
    draw.tokens.push({ rank, letters, sum: draw.total });
  });
  return draw;
}

/** Returns the share of words that have each cell. A word is drawn at random: a token after a space, then one or two others. */
export function cellShares(vocabulary: Vocabulary): Float64Array {
  const [starts, others] = [drawOf(vocabulary, /^ ([A-Za-z]?[a-z]+)$/), drawOf(vocabulary, /^([a-z]+)$/)];
  const random = randomOf(1);
  const pick = ({ tokens, total }: Draw) => tokens[indexOf(tokens, random() * total)] as Draw['tokens'][number];
  const shares = new Float64Array(CELLS);
  for (let words = 0; words < WORDS; ) {
    const parts = [pick(starts), pick(others)];
    if (random() < LONG) parts.push(pick(others));
    if (
      !parts.every(
        ({ rank }, i) => i === 0 || vocabulary.mayFollow((parts[i - 1] as (typeof parts)[number]).rank, rank),
      )
    )
      continue;
    words++;
    for (const cell of cellsOf(parts.map(({ letters }) => letters).join('')))
      shares[cell] = (shares[cell] as number) + 1 / WORDS;
  }
  return shares;
}

function indexOf(tokens: Draw['tokens'], sum: number): number {
  let [low, high] = [0, tokens.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((tokens[middle] as Draw['tokens'][number]).sum < sum) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Numbers below 1, the same ones with each run. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
