/**
 * The backoff that an upstream asked for with `Retry-After`, for itself or for one model. Pure: a
 * backoff and an event make the next backoff.
 */

/**
 * While an upstream backs off, one request in this time goes to it all the same, in milliseconds.
 * One client may have caused the backoff, and it may be over long before the time that was asked
 * for, which can be an hour.
 */
export const PROBE_INTERVAL_MS = 5_000;

/** Times are milliseconds of a monotonic clock. */
export interface Backoff {
  readonly untilMs: number;
  /** When the upstream last asked for it. */
  readonly askedAtMs: number;
  /** When a request may probe it. */
  readonly nextProbeMs: number;
}

export const NO_BACKOFF: Backoff = { untilMs: 0, askedAtMs: 0, nextProbeMs: 0 };

/** The upstream asks for a backoff of `durationMs`. It never shortens a previous one. */
export function onRetryAfter(backoff: Backoff, durationMs: number, nowMs: number): Backoff {
  return {
    untilMs: Math.max(backoff.untilMs, nowMs + durationMs),
    askedAtMs: nowMs,
    nextProbeMs: nowMs + PROBE_INTERVAL_MS,
  };
}

/** A request is about to be sent, as a probe or as the last resort. */
export function onRequestSent(backoff: Backoff, nowMs: number): Backoff {
  return isOver(backoff, nowMs) ? backoff : { ...backoff, nextProbeMs: nowMs + PROBE_INTERVAL_MS };
}

/**
 * A request has succeeded. That ends the backoff, unless the request was sent before the upstream
 * asked for it.
 */
export function onSuccess(backoff: Backoff, sentAtMs: number): Backoff {
  return sentAtMs > backoff.askedAtMs ? NO_BACKOFF : backoff;
}

export function isOver({ untilMs }: Backoff, nowMs: number): boolean {
  return untilMs <= nowMs;
}

/** When the next request may be sent: at its end, or as a probe before. */
export function nextRequestMs({ untilMs, nextProbeMs }: Backoff): number {
  return Math.min(untilMs, nextProbeMs);
}
