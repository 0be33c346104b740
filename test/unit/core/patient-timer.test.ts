/** A timer that looks once: what arrives while the process stands still is in time, and what does not is missed. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { PatientTimer } from '../../../src/core/patient-timer.ts';

const MS = 100;

function timerOf(t: TestContext): { timer: PatientTimer; misses: () => number } {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let misses = 0;
  return { timer: new PatientTimer(() => misses++, MS), misses: () => misses };
}

test('it is missed after its time, once the sockets were read', async (t) => {
  const { misses } = timerOf(t);
  t.mock.timers.tick(MS - 1);
  await turn();
  assert.equal(misses(), 0);
  t.mock.timers.tick(1);
  assert.equal(misses(), 0);
  await turn();
  assert.equal(misses(), 1);
});

test('it is not missed where it is cleared after its time, before the sockets were read', async (t) => {
  const { timer, misses } = timerOf(t);
  t.mock.timers.tick(10 * MS);
  timer.clear();
  await turn();
  assert.equal(misses(), 0);
});

test('it begins anew where it is refreshed then', async () => {
  const startedAtMs = performance.now();
  const missed = Promise.withResolvers<number>();
  const timer = new PatientTimer(() => missed.resolve(performance.now()), MS);
  setTimeout(() => timer.refresh(), MS);
  // Both are due in the same turn.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * MS);
  assert.ok((await missed.promise) - startedAtMs > 2.9 * MS);
});
