/** One worker's part of a snapshot, and the query that specifies its contents. */
import type { Failure } from '../core/failure.ts';
import type { UsageSource } from '../core/usage.ts';
import type { Histogram } from './histogram.ts';
import type { KeyMinute } from './key-minutes.ts';
import type { LoopDelay } from './loop-delay.ts';
import type { Sums } from './minutes.ts';
import type { Tally } from './tally.ts';
import type { Second } from './traffic.ts';

/** The maximum of ended and refused requests that a worker remembers, and of those in a snapshot. */
export const MAX_ENDED = 200;
/** The maximum of requests in flight in a snapshot. */
export const MAX_LIVE = 500;

/**
 * The contents of a snapshot. Its rows are built by the threads that serve requests, so a query should ask for no more than
 * is shown.
 */
export interface SnapshotQuery {
  /** The keys whose activity to report. */
  readonly keyIds: readonly string[];
  /** Omits seconds before this one, since 1970. */
  readonly sinceS: number;
  /** Omits minutes before the minute of this second, since 1970. Infinity omits all. */
  readonly minutesSinceS: number;
  /** Omits requests that ended earlier, in milliseconds since 1970. */
  readonly endedSinceMs: number;
  /** The maximum of requests in flight, the oldest first. */
  readonly maxLive: number;
  /** The maximum of ended requests. The latest are kept. */
  readonly maxEnded: number;
  /** The number of steps of ten seconds in the upstreams' times to the first byte. */
  readonly firstByteSteps: number;
}

/** The query for everything except the activity of single keys, and minutes. */
export const EVERYTHING: SnapshotQuery = {
  keyIds: [],
  sinceS: 0,
  minutesSinceS: Number.POSITIVE_INFINITY,
  endedSinceMs: 0,
  maxLive: MAX_LIVE,
  maxEnded: MAX_ENDED,
  firstByteSteps: 0,
};

/** A query between workers and the main thread, which can also request the counts for metrics. */
export type WorkerQuery = SnapshotQuery & { readonly withTally?: true };

/** The query for the health of upstreams alone. */
export const HEALTH_ONLY: SnapshotQuery = {
  keyIds: [],
  sinceS: Number.POSITIVE_INFINITY,
  minutesSinceS: Number.POSITIVE_INFINITY,
  endedSinceMs: Number.POSITIVE_INFINITY,
  maxLive: 0,
  maxEnded: 0,
  firstByteSteps: 0,
};

/** The same with the counts for metrics. */
export const METRICS_ONLY: WorkerQuery = { ...HEALTH_ONLY, withTally: true };

/** One worker's part of a snapshot. */
export interface WorkerSnapshot {
  /** Requests in flight, including those before admission. */
  readonly inFlight: number;
  readonly loopDelay: LoopDelay;
  readonly seconds: readonly Second[];
  readonly minutes: readonly Sums[];
  /** The requested keys, and the keys with the most charges or refusals. */
  readonly keys: readonly KeyMinute[];
  readonly live: readonly RequestRow[];
  /** The latest last. */
  readonly recent: readonly RequestRow[];
  readonly upstreams: readonly UpstreamHealth[];
  /** Present if requested, and if metrics are configured. */
  readonly tally?: Tally;
}

/** A request for operators: in flight, ended, or refused. */
export interface RequestRow {
  readonly id: string;
  readonly key_id: string;
  /** The model that serves it. */
  readonly model: string;
  /** The requested model; absent if it serves. */
  readonly requested_model?: string;
  /** The provider that serves it; empty for a refused request. */
  readonly provider: string;
  /** The upstream that serves it, and the number of attempts. Both are absent before its dispatch. */
  readonly upstream?: string;
  readonly attempts?: number;
  readonly stream: boolean;
  /** The end user and the app; absent if the client names none. */
  readonly user?: string;
  readonly app?: string;
  readonly admitted_at_ms: number;
  /** Absent while it is in flight. */
  readonly ended_at_ms?: number;
  /** Its outcome, or the error code of its refusal. */
  readonly outcome?: string;
  /** The cause of its failure, as in the journal. */
  readonly failure?: Failure;
  /** The reached limit of its refusal, and when it is free again. */
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
  /** The provider's name, with a number if it has several upstreams. */
  readonly upstream: string;
  readonly state: UpstreamState;
  readonly in_flight: number;
  readonly requests: number;
  readonly failures: number;
  /** Present if it has had no request since the start, so that its health is unknown. */
  readonly unasked?: true;
  readonly last_failure: { readonly at_ms: number; readonly message: string } | null;
  /** The causes of failures in the last hour, the most frequent first, at most eight. */
  readonly causes: readonly FailureCause[];
  /** Times to the first byte by steps of ten seconds, the oldest first. Absent if not requested, or empty. */
  readonly first_bytes?: readonly Histogram[];
}

/** Failures of an upstream with the same cause. */
export interface FailureCause {
  /** A status such as `429`, `5xx` for all from 500 on, or a `FailureReason` such as `not_connected`. */
  readonly cause: string;
  readonly count: number;
  /** The message of the latest failure. */
  readonly message: string;
  readonly at_ms: number;
}

/** The state of its circuit breaker, or `backing_off` until its `Retry-After` has elapsed. */
export type UpstreamState = 'closed' | 'open' | 'half_open' | 'backing_off';
