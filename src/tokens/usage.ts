/** Counts usage that an upstream did not report, or reported only in part. */
import { NO_PARTS, type TokenUsage } from '../core/usage.ts';
import type { InputSample } from '../dialects/input.ts';
import type { TextSample } from '../wire/text-sample.ts';
import type { Purpose, TokenCounter } from './counter.ts';

/**
 * Counts input and output, with at least one output token unless the estimate is zero. If a count fails, the estimate is used.
 * The tokens of audio and images come from the estimate.
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

/** Returns the token count of a sampled text; undefined if it was not counted in time. */
export async function countSample(
  counter: TokenCounter,
  text: TextSample,
  purpose?: Purpose,
): Promise<number | undefined> {
  const { texts, factors } = text.sample();
  const tokens = texts.length === 0 ? 0 : await counter.count(texts, factors, purpose);
  return tokens === undefined ? undefined : text.tokensOfWhole(tokens);
}
