/** The circuit breaker of one upstream. Pure: a state and an event give the next state. */

/** Failures in a row that open the breaker; the default of Envoy's outlier detection. */
export const OPENS_AFTER_FAILURES = 5;
/** How long it stays open the first time, in milliseconds; each failed probe doubles it. */
export const OPEN_MS = 5_000;
export const MAX_OPEN_MS = 60_000;

export interface Breaker {
  /** Consecutive failures. */
  readonly failures: number;
  /** Consecutive times that the upstream was unavailable: unreachable, or it sent Retry-After. */
  readonly unavailableCount: number;
  /** Undefined while it is closed. Milliseconds of a monotonic clock. */
  readonly openUntilMs: number | undefined;
  /** The length of its last opening, which may still be in progress. */
  readonly openMs: number;
  /** A request is in flight whose result decides whether the breaker closes. */
  readonly isProbing: boolean;
}

export type BreakerState = 'closed' | 'open' | 'half_open';

/**
 * The result of an attempt, as evidence about its upstream.
 * - `success`: a response that proves the upstream's health.
 * - `failure`: no response, or one that reports that the upstream cannot serve requests.
 * - `unreachable`: no connection could be made.
 * - `backing_off`: the upstream sent Retry-After. It was unavailable, but did not fail.
 * - `connected`: a connection was made, and no response has arrived yet.
 * - `inconclusive`: the gateway itself aborted the attempt.
 */
export type Signal = 'success' | 'failure' | 'unreachable' | 'backing_off' | 'connected' | 'inconclusive';

export const CLOSED: Breaker = {
  failures: 0,
  unavailableCount: 0,
  openUntilMs: undefined,
  openMs: OPEN_MS,
  isProbing: false,
};

export function stateOf({ openUntilMs }: Breaker, nowMs: number): BreakerState {
  if (openUntilMs === undefined) return 'closed';
  return nowMs < openUntilMs ? 'open' : 'half_open';
}

/** Whether the breaker lets a request through: while it is half open, one probe at a time. */
export function allowsRequest(breaker: Breaker, nowMs: number): boolean {
  const state = stateOf(breaker, nowMs);
  return state === 'closed' || (state === 'half_open' && !breaker.isProbing);
}

/** Records that a request is sent. */
export function onAttempt(breaker: Breaker, nowMs: number): Breaker {
  return stateOf(breaker, nowMs) === 'half_open' ? { ...breaker, isProbing: true } : breaker;
}

/** Records the signal of an attempt. A success closes the breaker, even if it comes late. */
export function onSignal(breaker: Breaker, signal: Signal, nowMs: number): Breaker {
  switch (signal) {
    case 'success':
      return breaker.failures === 0 && breaker.openUntilMs === undefined ? breaker : CLOSED;
    case 'backing_off':
      return { ...breaker, unavailableCount: breaker.unavailableCount + 1, isProbing: false };
    case 'connected':
      return breaker.unavailableCount === 0 ? breaker : { ...breaker, unavailableCount: 0 };
    case 'inconclusive':
      return breaker.isProbing ? { ...breaker, isProbing: false } : breaker;
    case 'failure':
      return onFailure({ ...breaker, unavailableCount: 0 }, nowMs);
    case 'unreachable':
      return onFailure({ ...breaker, unavailableCount: breaker.unavailableCount + 1 }, nowMs);
  }
}

function onFailure(breaker: Breaker, nowMs: number): Breaker {
  const failures = breaker.failures + 1;
  switch (stateOf(breaker, nowMs)) {
    case 'closed':
      if (failures < OPENS_AFTER_FAILURES) return { ...breaker, failures };
      return { ...breaker, failures, openUntilMs: nowMs + OPEN_MS };
    case 'open':
      // The request was in flight when the breaker opened, so it adds no information.
      return { ...breaker, failures };
    case 'half_open': {
      const openMs = Math.min(breaker.openMs * 2, MAX_OPEN_MS);
      return { ...breaker, failures, openUntilMs: nowMs + openMs, openMs, isProbing: false };
    }
  }
}
