/** Settings that more than one room acts on, by the names that the config gives them. */

/** How long an upstream may take, in milliseconds. */
export interface UpstreamTimeouts {
  readonly connectMs: number;
  /** Until the response headers. */
  readonly firstByteMs: number;
  /** Between any two bytes. */
  readonly idleMs: number;
}

/** All timeouts of the config, in milliseconds. */
export interface Timeouts extends UpstreamTimeouts {
  /** For a client to send its headers, and between two pieces of its body. */
  readonly requestMs: number;
  /** For requests in flight to finish at shutdown. */
  readonly drainMs: number;
}

/** When a request may be tried again. */
export interface RetryPolicy {
  /** How many attempts one request may take in all. */
  readonly attempts: number;
  /** Retries as a share of the requests: 0.2 is one for five. 0 forbids them. */
  readonly budget: number;
}

/** What a commit survives: `full` a power cut, `crash` only the end of the process. */
export type Durability = 'full' | 'crash';
