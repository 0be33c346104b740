/** The largest limits that can be set, in the config and for a key. */

/** Requests, and model listings, per minute. */
export const MAX_RPM = 1_000_000_000;
/** Tokens per minute. A request that declares as many output tokens is larger than any limit. */
export const MAX_TPM = 1_000_000_000_000;
/** Requests at once. */
export const MAX_CONCURRENCY = 1_000_000_000;
