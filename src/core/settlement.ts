/** The end of an admitted request: its outcome, who served it, and what it is charged. */
import type { ErrorCode } from './errors.ts';
import type { Failure } from './failure.ts';
import type { Nanos } from './money.ts';
import type { SpentBy } from './spent-by.ts';
import type { TokenUsage, UsageSource } from './usage.ts';

/** `cancelled`: the client hung up. `interrupted`: the process ended before the request did. */
export type Outcome = 'ok' | 'cancelled' | 'interrupted' | ErrorCode;

/** The outcomes that usage does not count as errors. A client that hangs up is no error. */
export const NON_ERROR_OUTCOMES: readonly Outcome[] = ['ok', 'cancelled'];

export function isErrorOutcome(outcome: Outcome): boolean {
  return !NON_ERROR_OUTCOMES.includes(outcome);
}

/** Who served a request. */
export interface Served {
  /** `<provider>/<model>`: the model that the client named, or a fallback. */
  readonly model: string;
  /** The last upstream that was tried, by its name in the logs: `<provider>`, or `<provider>#2`. */
  readonly upstream: string;
  /** The number of attempts, over all upstreams. */
  readonly attempts: number;
}

/** What ends an admitted request. There is one for each. */
export interface Settlement {
  readonly requestId: string;
  readonly outcome: Outcome;
  readonly usage: TokenUsage;
  readonly source: UsageSource;
  readonly costNanos: Nanos;
  /** Which price it was charged by, as `catalog/price-text.ts` writes it; undefined for that of its hold. */
  readonly price?: string | undefined;
  /** The upstream's id of the completion, which clients quote. */
  readonly completionId: string | undefined;
  /** From dispatch to the first byte of the upstream's answer, in whole milliseconds. */
  readonly firstByteMs: number | undefined;
  /** Undefined if no upstream was tried, or it is not known which. */
  readonly served?: Served | undefined;
  /** Why it failed, or what cut its answer. Undefined if neither, or if the outcome is explanation enough. */
  readonly failure?: Failure | undefined;
  /** Who it was for. Undefined if its client did not say, or the process ended before the request. */
  readonly spentBy?: SpentBy | undefined;
}

/** A refused request of a valid key. */
export interface CountedRefusal {
  readonly keyId: string;
  readonly code: ErrorCode;
  /** The reason, if the code has several. */
  readonly reason: string;
}
