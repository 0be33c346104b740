/** Counts the usage that an upstream did not report, or only in part. */
import { NO_PARTS, type TokenUsage } from '../core/usage.ts';
import type { InputSample } from '../dialects/input.ts';
import type { TextSample } from '../wire/text-sample.ts';
import type { Purpose, TokenCounter } from './counter.ts';

/**
 * Counts input and output: at least one token of output, unless the estimate has none. What cannot be
 * counted stays as estimated. Audio and images are in the estimate.
 */
export async function countUsage(
  counter: TokenCounter,
  estimate: TokenUsage,
  input: InputSample,
  written: TextSample,
): Promise<TokenUsage> {
  const { parts } = estimate;
  const { audioOutputTokens, imageOutputTokens } = parts ?? NO_PARTS;
  const [inputTokens, outputTokens] = await Promise.all([
    countSample(counter, input.text),
    countSample(counter, written),
  ]);
  const leastOutput = Math.min(1, estimate.completionTokens);
  return {
    promptTokens: inputTokens === undefined ? estimate.promptTokens : inputTokens + input.extraTokens,
    cachedTokens: 0,
    ...(parts && { parts }),
    completionTokens:
      outputTokens === undefined
        ? estimate.completionTokens
        : Math.max(leastOutput, outputTokens + audioOutputTokens + imageOutputTokens),
  };
}

/** The tokens of a text of which there is a sample; undefined if they were not counted in time. */
export async function countSample(
  counter: TokenCounter,
  text: TextSample,
  purpose?: Purpose,
): Promise<number | undefined> {
  const { texts, factors } = text.sample();
  const tokens = texts.length === 0 ? 0 : await counter.count(texts, factors, purpose);
  return tokens === undefined ? undefined : text.tokensOfWhole(tokens);
}
