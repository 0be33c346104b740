/** Other processes at the state file of a gateway under load, in short; `run.ts` does the same at length. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runContest } from './contest.ts';

const SEED = 77;

test('a gateway under load obeys four processes that edit as soon as each edit has returned, and every edit lasts', async (t) => {
  const options = { seed: SEED, clients: 4, writers: 4, edits: 75, typed: 2 };
  const { deviations, editsMs, served, requestsMs } = await runContest(t, options);
  assert.deepEqual(deviations, []);
  assert.equal(editsMs.length, options.writers * options.edits);
  assert.ok(served > 0 && requestsMs.length > served, 'the clients were served, and refused');
});
