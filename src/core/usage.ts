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

/** Parts of a request's tokens. `promptTokens` includes the first two, `completionTokens` the last. */
export interface UsageParts {
  readonly cacheWriteTokens: number;
  readonly audioInputTokens: number;
  readonly audioOutputTokens: number;
}

export const NO_USAGE: TokenUsage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };

/**
 * The source of a figure: the upstream, the gateway's own count, or a hold that a crash left open.
 */
export type UsageSource = 'reported' | 'counted' | 'held';

/**
 * A reported count above this is ignored: no model takes or gives that many tokens in one request.
 */
export const MAX_REPORTED_TOKENS = 1_000_000_000;
