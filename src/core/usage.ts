/** How much of a model a request used, and how we know. */

/** Token counts of one request: non-negative integers. `cachedTokens` is a part of `promptTokens`. */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** What is billed as output, reasoning included. */
  readonly completionTokens: number;
}

export const NO_USAGE: TokenUsage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };

/** Where a figure comes from: the upstream, the gateway's own count, or the hold that a crash left behind. */
export type UsageSource = 'reported' | 'counted' | 'held';

/** Above this a reported count is no count: no model takes or gives as many tokens in one request. */
export const MAX_REPORTED_TOKENS = 1_000_000_000;
