/**
 * Other processes that change the state file of a gateway under load, in short. `npm run prove -- writers`
 * is the long form.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runContest } from './contest.ts';

const SEED = 77;

test('a gateway under load applies each edit of four processes once its command has returned, and every edit lasts', async (t) => {
  const options = { seed: SEED, clients: 4, writers: 4, edits: 10, typed: 1 };
  const { deviations, editsMs, served, requestsMs } = await runContest(t, options);
  assert.deepEqual(deviations, []);
  assert.equal(editsMs.length, options.writers * options.edits);
  assert.ok(served > 0 && requestsMs.length > served, 'the clients were served, and refused');
});
