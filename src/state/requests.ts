/** Single requests: as operators read them, in flight or ended, and as they correct them. */
import type { Failure, FailureReason } from '../core/failure.ts';
import type { Nanos } from '../core/money.ts';
import type { Outcome } from '../core/settlement.ts';
import type { SpentBy } from '../core/spent-by.ts';
import type { UsageSource } from '../core/usage.ts';

/** A request that was admitted. */
export interface RequestRecord {
  readonly id: string;
  readonly keyId: string;
  /** The name of its key. */
  readonly key: string;
  /** The model that served it; while it is in flight, the model that was requested. */
  readonly model: string;
  readonly requestedModel: string;
  readonly admittedAtMs: number;
  readonly holdNanos: Nanos;
  /** What it is booked to besides its key: the ids of levels, from inside out. */
  readonly levels?: readonly string[];
  /** Which price it is held or was charged by. */
  readonly price?: string | undefined;
  /** The gateway that admitted it, among those that share a state. Absent where that is not known. */
  readonly node?: string;
  /** Undefined while it is in flight. */
  readonly end: RequestEnd | undefined;
}

/** How a request ended, and what it was charged. */
export interface RequestEnd {
  readonly settledAtMs: number;
  readonly outcome: Outcome;
  readonly source: UsageSource;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** Input that was written to a prompt cache. */
  readonly cacheWriteTokens: number;
  readonly completionTokens: number;
  readonly costNanos: Nanos;
  /** The upstream's id of the completion. */
  readonly completionId: string | undefined;
  /** From dispatch to the first byte of the upstream's response. */
  readonly firstByteMs: number | undefined;
  /** The provider's upstream that served. Undefined if none was asked. */
  readonly upstream: string | undefined;
  /** The number of attempts on all upstreams. Undefined when `upstream` is. */
  readonly attempts: number | undefined;
  /** Why it failed. Undefined if it did not. */
  readonly failure: Failure | undefined;
  /** Who it was for. Undefined if its client did not say. */
  readonly spentBy?: SpentBy | undefined;
  /** When an operator corrected the cost. */
  readonly correctedAtMs: number | undefined;
}

export interface RequestQuery {
  readonly keyId: string | undefined;
  /** Only what is booked to this group, and so to those in it. */
  readonly groupId?: string | undefined;
  /** Only of this end user, as reports name them. */
  readonly user?: string | undefined;
  /** Only of this model, as it served. */
  readonly model?: string | undefined;
  /** Inclusive, by time of admission. */
  readonly sinceMs: number | undefined;
  /** Exclusive. */
  readonly untilMs?: number | undefined;
  /** Only requests that ended in an error. */
  readonly errors: boolean;
  /** Only requests that ended for this reason. */
  readonly reason?: FailureReason | undefined;
  /** The number of requests to return at most. */
  readonly limit: number;
}

/** A request's place in the journal, by admission. */
export interface JournalPlace {
  readonly admittedAtMs: number;
  /** The number of its row. */
  readonly row: bigint;
}

export interface RequestPageQuery extends RequestQuery {
  /** Where the page before this one ended; undefined for the first page. */
  readonly after: JournalPlace | undefined;
}

export interface RequestPage {
  /** Newest admission first. May be empty with more to come. */
  readonly rows: readonly RequestRecord[];
  /** Where the page ends; undefined if no more requests follow. */
  readonly next: JournalPlace | undefined;
}

/**
 * The result of correcting what a request was charged. Only a request charged as held can be
 * corrected.
 */
export type Correction =
  | { readonly kind: 'done'; readonly request: RequestRecord }
  | { readonly kind: 'no_such_request' | 'in_flight' }
  | { readonly kind: 'not_held'; readonly source: UsageSource };

/** Answers that are translated have an id made from that of their request: `msg_…` from `req_…`. */
export function requestIdOf(id: string): string {
  return id.replace(/^(?:msg|resp|chatcmpl)[_-](?=[0-9a-z]{26}$)/, 'req_');
}

/** Whether an id may be one that an upstream has given. Those of requests are the gateway's own. */
export function mayBeCompletionId(id: string): boolean {
  return !/^req_[0-9a-z]{26}$/.test(id);
}
