/** Counts the input of a token-count request. */
import type { InputTerms } from '../core/model-terms.ts';
import type { ModelRequest } from '../dialects/dialect.ts';
import { readInput, tokensAt } from '../dialects/input.ts';
import { TextSample } from '../wire/text-sample.ts';
import type { TokenCounter } from './counter.ts';
import { countSample } from './usage.ts';

/**
 * Longer input is sampled: this many characters, in pieces from all over the input. Weighing text takes a tenth of a second per
 * million characters, and the result is not used for charges.
 */
const MAX_SAMPLED_CHARACTERS = 1024 * 1024;
/** Long enough that cuts within words hardly matter, and short enough for many pieces. */
const PIECE_CHARACTERS = 4 * 1024;

/** Returns the number of input tokens. While the tokenizer is busy, the result is the estimate of the sample. */
export async function countInput(counter: TokenCounter, request: ModelRequest, terms: InputTerms): Promise<number> {
  const { texts, ...others } = readInput(request);
  const { sample, factor } = sampleOf(texts);
  const tokens = (await countSample(counter, sample, 'courtesy')) ?? sample.tokens;
  return tokensAt({ ...others, textTokens: Math.ceil(tokens * factor) }, terms);
}

/** Returns a sample of the texts, and the ratio of their length to the sample's. */
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

/**
 * Yields a piece at a random offset from every `stride` characters of the concatenated texts. A piece that spans several texts is
 * yielded in parts.
 */
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
