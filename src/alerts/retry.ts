/** Backoff schedule of failed deliveries. */

/** Pause after the first failure, in milliseconds. Doubles with each further failure. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 15 * 60_000;
/** Age after which an undelivered event is dropped. */
export const GIVE_UP_MS = 24 * 3_600_000;

/** Returns the pause before the next attempt, or undefined to give up. `attempts`: attempts made, at least 1. */
export function pauseMs(attempts: number, ageMs: number): number | undefined {
  if (ageMs >= GIVE_UP_MS) return undefined;
  return Math.min(FIRST_PAUSE_MS * 2 ** (attempts - 1), LONGEST_PAUSE_MS);
}
