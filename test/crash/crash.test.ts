/**
 * A real `kill -9` under load, in short; `npm run prove -- crash` is the long form. Power cuts, starts that are killed and
 * logs that are cut off are in `test/world/`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../support/random.ts';
import { Cycles, openSite } from './cycles.ts';

const CYCLES = 2;
const MOST_CYCLES = 20;
const SEED = 20;

test(`killed ${CYCLES} times under load, the gateway loses nothing and charges nothing twice`, async (t) => {
  const run = new Cycles(await openSite(t), new Random(SEED), t);
  const { books } = run;
  const hasSomethingToLose = () => books.complete > 0 && books.heldRows > 0 && run.topUps > 0;
  // On a busy machine some of the gateways die before their clients have seen anything.
  while (run.cycles < CYCLES || (!hasSomethingToLose() && run.cycles < MOST_CYCLES)) await run.run();
  await run.finish();
  assert.deepEqual(books.deviations, []);
  assert.ok(hasSomethingToLose(), 'there was something to lose');
  assert.ok(run.cyclesOfTwoThreads > 0);
});
