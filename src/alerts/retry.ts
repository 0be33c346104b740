/** When a failed delivery is tried again. Pure. */

/** The pause after the first failure; each further one doubles it. In milliseconds. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 15 * 60_000;
/** After so long an event is no news any more. */
export const GIVE_UP_MS = 24 * 3_600_000;

/** The pause before the next attempt, or undefined if there is none. `attempts` were made, at least one. */
export function pauseMs(attempts: number, ageMs: number): number | undefined {
  if (ageMs >= GIVE_UP_MS) return undefined;
  return Math.min(FIRST_PAUSE_MS * 2 ** (attempts - 1), LONGEST_PAUSE_MS);
}
