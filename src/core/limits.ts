/** The limits of a key: their names, their maximums, and the figures in the rate-limit headers. */

/** Requests and tokens per minute, requests in flight, and model listings per minute. */
export interface Limits {
  readonly rpm: number;
  readonly tpm: number;
  readonly concurrency: number;
  readonly modelsRpm: number;
}

/** The highest `rpm` and `modelsRpm` that can be set. */
export const MAX_RPM = 1_000_000_000;
/** The highest `tpm` that can be set. A request that declares that many output tokens exceeds every limit. */
export const MAX_TPM = 1_000_000_000_000;
/** The highest `concurrency` that can be set. */
export const MAX_CONCURRENCY = 1_000_000_000;

/** The remaining quota of a key for the six rate-limit headers. All are integers. */
export interface RateFigures {
  readonly limitRequests: number;
  readonly remainingRequests: number;
  readonly resetRequestsS: number;
  readonly limitTokens: number;
  readonly remainingTokens: number;
  readonly resetTokensS: number;
}
