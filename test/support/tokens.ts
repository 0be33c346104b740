/** Tokens as the gateway should count them where no usage is reported, and what they cost with the model of the tests. */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

/** What the format adds to a message. */
const TOKENS_PER_MESSAGE = 3;

/** Tokens of a request with one message of that text. */
export function inputTokens(text = 'Hello'): number {
  return countTokens(text) + TOKENS_PER_MESSAGE;
}

/** Tokens of an answer: of each of its texts by itself, one at least. */
export function outputTokens(...texts: readonly string[]): number {
  return Math.max(
    1,
    texts.reduce((sum, text) => sum + countTokens(text), 0),
  );
}

/** Nanodollars at 1,000 a token of input and 2,000 a token of output. */
export function costOfCounted(input: number, output: number): number {
  return 1_000 * input + 2_000 * output;
}
