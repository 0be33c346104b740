/** How many tokens a request used, and where that figure comes from. */

/** Token counts of one request: non-negative integers. `promptTokens` includes `cachedTokens`. */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** All tokens billed as output, reasoning included. */
  readonly completionTokens: number;
  /** The tokens among them that have prices of their own; undefined if none were reported. */
  readonly parts?: UsageParts | undefined;
}

/** Parts of a request's tokens, which `promptTokens` or `completionTokens` include, and what else is billed. */
export interface UsageParts {
  /** Input that was written to the prompt cache, for five minutes or as long as the host likes. */
  readonly cacheWriteTokens: number;
  /** Input that was written to the prompt cache for an hour. */
  readonly cacheWrite1hTokens: number;
  /** Audio and images among the input tokens that are not cached. */
  readonly audioInputTokens: number;
  readonly imageInputTokens: number;
  /** Audio and images among the cached tokens. */
  readonly cachedAudioTokens: number;
  readonly cachedImageTokens: number;
  readonly audioOutputTokens: number;
  readonly imageOutputTokens: number;
  /** Calls of the host's own tools that the host counts, by their names. */
  readonly toolCalls: Readonly<Record<string, number>>;
}

export const NO_PARTS: UsageParts = {
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  audioInputTokens: 0,
  imageInputTokens: 0,
  cachedAudioTokens: 0,
  cachedImageTokens: 0,
  audioOutputTokens: 0,
  imageOutputTokens: 0,
  toolCalls: {},
};

/** The input tokens that were written to a prompt cache. */
export function cacheWritesOf({ parts = NO_PARTS }: Pick<TokenUsage, 'parts'>): number {
  return parts.cacheWriteTokens + parts.cacheWrite1hTokens;
}

export const NO_USAGE: TokenUsage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };

/** The source of a figure: the upstream, the gateway's own count, or the hold of a request whose end was not seen. */
export type UsageSource = 'reported' | 'counted' | 'held';

/**
 * A reported count above this is ignored: no model takes or gives that many tokens in one request.
 */
export const MAX_REPORTED_TOKENS = 1_000_000_000;
