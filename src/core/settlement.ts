/** How an admitted request ends: its outcome, who served it, and what it is charged. */
import type { ErrorCode } from './errors.ts';
import type { Nanos } from './money.ts';
import type { TokenUsage, UsageSource } from './usage.ts';

/** `cancelled`: the client left. `interrupted`: the process ended first. */
export type Outcome = 'ok' | 'cancelled' | 'interrupted' | ErrorCode;

/** The outcomes that usage figures do not count as errors. A client that leaves is no error. */
export const NON_ERROR_OUTCOMES: readonly Outcome[] = ['ok', 'cancelled'];

export function isErrorOutcome(outcome: Outcome): boolean {
  return !NON_ERROR_OUTCOMES.includes(outcome);
}

/** Who served a request. */
export interface Served {
  /** `<provider>/<model>`. Not the model the client named where a fallback served. */
  readonly model: string;
  /** The last upstream of that provider that was asked, by the operator's name for it. */
  readonly upstream: string;
  /** How many attempts it took, over all upstreams. */
  readonly attempts: number;
}

/** The one end of an admitted request. */
export interface Settlement {
  readonly requestId: string;
  readonly outcome: Outcome;
  readonly usage: TokenUsage;
  readonly source: UsageSource;
  readonly costNanos: Nanos;
  /** The upstream's id of the completion, which clients quote. */
  readonly completionId: string | undefined;
  /** From dispatch to the first byte of the upstream's answer, in whole milliseconds. */
  readonly firstByteMs: number | undefined;
  /** Undefined where no upstream was asked, or nobody knows which. */
  readonly served?: Served | undefined;
}

/** A request of a valid key that was refused. */
export interface CountedRefusal {
  readonly keyId: string;
  readonly code: ErrorCode;
  /** Which of the causes of that code it was. */
  readonly reason: string;
}
