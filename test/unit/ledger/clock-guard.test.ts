/** A step of the database's clock is noticed, and what drift and waiting explain is none. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { ClockGuard } from '../../../src/ledger/shared/clock-guard.ts';

const SECOND_US = 1_000_000n;

/** A guard that has seen the time 100 s, asked for at 5 ms. */
function guard(): ClockGuard {
  const seen = new ClockGuard();
  seen.saw(100n * SECOND_US, 5);
  return seen;
}

test('nothing is known before the first decision', () => assert.equal(new ClockGuard().latestUs(1_000), null));

for (const [what, nowMs, latestUs] of [
  ['at once, a second may have passed', 5, 101n * SECOND_US],
  ['the own clock counts from when the question was sent', 1_005, 102n * SECOND_US + 1_000n],
  ['an hour later the clocks may be 3.6 s apart', 3_600_005, 3_701n * SECOND_US + 3_600_000n],
] as const) {
  test(`${what}`, () => assert.equal(guard().latestUs(nowMs), latestUs));
}

test('a batch that was on its way for three seconds shows no step, and one that was answered at once does', () => {
  const arrivedUs = 104n * SECOND_US;
  assert.equal(guard().isStep(arrivedUs, 3_005), false);
  assert.equal(guard().isStep(arrivedUs, 1_005), true);
});

test('after a step nothing is admitted for as long as a window lasts, and then any time is right', () => {
  const stepped = guard();
  stepped.close(1_000);
  assert.deepEqual([stepped.isClosed(1_000), stepped.isClosed(60_999), stepped.isClosed(61_000)], [true, true, false]);
  assert.equal(stepped.latestUs(61_000), null);
});

test('a second step while it is closed does not begin the minute again', () => {
  const stepped = guard();
  stepped.close(1_000);
  stepped.close(30_000);
  assert.equal(stepped.isClosed(61_000), false);
});
