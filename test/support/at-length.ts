/**
 * What `npm test` leaves to the proof: the long form of a claim. A file that imports this is in both tiers, in its short form in
 * the check; run by its name, it is run at length.
 */
import { type TestContext, test } from 'node:test';

const isShort = process.env.INF_GW_TESTS_TIER === 'check';

/** A test that does not exist in the check. Another one that stays there makes the same claim in short. */
export function testAtLength(name: string, work: (t: TestContext) => void | Promise<void>): void {
  if (!isShort) test(name, work);
}

/** How often a property is tried: in the check, a tenth of all times. */
export function runs(all: number): number {
  return isShort ? Math.ceil(all / 10) : all;
}
