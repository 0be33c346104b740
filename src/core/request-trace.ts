/**
 * The trace interface of a request. Request code depends only on this interface; its implementation in `tracing/` is loaded only
 * if traces are configured. The methods record the time at which they are called.
 */
import type { DialectName } from './dialects.ts';
import type { Nanos } from './money.ts';
import type { Outcome } from './settlement.ts';
import type { TokenUsage, UsageSource } from './usage.ts';

export interface RequestTrace {
  /** Records the start of admission. `user`: the end user of the request; empty if unknown. */
  askAdmission(asked: AskedLease, user: string): void;
  /** Records the result of admission. The last call takes effect. */
  answerAdmission(verdict: AdmissionVerdict): void;
  /** Records the start of an attempt. */
  attempt(facts: AttemptFacts): AttemptTrace;
  /** Records the settlement of an admitted request. */
  settle(end: SettledEnd): void;
}

/** The amounts requested from admission. */
export interface AskedLease {
  readonly reservedTokens: number;
  readonly holdNanos: Nanos;
}

/** The ledger's decision on a request. */
export interface AdmissionVerdict {
  /** `admitted`, or the reason for a refusal. */
  readonly verdict: string;
  /** The groups that the request is charged to, from inner to outer. */
  readonly groups?: readonly string[] | undefined;
  /** The level that refused the request; undefined for the key itself. For an end user: the level that the user belongs to. */
  readonly level?: { readonly kind: string; readonly name: string } | undefined;
}

/** A request to an upstream. */
export interface AttemptFacts {
  /** The name of the upstream. */
  readonly upstream: string;
  /** The upstream's own name of the model. */
  readonly model: string;
  readonly dialect: DialectName;
  readonly stream: boolean;
  readonly choices: number;
  /** The maximum of output tokens that the request declares. */
  readonly maxOutput: number | undefined;
}

export interface AttemptTrace {
  /** The trace headers for the upstream. */
  readonly headers: Readonly<Record<string, string>>;
  /** Records the arrival of the response headers. */
  receiveHead(status: number): void;
  /** Records the end of the attempt. */
  end(end: AttemptEnd): void;
}

/** The end of an attempt. */
export interface AttemptEnd {
  /** The cause of a failure by the upstream. */
  readonly cause: string | undefined;
  /** The outcome of the request; undefined if another attempt follows. */
  readonly outcome: Outcome | undefined;
  /** From the start of the attempt to the first byte of the answer, in whole milliseconds. */
  readonly firstByteMs: number | undefined;
  /** The upstream's id of the completion. */
  readonly completionId: string | undefined;
  /** The model reported by the upstream. */
  readonly model: string | undefined;
}

/** The end of an admitted request, as shown in a trace. */
export interface SettledEnd {
  readonly outcome: Outcome;
  readonly usage: TokenUsage;
  readonly source: UsageSource;
  readonly costNanos: Nanos;
}
