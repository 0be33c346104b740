/** Single requests, in flight or ended, as operators read and correct them. */
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
  /** The model that served it; the requested model while it is in flight. */
  readonly model: string;
  readonly requestedModel: string;
  readonly admittedAtMs: number;
  readonly holdNanos: Nanos;
  /** Ids of the levels that it is booked to in addition to its key, innermost first. */
  readonly levels?: readonly string[];
  /** The price used for its hold or its charge. */
  readonly price?: string | undefined;
  /** The gateway that admitted it, in a shared state. Absent if unknown. */
  readonly node?: string;
  /** Undefined while it is in flight. */
  readonly end: RequestEnd | undefined;
}

/** The end of a request and its charge. */
export interface RequestEnd {
  readonly settledAtMs: number;
  readonly outcome: Outcome;
  readonly source: UsageSource;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** Input tokens written to a prompt cache. */
  readonly cacheWriteTokens: number;
  readonly completionTokens: number;
  readonly costNanos: Nanos;
  /** The upstream's id of the completion. */
  readonly completionId: string | undefined;
  /** From dispatch to the first byte of the upstream's response. */
  readonly firstByteMs: number | undefined;
  /** The upstream that served it. Undefined if no attempt was made. */
  readonly upstream: string | undefined;
  /** The number of attempts on all upstreams. Undefined when `upstream` is. */
  readonly attempts: number | undefined;
  /** The reason of a failure. Undefined for a success. */
  readonly failure: Failure | undefined;
  /** The names sent by the client. Undefined without any. */
  readonly spentBy?: SpentBy | undefined;
  /** When an operator corrected the cost. */
  readonly correctedAtMs: number | undefined;
}

export interface RequestQuery {
  readonly keyId: string | undefined;
  /** Only requests booked to this group, which includes its subgroups. */
  readonly groupId?: string | undefined;
  /** Only requests of this end user, in the form that reports show. */
  readonly user?: string | undefined;
  /** Only requests served by this model. */
  readonly model?: string | undefined;
  /** Inclusive, by time of admission. */
  readonly sinceMs: number | undefined;
  /** Exclusive. */
  readonly untilMs?: number | undefined;
  /** Only requests that ended in an error. */
  readonly errors: boolean;
  /** Only requests that ended for this reason. */
  readonly reason?: FailureReason | undefined;
  /** Maximum number of requests to return. */
  readonly limit: number;
}

/** A position in the journal, by admission. */
export interface JournalPlace {
  readonly admittedAtMs: number;
  /** The row number. */
  readonly row: bigint;
}

export interface RequestPageQuery extends RequestQuery {
  /** Where the page before this one ended; undefined for the first page. */
  readonly after: JournalPlace | undefined;
}

export interface RequestPage {
  /** Newest admission first. May be empty although more pages follow. */
  readonly rows: readonly RequestRecord[];
  /** Where the page ends; undefined if no more requests follow. */
  readonly next: JournalPlace | undefined;
}

/** The result of correcting a charge. Only a request charged as held can be corrected. */
export type Correction =
  | { readonly kind: 'done'; readonly request: RequestRecord }
  | { readonly kind: 'no_such_request' | 'in_flight' }
  | { readonly kind: 'not_held'; readonly source: UsageSource };

/** Returns the request id for the id of a translated answer, which is derived from it: `msg_…` from `req_…`. */
export function requestIdOf(id: string): string {
  return id.replace(/^(?:msg|resp|chatcmpl)[_-](?=[0-9a-z]{26}$)/, 'req_');
}

/** Whether an id may come from an upstream. Ids of requests have the gateway's own format. */
export function mayBeCompletionId(id: string): boolean {
  return !/^req_[0-9a-z]{26}$/.test(id);
}
