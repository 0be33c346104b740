/** The conformance suite of the ledger: what holds whichever store keeps the state. */
import { test } from 'node:test';
import type { OpenStore } from './bench.ts';
import { testBudgets } from './budgets.ts';
import { testDurability } from './durability.ts';
import { testForecasts } from './forecasts.ts';
import { testGrowth } from './growth.ts';
import { testKeys } from './keys.ts';
import { testLeashes } from './leashes.ts';
import { testLevels } from './levels.ts';
import { compareWithNaiveLedger } from './model.ts';
import { testNames } from './names.ts';
import { testPrices } from './prices.ts';
import { testRefusals } from './refusals.ts';
import { testSlidingBudgets } from './sliding.ts';
import { testWaits } from './waits.ts';

/** What the terms of a key do to its requests, and what is known of each. */
export function testTerms(openStore: OpenStore): void {
  testBudgets(openStore);
  testLeashes(openStore);
  testLevels(openStore);
  testSlidingBudgets(openStore);
  testForecasts(openStore);
  testPrices(openStore);
  testNames(openStore);
}

/** The rest, with that many random histories, which have terms as well. */
export function testConformance(openStore: OpenStore, runs: number): void {
  testRefusals(openStore);
  testWaits(openStore);
  testKeys(openStore);
  testGrowth(openStore);
  testDurability(openStore);

  test('whatever happens, the ledger gives the answers and totals of a plain list', async (t) => {
    const seed = Date.now() % 1_000_000;
    t.diagnostic(`seed ${seed}`);
    await compareWithNaiveLedger(openStore, runs, seed);
  });
}
