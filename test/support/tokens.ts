/**
 * Tokens as the gateway should count them if no usage is reported, and their cost with the model of
 * the tests.
 */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

/** The tokens that the format adds to a message. */
const TOKENS_PER_MESSAGE = 3;

/** The tokens of a request with one message. */
export function inputTokens(text = 'Hello!'): number {
  return countTokens(text) + TOKENS_PER_MESSAGE;
}

/** The tokens of an answer: each text is counted by itself, as at least one. */
export function outputTokens(...texts: readonly string[]): number {
  return Math.max(
    1,
    texts.reduce((sum, text) => sum + countTokens(text), 0),
  );
}

/** The cost in nanodollars: 1,000 for an input token, 2,000 for an output token. */
export function costOfCounted(input: number, output: number): number {
  return 1_000 * input + 2_000 * output;
}
