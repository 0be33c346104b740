/** The limits of a key: what they are, how large they can be set, and what the rate-limit headers show of them. */

/** Limits of a key: requests and tokens per minute, requests in flight, model listings per minute. */
export interface Limits {
  readonly rpm: number;
  readonly tpm: number;
  readonly concurrency: number;
  readonly modelsRpm: number;
}

/** The highest `rpm` and `modelsRpm` that can be set. */
export const MAX_RPM = 1_000_000_000;
/** The highest `tpm` that can be set. A request that declares as many output tokens exceeds every limit. */
export const MAX_TPM = 1_000_000_000_000;
/** The highest `concurrency` that can be set. */
export const MAX_CONCURRENCY = 1_000_000_000;

/** What is left of a key's windows, as the six rate-limit headers show it. Integers; `reset` in seconds. */
export interface RateFigures {
  readonly limitRequests: number;
  readonly remainingRequests: number;
  readonly resetRequestsS: number;
  readonly limitTokens: number;
  readonly remainingTokens: number;
  readonly resetTokensS: number;
}
