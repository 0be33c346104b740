/** How long the event loop keeps others waiting is told of the last seconds, and alike to all who ask. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoopDelayMeter } from '../../../src/observe/loop-delay.ts';
import { until } from '../../support/wait.ts';

const BLOCKED_MS = 150;

function block(): void {
  const endAtMs = performance.now() + BLOCKED_MS;
  while (performance.now() < endAtMs);
}

test('a loop that was kept waiting is seen by whoever looks first, and by all after it, until the second span after', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const meter = new LoopDelayMeter();
  t.after(() => meter.close());
  assert.deepEqual(meter.read(), { p50: 0, p99: 0, max: 0 });
  // It has to have begun to measure: more than one round has passed.
  await new Promise((resolve) => setTimeout(resolve, 50));
  block();
  // Some of it lies before its next round was due.
  const isSeen = () => meter.read().max >= BLOCKED_MS / 2;
  await until(isSeen);
  assert.ok(isSeen(), 'and a second time');
  t.mock.timers.tick(5_000);
  assert.ok(isSeen(), 'in the span after it');
  t.mock.timers.tick(5_000);
  assert.ok(!isSeen(), 'no longer');
});
