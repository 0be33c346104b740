/** The delay of the event loop covers the last seconds, and is the same for all readers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoopDelayMeter } from '../../../src/observe/loop-delay.ts';
import { until } from '../../support/wait.ts';

const BLOCKED_MS = 150;

function block(): void {
  const endAtMs = performance.now() + BLOCKED_MS;
  while (performance.now() < endAtMs);
}

test('a delay is seen by the first reader and all later ones, until two spans have passed', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const meter = new LoopDelayMeter();
  t.after(() => meter.close());
  assert.deepEqual(meter.read(), { p50: 0, p99: 0, max: 0 });
  // Measuring starts after the first interval.
  await new Promise((resolve) => setTimeout(resolve, 50));
  block();
  // Part of the delay is before the next measurement was due.
  const isSeen = () => meter.read().max >= BLOCKED_MS / 2;
  await until(isSeen);
  assert.ok(isSeen(), 'the second reader sees it, too');
  t.mock.timers.tick(5_000);
  assert.ok(isSeen(), 'it is seen in the next span');
  t.mock.timers.tick(5_000);
  assert.ok(!isSeen(), 'it is not seen any longer');
});
