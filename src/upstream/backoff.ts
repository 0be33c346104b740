/**
 * The backoff that an upstream requested with `Retry-After`, for itself or for one model. Pure: a backoff and an event give
 * the next backoff.
 */

/**
 * Interval of probes during a backoff, in milliseconds. The backoff may have been caused by one client, and may end long
 * before the requested time, which can be an hour.
 */
export const PROBE_INTERVAL_MS = 5_000;

/** Times are milliseconds of a monotonic clock. */
export interface Backoff {
  readonly untilMs: number;
  /** The time of the last Retry-After. */
  readonly askedAtMs: number;
  /** The earliest time of the next probe. */
  readonly nextProbeMs: number;
}

export const NO_BACKOFF: Backoff = { untilMs: 0, askedAtMs: 0, nextProbeMs: 0 };

/** Records a Retry-After of `durationMs`. It never shortens a previous backoff. */
export function onRetryAfter(backoff: Backoff, durationMs: number, nowMs: number): Backoff {
  return {
    untilMs: Math.max(backoff.untilMs, nowMs + durationMs),
    askedAtMs: nowMs,
    nextProbeMs: nowMs + PROBE_INTERVAL_MS,
  };
}

/** Records that a request is sent, as a probe or as the last resort. */
export function onRequestSent(backoff: Backoff, nowMs: number): Backoff {
  return isOver(backoff, nowMs) ? backoff : { ...backoff, nextProbeMs: nowMs + PROBE_INTERVAL_MS };
}

/** Records a success. It ends the backoff, unless its request was sent before the last Retry-After. */
export function onSuccess(backoff: Backoff, sentAtMs: number): Backoff {
  return sentAtMs > backoff.askedAtMs ? NO_BACKOFF : backoff;
}

export function isOver({ untilMs }: Backoff, nowMs: number): boolean {
  return untilMs <= nowMs;
}

/** The earliest time of the next request: the end of the backoff, or a probe. */
export function nextRequestMs({ untilMs, nextProbeMs }: Backoff): number {
  return Math.min(untilMs, nextProbeMs);
}
