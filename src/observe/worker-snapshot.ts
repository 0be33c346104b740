/** What one worker contributes to a snapshot, and the query that says how much of it to make. */
import type { Failure } from '../core/failure.ts';
import type { UsageSource } from '../core/usage.ts';
import type { KeyMinute } from './key-minutes.ts';
import type { LoopDelay } from './loop-delay.ts';
import type { Sums } from './minutes.ts';
import type { Tally } from './tally.ts';
import type { Second } from './traffic.ts';

/** How many ended and refused requests a worker remembers, and a snapshot holds at most. */
export const MAX_ENDED = 200;
/** How many requests in flight a snapshot holds at most. */
export const MAX_LIVE = 500;

/**
 * What a snapshot should hold. The threads that serve requests make its rows, so ask for no more
 * than is shown.
 */
export interface SnapshotQuery {
  /** The keys to report the activity of. */
  readonly keyIds: readonly string[];
  /** Leaves out the seconds before this one, since 1970. */
  readonly sinceS: number;
  /** Leaves out the minutes before that of this second, since 1970. Infinity leaves out all. */
  readonly minutesSinceS: number;
  /** Leaves out the requests that ended earlier, in milliseconds since 1970. */
  readonly endedSinceMs: number;
  /** The most requests in flight to include; the oldest come first. */
  readonly maxLive: number;
  /** The most ended requests to include; the latest are kept. */
  readonly maxEnded: number;
}

/** The query for everything except the activity of single keys, and the minutes. */
export const EVERYTHING: SnapshotQuery = {
  keyIds: [],
  sinceS: 0,
  minutesSinceS: Number.POSITIVE_INFINITY,
  endedSinceMs: 0,
  maxLive: MAX_LIVE,
  maxEnded: MAX_ENDED,
};

/** A query between workers and the main thread, which can also ask for what metrics show. */
export type WorkerQuery = SnapshotQuery & { readonly withTally?: true };

/** The query for the health of upstreams alone: no single request, no key, no second. */
export const HEALTH_ONLY: SnapshotQuery = {
  keyIds: [],
  sinceS: Number.POSITIVE_INFINITY,
  minutesSinceS: Number.POSITIVE_INFINITY,
  endedSinceMs: Number.POSITIVE_INFINITY,
  maxLive: 0,
  maxEnded: 0,
};

/** The same, with what metrics show. */
export const METRICS_ONLY: WorkerQuery = { ...HEALTH_ONLY, withTally: true };

/** One worker's part of a snapshot. */
export interface WorkerSnapshot {
  /** Requests in flight, those that were not admitted yet included. */
  readonly inFlight: number;
  readonly loopDelay: LoopDelay;
  readonly seconds: readonly Second[];
  readonly minutes: readonly Sums[];
  /** The keys of the query, and those that were charged or refused most. */
  readonly keys: readonly KeyMinute[];
  readonly live: readonly RequestRow[];
  /** The latest last. */
  readonly recent: readonly RequestRow[];
  readonly upstreams: readonly UpstreamHealth[];
  /** Only if it was asked for, and metrics are configured. */
  readonly tally?: Tally;
}

/** A request as operators see it: in flight, ended, or refused. */
export interface RequestRow {
  readonly id: string;
  readonly key_id: string;
  /** The model that serves it. */
  readonly model: string;
  /** The model the client named; absent where that one serves. */
  readonly requested_model?: string;
  /** The provider that serves it; empty for a refused request. */
  readonly provider: string;
  /**
   * The upstream that serves it, and the attempts so far; both absent until it is sent upstream.
   */
  readonly upstream?: string;
  readonly attempts?: number;
  readonly stream: boolean;
  readonly admitted_at_ms: number;
  /** Absent while it is in flight. */
  readonly ended_at_ms?: number;
  /** How it ended, or the error code it was refused with. */
  readonly outcome?: string;
  /** Why it failed, as the journal has it. */
  readonly failure?: Failure;
  /** Why it was refused: what was reached, and when it is free again. */
  readonly refusal?: string;
  readonly source?: UsageSource;
  readonly first_byte_ms?: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cost_usd: string;
}

/** The health of an upstream over the last minute. */
export interface UpstreamHealth {
  readonly provider: string;
  /** The provider's name, with a number where it has several upstreams. */
  readonly upstream: string;
  readonly state: UpstreamState;
  readonly in_flight: number;
  readonly requests: number;
  readonly failures: number;
  /** Present if nothing was sent to it since the start: nobody knows whether it serves. */
  readonly unasked?: true;
  readonly last_failure: { readonly at_ms: number; readonly message: string } | null;
  /** Why attempts failed in the last hour: the most frequent causes, and eight at most. */
  readonly causes: readonly FailureCause[];
}

/** Failures of an upstream that have the same cause. */
export interface FailureCause {
  /** A status such as `429`, `5xx` for all from 500 on, or a `FailureReason` such as `not_connected`. */
  readonly cause: string;
  readonly count: number;
  /** Of the latest one. */
  readonly message: string;
  readonly at_ms: number;
}

/**
 * The state of its circuit breaker, or `backing_off`: it sent a `Retry-After` that has not elapsed.
 */
export type UpstreamState = 'closed' | 'open' | 'half_open' | 'backing_off';
