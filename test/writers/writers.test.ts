/** Other processes at the state file of a gateway under load, in short; `run.ts` does the same at length. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runContest } from './contest.ts';
import { LOG_BOUND_BYTES, watchLog } from './log-size.ts';

const SEED = 77;

describe('a gateway under load', { concurrency: true }, () => {
  test('obeys four processes that edit as soon as each edit has returned, and every edit lasts', async (t) => {
    const options = { seed: SEED, clients: 4, writers: 4, edits: 75, typed: 2 };
    const { deviations, editsMs, served, requestsMs } = await runContest(t, options);
    assert.deepEqual(deviations, []);
    assert.equal(editsMs.length, options.writers * options.edits);
    assert.ok(served > 0 && requestsMs.length > served, 'the clients were served, and refused');
  });

  test('has a log within its bound once a long reader is gone', async (t) => {
    const growToBytes = 1.25 * LOG_BOUND_BYTES;
    const options = {
      seed: SEED,
      clients: 8,
      readingMs: 2_000,
      aloneMs: 1_000,
      readers: 1,
      eachMs: 60_000,
      growToBytes,
    };
    const { reading, after, deviations } = await watchLog(t, options);
    t.diagnostic(`the log grew to ${reading.sizes.at(-1)} bytes and came back to ${after.sizes.at(-1)}`);
    assert.deepEqual(deviations, []);
    assert.ok((after.sizes.at(-1) ?? 0) <= LOG_BOUND_BYTES);
  });
});
