/** Settlements of admitted requests: outcome, model and upstream, and charge. */
import type { ErrorCode } from './errors.ts';
import type { Failure } from './failure.ts';
import type { Nanos } from './money.ts';
import type { SpentBy } from './spent-by.ts';
import type { TokenUsage, UsageSource } from './usage.ts';

/** `cancelled`: the client hung up. `interrupted`: the process ended before the request did. */
export type Outcome = 'ok' | 'cancelled' | 'interrupted' | ErrorCode;

/** Outcomes that usage reports do not count as errors. A disconnect by the client is no error. */
export const NON_ERROR_OUTCOMES: readonly Outcome[] = ['ok', 'cancelled'];

export function isErrorOutcome(outcome: Outcome): boolean {
  return !NON_ERROR_OUTCOMES.includes(outcome);
}

/** The model and upstream that served a request. */
export interface Served {
  /** `<provider>/<model>`: the model that the client named, or a fallback. */
  readonly model: string;
  /** The last upstream that was tried, by its name in the logs: `<provider>`, or `<provider>#2`. */
  readonly upstream: string;
  /** The number of attempts, over all upstreams. */
  readonly attempts: number;
}

/** The settlement of an admitted request. Each request has exactly one. */
export interface Settlement {
  readonly requestId: string;
  readonly outcome: Outcome;
  readonly usage: TokenUsage;
  readonly source: UsageSource;
  readonly costNanos: Nanos;
  /** The charged price, as written by `catalog/price-text.ts`; undefined for the price of the hold. */
  readonly price?: string | undefined;
  /** The upstream's id of the completion, which clients quote. */
  readonly completionId: string | undefined;
  /** From dispatch to the first byte of the upstream's answer, in whole milliseconds. */
  readonly firstByteMs: number | undefined;
  /** Undefined if no upstream was tried, or it is unknown. */
  readonly served?: Served | undefined;
  /** The cause of a failure or of a cut answer. Undefined without one, or if the outcome alone explains it. */
  readonly failure?: Failure | undefined;
  /** The user, tag and app of the request. Undefined if the client sent none, or the process ended first. */
  readonly spentBy?: SpentBy | undefined;
}

/** A refused request of a valid key. */
export interface CountedRefusal {
  readonly keyId: string;
  readonly code: ErrorCode;
  /** The reason, if the code has several. */
  readonly reason: string;
}
