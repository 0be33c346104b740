/** Makes src/wire/token-weights.ts from the vocabulary of o200k_base and texts of the installed packages. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CELLS, cellsOf, UNIT } from './cells.ts';
import { countPieces, sharesOf } from './corpus.ts';
import { fitWeights } from './fit.ts';
import { packCharacters, packSigns, packWeights, packWords } from './pack.ts';
import { Vocabulary } from './vocabulary.ts';
import { formOf, pickSigns, pickWords, type Word, wordOf } from './words.ts';

const WORDS = 12_000;
const SIGN_RUNS = 1_500;
const TARGET = fileURLToPath(new URL('../../src/wire/token-weights.ts', import.meta.url));

/** How often each cell is met in words that the table does not have. */
function cellShares(shares: ReadonlyMap<string, number>, words: readonly Word[]): Float64Array {
  const forms = new Map(words.map((word) => [word.letters, word.forms]));
  const cells = new Float64Array(CELLS);
  for (const [piece, share] of shares) {
    const found = wordOf(piece);
    if (found === undefined) continue;
    const form = formOf(found.lead, found.word);
    if (form !== undefined && ((forms.get(found.word.toLowerCase()) ?? 0) & form) !== 0) continue;
    for (const cell of cellsOf(found.word)) cells[cell] = (cells[cell] as number) + share;
  }
  return cells;
}

const vocabulary = new Vocabulary();
const shares = sharesOf(vocabulary, countPieces());
const words = pickWords(vocabulary, shares, WORDS);
const weights = fitWeights(vocabulary, cellShares(shares, words), (line) => console.log(line));

writeFileSync(
  TARGET,
  `/**
 * Tables of the token estimate, made by npm run make:token-weights from the ranks of o200k_base in gpt-tokenizer 4.0.0 and
 * texts of the packages that package-lock.json pins (scripts/token-weights/corpus.ts names them): do not edit.
 */

/** Weights are whole numbers of this part of a token. */
export const UNIT = ${UNIT};

/** The ${words.length} words that are one token and met most, and how they are written. */
export const WORDS =
  '${packWords(words)}';

/** Runs of signs that are one token. */
export const SIGNS = 
  '${packSigns(pickSigns(vocabulary, shares, SIGN_RUNS))}';

/** Weights of letters by those before them. */
export const LETTERS =
  '${packWeights(weights)}';

/** Tokens of each UTF-16 unit beyond ASCII. */
export const CHARACTERS =
  '${packCharacters(vocabulary)}';
`,
);
