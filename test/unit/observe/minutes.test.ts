/** The traffic of the last day, minute by minute: added up from seconds, forgotten, and merged. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { REMEMBERED_MINUTES } from '../../../src/observe/minutes.ts';
import { mergedMinutes, REMEMBERED_S, Traffic } from '../../../src/observe/traffic.ts';

const START_S = 60_000_000;
const END = { tokens: 10, costNanos: 5n, firstByteMs: 20 };

function counting() {
  const clock = { nowS: START_S };
  return { clock, traffic: new Traffic(() => clock.nowS) };
}

describe('minutes', () => {
  test('add up what was counted in them, the running second included', () => {
    const { clock, traffic } = counting();
    for (const atS of [0, 1, 1, 59, 60, 200]) {
      clock.nowS = START_S + atS;
      traffic.countEnded(END);
      if (atS === 59) traffic.countError('rate_limited');
    }
    const shown = traffic
      .minutesSince(0)
      .map(({ atS, requests, tokens, costNanos, errors }) => [atS - START_S, requests, tokens, costNanos, errors.size]);
    assert.deepEqual(shown, [
      [0, 4, 40, 20n, 1],
      [60, 1, 10, 5n, 0],
      [180, 1, 10, 5n, 0],
    ]);
  });

  test('have histograms without empty buckets at the end', () => {
    const { traffic } = counting();
    traffic.countEnded({ ...END, firstByteMs: 1 });
    traffic.countEnded({ ...END, firstByteMs: 2 });
    const [minute] = traffic.minutesSince(0);
    assert.deepEqual(minute?.firstByteMs, [1, 0, 0, 0, 1]);
  });

  test('are read from that of a second on, and none from infinity on', () => {
    const { clock, traffic } = counting();
    for (; clock.nowS < START_S + 300; clock.nowS += 30) traffic.countEnded(END);
    const from = (atS: number) => traffic.minutesSince(atS).map(({ atS }) => atS - START_S);
    assert.deepEqual(from(START_S + 179), [120, 180, 240]);
    assert.deepEqual(from(START_S + 180), [180, 240]);
    assert.deepEqual(from(START_S + 299), [240]);
    assert.deepEqual(from(START_S + 300), []);
    assert.deepEqual(from(Number.POSITIVE_INFINITY), []);
  });

  test('are forgotten after a day, and not before', () => {
    const { clock, traffic } = counting();
    const minutes = REMEMBERED_MINUTES + 5;
    for (let minute = 0; minute < minutes; minute++, clock.nowS += 60) traffic.countEnded(END);
    // The running second counts among them only once it is over.
    traffic.countEnded(END);
    const kept = traffic.minutesSince(0).map(({ atS }) => (atS - START_S) / 60);
    assert.deepEqual([kept.length, kept[0], kept.at(-1)], [REMEMBERED_MINUTES + 1, 5, minutes]);
  });

  test('keep what they have when they are read and merged', () => {
    const { clock, traffic } = counting();
    for (; clock.nowS < START_S + 90; clock.nowS++) traffic.countEnded(END);
    const before = structuredClone(traffic.minutesSince(0));
    mergedMinutes([traffic.minutesSince(0), traffic.minutesSince(0)]);
    assert.deepEqual(traffic.minutesSince(0), before);
  });

  test('of several workers have the sums of all seconds, whatever the clock does', () => {
    const anyCount = fc.record({ worker: fc.nat(2), waitS: fc.integer({ min: -30, max: 90 }), isError: fc.boolean() });
    fc.assert(
      fc.property(fc.array(anyCount, { maxLength: 60 }), (counts) => {
        const clock = { nowS: START_S };
        const workers = Array.from({ length: 3 }, () => new Traffic(() => clock.nowS));
        const expected = new Map<number, number>();
        const latest = [0, 0, 0];
        for (const { worker, waitS, isError } of counts) {
          clock.nowS += waitS;
          const atS = Math.max(clock.nowS, latest[worker] ?? 0);
          latest[worker] = atS;
          const minuteS = Math.floor(atS / 60) * 60;
          expected.set(minuteS, (expected.get(minuteS) ?? 0) + 1);
          if (isError) workers[worker]?.countError('a');
          else workers[worker]?.countEnded(END);
        }
        const sums = mergedMinutes(workers.map((traffic) => traffic.minutesSince(0)));
        assert.deepEqual(
          sums.map(({ atS, requests, errors }) => [atS, requests + (errors.get('a') ?? 0)]),
          [...expected].toSorted(([a], [b]) => a - b),
        );
      }),
    );
  });

  test('reach back further than the seconds', () => {
    const { clock, traffic } = counting();
    traffic.countEnded(END);
    clock.nowS += 2 * REMEMBERED_S;
    traffic.countEnded(END);
    assert.deepEqual([traffic.since(0).length, traffic.minutesSince(0).length], [1, 2]);
  });
});
