/** Chooses the upstream for a request. Pure. */
import { allowsRequest, type Breaker } from './breaker.ts';

/** What the choice depends on. */
export interface Candidate {
  /** Its share of the requests, relative to the weights of the others. */
  readonly weight: number;
  /**
   * The current weight in smooth weighted round robin: each choice adds the weight of every
   * candidate, and subtracts the sum of all weights from the chosen one.
   */
  readonly credit: number;
  readonly inFlight: number;
  readonly breaker: Breaker;
  /** How many times in a row it was unavailable: unreachable, or it sent Retry-After. */
  readonly unavailableCount: number;
  /**
   * When its backoff ends or lets a probe through. Milliseconds of a monotonic clock; 0 if it is not
   * backing off.
   */
  readonly backoffUntilMs: number;
}

/**
 * If no upstream is available, requests go to one that is not, since its own error says more than
 * ours. After this many times in a row that it was unavailable, only probes go to it.
 */
export const LAST_RESORT_MAX_UNAVAILABLE = 10;

/** Whether only available upstreams are eligible or, if there are none, others as a last resort. */
export type Among = 'available' | 'last_resort';

/**
 * The indexes of the eligible candidates. An available one has a breaker that lets requests through,
 * and is not backing off or due for a probe.
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
 * Chooses among the candidates at `indexes` by smooth weighted round robin, as nginx does: over any
 * run of choices each gets its share, and no one gets its share in a burst. Ties go to the
 * candidate with the fewest requests in flight, then to the first.
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
