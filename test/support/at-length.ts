/**
 * What `npm test` leaves to the proof: the long form of a claim. A file that imports this is in both tiers, in its short form in
 * the check; run by its name, it is run at length.
 */

const isShort = process.env.INF_GW_TESTS_TIER === 'check';

/** The options of a test that the check leaves out. Another one that stays there makes the same claim in short. */
export const AT_LENGTH = { skip: isShort && 'at length in npm run prove' };

/** How often a property is tried: in the check, a fifth of all times. */
export function runs(all: number): number {
  return isShort ? Math.ceil(all / 5) : all;
}
