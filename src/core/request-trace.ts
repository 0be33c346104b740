/**
 * What a request tells its trace. Whoever serves requests knows only this: what is behind it, in
 * `tracing/`, is loaded if traces are configured. Times are taken when these methods are called.
 */
import type { DialectName } from './dialects.ts';
import type { Nanos } from './money.ts';
import type { Outcome } from './settlement.ts';
import type { TokenUsage, UsageSource } from './usage.ts';

export interface RequestTrace {
  /** The ledger is asked for a lease. `user`: the end user that the request is for; empty for none. */
  askAdmission(asked: AskedLease, user: string): void;
  /** Its answer. The last one counts. */
  answerAdmission(verdict: AdmissionVerdict): void;
  /** An upstream is asked. */
  attempt(facts: AttemptFacts): AttemptTrace;
  /** What an admitted request was settled with. */
  settle(end: SettledEnd): void;
}

/** What admission is asked for. */
export interface AskedLease {
  readonly reservedTokens: number;
  readonly holdNanos: Nanos;
}

/** What the ledger says to a request. */
export interface AdmissionVerdict {
  /** `admitted`, or why not. */
  readonly verdict: string;
  /** The groups that it is booked to, from inside out. */
  readonly groups?: readonly string[] | undefined;
  /** Whose limit or state refuses it; undefined for the key itself. Of an end user: whose they are. */
  readonly level?: { readonly kind: string; readonly name: string } | undefined;
}

/** A request as it is sent to an upstream. */
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
  /** The headers that tell the upstream of the trace. */
  readonly headers: Readonly<Record<string, string>>;
  /** The headers of the answer have arrived. */
  receiveHead(status: number): void;
  /** The attempt is over. */
  end(end: AttemptEnd): void;
}

/** How an attempt has ended. */
export interface AttemptEnd {
  /** What went wrong, where the upstream is to blame. */
  readonly cause: string | undefined;
  /** How the request ends by this attempt; undefined if another one follows. */
  readonly outcome: Outcome | undefined;
  /** From the start of the attempt to the first byte of the answer, in whole milliseconds. */
  readonly firstByteMs: number | undefined;
  /** The upstream's id of the completion. */
  readonly completionId: string | undefined;
  /** The model that the upstream says it used. */
  readonly model: string | undefined;
}

/** The end of an admitted request, as far as a trace shows it. */
export interface SettledEnd {
  readonly outcome: Outcome;
  readonly usage: TokenUsage;
  readonly source: UsageSource;
  readonly costNanos: Nanos;
}
