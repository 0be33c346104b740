/** The guarantees under `kill -9`, in short. `npm run prove -- crash` is the long form. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CONCURRENCY } from '../support/cli.ts';
import { Random } from '../support/random.ts';
import { cutTheLog } from './cut-log.ts';
import { Cycles, openSite } from './cycles.ts';
import { startWithManyHolds } from './many-holds.ts';
import { cutThePower } from './power-cuts.ts';

const CYCLES = 2;
const MOST_CYCLES = 20;
const POWER_CUTS = 1;
/** The number of starts with many open holds that are killed. */
const KILLED_STARTS = 1;
const SEED = 20;

describe('`kill -9`', { concurrency: CONCURRENCY }, () => {
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

  test('a start with 10,000 open requests charges each of them as held, or none if it is killed', async (t) => {
    const { readyMs, deviations } = await startWithManyHolds(await openSite(t), new Random(SEED), KILLED_STARTS);
    t.diagnostic(`ready after ${readyMs.toFixed(0)} ms`);
    assert.deepEqual(deviations, []);
  });

  test(`after a power cut, what its clients had seen is in the file`, async (t) => {
    const { ended, begun, lost, deviations } = await cutThePower(await openSite(t), new Random(SEED), POWER_CUTS);
    t.diagnostic(`${ended} answers had ended, ${begun} had begun, ${lost} requests were lost that nobody had seen`);
    assert.deepEqual(deviations, []);
    assert.ok(ended >= POWER_CUTS, 'there was something to lose');
  });

  test('wherever its log is cut off, the file opens, passes the audit, and has a prefix of the journal', async (t) => {
    const { cuts, journals, deviations } = await cutTheLog(await openSite(t), new Random(SEED), 6);
    t.diagnostic(`${cuts} cuts left ${journals} different journals`);
    assert.deepEqual(deviations, []);
    assert.ok(journals > 1);
  });
});
