/** Counts the input of a request for a client that asks for nothing else. */
import type { InputTerms } from '../core/model-terms.ts';
import type { ModelRequest } from '../dialects/dialect.ts';
import { readInput, tokensAt } from '../dialects/input.ts';
import { TextSample } from '../wire/text-sample.ts';
import type { TokenCounter } from './counter.ts';
import { countSample } from './usage.ts';

/**
 * Of longer input, so many characters are looked at, in pieces from all over it: to weigh more costs
 * a tenth of a second for each million. Nobody is charged by the figure.
 */
const MAX_SAMPLED_CHARACTERS = 1024 * 1024;
/** Long enough that cuts within words hardly count, and short enough that there are many. */
const PIECE_CHARACTERS = 4 * 1024;

/** The input tokens. Where the tokenizer has other work, the estimate of what was sampled stands. */
export async function countInput(counter: TokenCounter, request: ModelRequest, terms: InputTerms): Promise<number> {
  const { texts, ...others } = readInput(request);
  const { sample, factor } = sampleOf(texts);
  const tokens = (await countSample(counter, sample, 'courtesy')) ?? sample.tokens;
  return tokensAt({ ...others, textTokens: Math.ceil(tokens * factor) }, terms);
}

/** A sample of texts, and how often it is contained in them. */
function sampleOf(texts: readonly string[]): { readonly sample: TextSample; readonly factor: number } {
  const sample = new TextSample();
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  if (characters <= MAX_SAMPLED_CHARACTERS) {
    for (const text of texts) sample.add(text);
    return { sample, factor: 1 };
  }
  const stride = characters / (MAX_SAMPLED_CHARACTERS / PIECE_CHARACTERS);
  let sampled = 0;
  for (const piece of piecesOf(texts, stride)) {
    sample.add(piece);
    sampled += piece.length;
  }
  return { sample, factor: characters / sampled };
}

/** Of every `stride` characters of the texts together, a piece from a random place. It may lie in several texts. */
function* piecesOf(texts: readonly string[], stride: number): Generator<string> {
  let stretch = 0;
  let from = Math.floor(Math.random() * (stride - PIECE_CHARACTERS));
  let start = 0;
  for (const text of texts) {
    const end = start + text.length;
    while (from < end) {
      yield text.slice(Math.max(0, from - start), from + PIECE_CHARACTERS - start);
      if (from + PIECE_CHARACTERS > end) break;
      from = Math.floor(++stretch * stride + Math.random() * (stride - PIECE_CHARACTERS));
    }
    start = end;
  }
}
