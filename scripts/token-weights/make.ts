/** Makes the tables of the token estimate from the vocabulary of o200k_base. */
import { writeFileSync } from 'node:fs';
import { UNIT } from './cells.ts';
import { fitWeights } from './fit.ts';
import { packMerges, packSigns, packWeights, packWords } from './pack.ts';
import { cellShares } from './shares.ts';
import { Vocabulary } from './vocabulary.ts';
import { signsOf, wordsOf } from './words.ts';

/** With more, a number of 16 bits could not name each token. */
const MERGED_RANKS = 1 << 16;

function write(name: string, text: string): void {
  writeFileSync(new URL(`../../src/wire/${name}.ts`, import.meta.url), text);
}

const vocabulary = new Vocabulary();
write(
  'token-merges',
  `/**
 * The merges of o200k_base, made by npm run make:token-weights from its ranks in gpt-tokenizer 4.0.0: do not edit. They are the
 * text of a function, which V8 does not keep in the heap until it is called.
 */

/** The first merges by rank, each as two tokens of 16 bits, compressed with Brotli, in base64. */
export function packedMerges(): string {
  return '${packMerges(vocabulary, MERGED_RANKS)}';
}
`,
);
const words = wordsOf(vocabulary);
console.log(`${words.length} words`);
const weights = fitWeights(vocabulary, cellShares(vocabulary), (line) => console.log(line));
write(
  'token-weights',
  `/** Tables of the token estimate, made by npm run make:token-weights from the ranks of o200k_base in gpt-tokenizer 4.0.0: do not edit. */

/** Weights are whole numbers of this part of a token. */
export const UNIT = ${UNIT};

/** Words and runs of signs that are one token, and weights of letters by those before them. */
export function packedTables(): { readonly words: string; readonly signs: string; readonly letters: string } {
  return {
    words:
      '${packWords(words)}',
    signs:
      '${packSigns(signsOf(vocabulary))}',
    letters:
      '${packWeights(weights)}',
  };
}
`,
);
