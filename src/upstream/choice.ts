/** Chooses the upstream for a request. Pure. */
import { allowsRequest, type Breaker } from './breaker.ts';

/** The state that the choice depends on. */
export interface Candidate {
  /** Share of the requests, relative to the weights of the others. */
  readonly weight: number;
  /**
   * The current weight in smooth weighted round robin: each choice adds the weight of every
   * candidate, and subtracts the sum of all weights from the chosen one.
   */
  readonly credit: number;
  readonly inFlight: number;
  readonly breaker: Breaker;
  /** Consecutive times that it was unavailable: unreachable, or it sent Retry-After. */
  readonly unavailableCount: number;
  /** The time when its backoff ends or allows a probe, in milliseconds of a monotonic clock; 0 without a backoff. */
  readonly backoffUntilMs: number;
}

/**
 * If no upstream is available, requests are sent to an unavailable one, because its own error is more specific than the
 * gateway's. After this many consecutive unavailabilities, it gets only probes.
 */
export const LAST_RESORT_MAX_UNAVAILABLE = 10;

/** Whether only available upstreams are eligible or, if all are unavailable, others as a last resort. */
export type Among = 'available' | 'last_resort';

/**
 * The indexes of the eligible candidates. An available candidate has a breaker that lets requests through, and is not backing
 * off or is due for a probe.
 */
export function eligible(candidates: readonly Candidate[], nowMs: number, among: Among): number[] {
  const available = indexesOf(candidates, ({ breaker, backoffUntilMs }) => {
    return backoffUntilMs <= nowMs && allowsRequest(breaker, nowMs);
  });
  if (available.length > 0 || among === 'available') return available;
  return indexesOf(candidates, ({ unavailableCount }) => unavailableCount < LAST_RESORT_MAX_UNAVAILABLE);
}

function indexesOf(candidates: readonly Candidate[], condition: (candidate: Candidate) => boolean): number[] {
  return candidates.flatMap((candidate, index) => (condition(candidate) ? [index] : []));
}

export interface Choice {
  /** The index of the chosen candidate. */
  readonly index: number;
  /** The new credit of each candidate. */
  readonly credits: readonly number[];
}

/**
 * Chooses among the candidates at `indexes` by smooth weighted round robin, as nginx does: over any run of choices each gets
 * its share, without bursts. Ties are resolved by the fewest requests in flight, then by the order.
 */
export function choose(candidates: readonly Candidate[], indexes: readonly number[]): Choice | undefined {
  const credits = candidates.map(({ credit }) => credit);
  let total = 0;
  let best: number | undefined;
  for (const index of indexes) {
    const { weight, inFlight } = candidates[index] as Candidate;
    total += weight;
    credits[index] = (credits[index] as number) + weight;
    if (best === undefined) best = index;
    const lead = (credits[index] as number) - (credits[best] as number);
    if (lead > 0 || (lead === 0 && inFlight < (candidates[best] as Candidate).inFlight)) best = index;
  }
  if (best === undefined) return undefined;
  credits[best] = (credits[best] as number) - total;
  return { index: best, credits };
}
