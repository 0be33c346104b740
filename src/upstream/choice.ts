/** Which of several upstreams a request goes to. Pure. */
import { type Breaker, isAskable } from './breaker.ts';

/** An upstream, as far as the choice depends on it. */
export interface Candidate {
  /** Its share of the requests, beside the weights of the others. */
  readonly weight: number;
  /** What it is owed: grows with each choice by its weight, and falls by all weights together when it is chosen. */
  readonly credit: number;
  readonly inFlight: number;
  readonly breaker: Breaker;
  /** How often in a row it was away, or would not serve the model for a time. */
  readonly absences: number;
  /** It has asked to be left alone until then, with `Retry-After`. Milliseconds of a monotonic clock; 0 for never. */
  readonly restsUntilMs: number;
}

/**
 * Where nothing better is left, an upstream is asked although it should be left alone: it can answer for itself. Not so
 * once it was away so often in a row: then only the one request finds out that comes when its time is over.
 */
export const LAST_RESORT_ABSENCES = 10;

/** Which upstreams a choice is made from: those that are available, or as a last resort any that may answer for itself. */
export type Among = 'available' | 'last_resort';

/** Those that may be asked, by their place: the sound ones, or where there are none and it is the last resort, the others. */
export function askable(candidates: readonly Candidate[], nowMs: number, among: Among): number[] {
  const places = candidates.map((_, place) => place);
  const rested = places.filter((place) => (candidates[place] as Candidate).restsUntilMs <= nowMs);
  const sound = rested.filter((place) => isAskable((candidates[place] as Candidate).breaker, nowMs));
  if (sound.length > 0 || among === 'available') return sound;
  return places.filter((place) => (candidates[place] as Candidate).absences < LAST_RESORT_ABSENCES);
}

export interface Choice {
  /** The place of the one that is chosen. */
  readonly place: number;
  /** What each is owed from now on. */
  readonly credits: readonly number[];
}

/**
 * Chooses among `places`, by smooth weighted round robin as nginx does it: of any run of choices each gets its share, and
 * none gets its share all at once. Among equals the one with the fewest requests under way is chosen, then the first.
 */
export function choose(candidates: readonly Candidate[], places: readonly number[]): Choice | undefined {
  const credits = candidates.map(({ credit }) => credit);
  let total = 0;
  let best: number | undefined;
  for (const place of places) {
    const { weight, inFlight } = candidates[place] as Candidate;
    total += weight;
    credits[place] = (credits[place] as number) + weight;
    if (best === undefined) best = place;
    const lead = (credits[place] as number) - (credits[best] as number);
    if (lead > 0 || (lead === 0 && inFlight < (candidates[best] as Candidate).inFlight)) best = place;
  }
  if (best === undefined) return undefined;
  credits[best] = (credits[best] as number) - total;
  return { place: best, credits };
}
