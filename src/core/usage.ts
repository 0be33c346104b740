/** How many tokens a request used, and where that figure comes from. */

/** Token counts of one request: non-negative integers. `promptTokens` includes `cachedTokens`. */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** All tokens billed as output, reasoning included. */
  readonly completionTokens: number;
  /** The tokens among them with separate prices; undefined if the host reported no such parts. */
  readonly parts?: UsageParts | undefined;
}

/** Parts of `promptTokens` and `completionTokens`, and other billed quantities. */
export interface UsageParts {
  /** Input that was written to the prompt cache for five minutes, or for the host's default lifetime. */
  readonly cacheWriteTokens: number;
  /** Input that was written to the prompt cache for an hour. */
  readonly cacheWrite1hTokens: number;
  /** Audio and images among the uncached input tokens. */
  readonly audioInputTokens: number;
  readonly imageInputTokens: number;
  /** Audio and images among the cached tokens. */
  readonly cachedAudioTokens: number;
  readonly cachedImageTokens: number;
  readonly audioOutputTokens: number;
  readonly imageOutputTokens: number;
  /** Calls of host-executed tools as counted by the host, by name. */
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

/** The input tokens written to a prompt cache. */
export function cacheWritesOf({ parts = NO_PARTS }: Pick<TokenUsage, 'parts'>): number {
  return parts.cacheWriteTokens + parts.cacheWrite1hTokens;
}

export const NO_USAGE: TokenUsage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };

/** The source of a figure: the upstream, the gateway's own count, or the hold of a request whose end was not seen. */
export type UsageSource = 'reported' | 'counted' | 'held';

/** Reported counts above this are ignored: no model processes that many tokens in one request. */
export const MAX_REPORTED_TOKENS = 1_000_000_000;
