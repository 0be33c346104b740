/** What hosts read of a conversation that they summarize before they go on. */
import type { ModelRequest } from '../dialects/dialect.ts';

/** An estimate may be this much below the real count. */
const LEAST_ESTIMATE = 0.9;

/** The input tokens that a host may bill for so many of input and output: twice those of the input if it may summarize them first. */
export function readTokens({ summarizesAbove }: ModelRequest, inputTokens: number, outputTokens: number): number {
  const isSummarized = summarizesAbove !== undefined && inputTokens + outputTokens >= LEAST_ESTIMATE * summarizesAbove;
  return isSummarized ? 2 * inputTokens : inputTokens;
}
