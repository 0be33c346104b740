/** Waiting with a bound: the result, the late result, and no timer that is left. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { within } from '../../../src/core/within.ts';

const NEVER = new Promise<string>(() => {});

test('the result counts if it comes in time, and its error', async () => {
  assert.equal(await within(60_000, Promise.resolve('done'), () => 'late'), 'done');
  await assert.rejects(
    within(60_000, Promise.reject(new Error('failed')), () => 'late'),
    /failed/,
  );
  assert.deepEqual(
    process.getActiveResourcesInfo().filter((name) => name === 'Timeout'),
    [],
  );
});

test('otherwise the late result counts, or its error', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const late = within(1_000, NEVER, () => 'late');
  const failed = within(-5, NEVER, () => {
    throw new Error('too late');
  });
  t.mock.timers.tick(1_000);
  assert.equal(await late, 'late');
  await assert.rejects(failed, /too late/);
});
