/** The circuit breaker of one upstream: whether it is asked at the moment. Pure: a state and an event make the next state. */

/** So many failures in a row open it. Envoy's outlier detection takes the same number. */
export const OPENS_AFTER_FAILURES = 5;
/** How long it stays open the first time; each probe that fails doubles it, in milliseconds. */
export const OPEN_MS = 5_000;
export const MAX_OPEN_MS = 60_000;

export interface Breaker {
  /** In a row. */
  readonly failures: number;
  /** How often in a row it was away: nobody was there, or it asked for a pause. */
  readonly absences: number;
  /** Undefined while it is closed. Milliseconds of a monotonic clock. */
  readonly openUntilMs: number | undefined;
  /** How long it was opened for, the last time. */
  readonly openMs: number;
  /** One request is on its way to find out whether the upstream is well again. */
  readonly isProbing: boolean;
}

export type BreakerState = 'closed' | 'open' | 'half_open';

/**
 * What an attempt shows: `well` for an answer that the upstream stands behind, `failing` for none, or one that says that
 * the upstream is not up to it, `away` where no connection was made, `resting` where it asked to be left alone for a time,
 * which is no failure but an absence, `there` for a connection, over which nothing has come yet, `nothing` where the
 * gateway itself gave up.
 */
export type Sign = 'well' | 'failing' | 'away' | 'resting' | 'there' | 'nothing';

export const CLOSED: Breaker = { failures: 0, absences: 0, openUntilMs: undefined, openMs: OPEN_MS, isProbing: false };

export function stateOf({ openUntilMs }: Breaker, nowMs: number): BreakerState {
  if (openUntilMs === undefined) return 'closed';
  return nowMs < openUntilMs ? 'open' : 'half_open';
}

/** Whether the upstream can be asked as any other: while the breaker is half open, one request at a time finds out. */
export function isAskable(breaker: Breaker, nowMs: number): boolean {
  const state = stateOf(breaker, nowMs);
  return state === 'closed' || (state === 'half_open' && !breaker.isProbing);
}

/** A request is about to be sent. */
export function onAsked(breaker: Breaker, nowMs: number): Breaker {
  return stateOf(breaker, nowMs) === 'half_open' ? { ...breaker, isProbing: true } : breaker;
}

/** A request has shown something. A sign of life closes the breaker, however late it comes. */
export function onSign(breaker: Breaker, sign: Sign, nowMs: number): Breaker {
  switch (sign) {
    case 'well':
      return breaker.failures === 0 && breaker.openUntilMs === undefined ? breaker : CLOSED;
    case 'resting':
      return { ...breaker, absences: breaker.absences + 1, isProbing: false };
    case 'there':
      return breaker.absences === 0 ? breaker : { ...breaker, absences: 0 };
    case 'nothing':
      return breaker.isProbing ? { ...breaker, isProbing: false } : breaker;
    case 'failing':
      return onFailure({ ...breaker, absences: 0 }, nowMs);
    case 'away':
      return onFailure({ ...breaker, absences: breaker.absences + 1 }, nowMs);
  }
}

function onFailure(breaker: Breaker, nowMs: number): Breaker {
  const failures = breaker.failures + 1;
  switch (stateOf(breaker, nowMs)) {
    case 'closed':
      if (failures < OPENS_AFTER_FAILURES) return { ...breaker, failures };
      return { ...breaker, failures, openUntilMs: nowMs + OPEN_MS };
    case 'open':
      // A request that was under way when it opened: it tells nothing new.
      return { ...breaker, failures };
    case 'half_open': {
      const openMs = Math.min(breaker.openMs * 2, MAX_OPEN_MS);
      return { ...breaker, failures, openUntilMs: nowMs + openMs, openMs, isProbing: false };
    }
  }
}
