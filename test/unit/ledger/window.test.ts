/**
 * The sliding window compared with a list of all entries: its total, when it has room, and undoing
 * an entry.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  type Leaving,
  SlidingWindow,
  secondsUntil,
  timeUntilFreed,
  WINDOW_MS,
} from '../../../src/ledger/local/window.ts';
import { runs } from '../../support/at-length.ts';

const RUNS = 2_000;
// Arrays below are of size `max`: by default fast-check keeps them so short that the ring would
// hardly ever grow.

/** The same window, slow and simple: a list of every entry ever added. */
class NaiveWindow {
  readonly entries: Leaving[] = [];

  add(nowMs: number, weight: number): void {
    this.entries.push({ atMs: nowMs + WINDOW_MS, weight });
  }

  within(nowMs: number): Leaving[] {
    return this.entries.filter(({ atMs }) => atMs > nowMs);
  }

  total(nowMs: number): number {
    return this.within(nowMs).reduce((sum, { weight }) => sum + weight, 0);
  }
}

type Step = { kind: 'add'; afterMs: number; weight: number } | { kind: 'undo' } | { kind: 'look'; afterMs: number };

// Mistakes are likely at steps of zero, of a fraction, and of about the length of the window.
const pauses = fc.oneof(
  { weight: 4, arbitrary: fc.nat({ max: 5_000 }) },
  { weight: 2, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.constantFrom(WINDOW_MS - 1, WINDOW_MS, WINDOW_MS + 1) },
  { weight: 1, arbitrary: fc.double({ min: 0, max: 3_000, noNaN: true }) },
);
const weights = fc.nat({ max: 1_000_000 });
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('add' as const), afterMs: pauses, weight: weights }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('undo' as const) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('look' as const), afterMs: pauses }) },
  ) as fc.Arbitrary<Step>,
  { maxLength: 60, size: 'max' },
);

describe('a sliding window', () => {
  test('has at every moment the total of a list of all entries', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const window = new SlidingWindow();
        const naive = new NaiveWindow();
        let nowMs = 1_000;
        let canUndo = false;
        for (const step of list) {
          if (step.kind === 'undo') {
            // Only the entry that was just added is ever undone.
            if (!canUndo) continue;
            window.undoAdd();
            naive.entries.pop();
          } else {
            nowMs += step.afterMs;
            if (step.kind === 'add') {
              window.add(nowMs, step.weight);
              naive.add(nowMs, step.weight);
            }
          }
          canUndo = step.kind === 'add';
          assert.equal(window.total(nowMs), naive.total(nowMs));
          assert.deepEqual([...window.leaving()], naive.within(nowMs));
          assert.equal(window.emptyAtMs(), naive.within(nowMs).at(-1)?.atMs);
        }
      }),
      { numRuns: runs(RUNS) },
    );
  });

  test('that is checked before each entry never exceeds its limit in any 60 seconds', () => {
    const attempts = fc.array(fc.record({ afterMs: pauses, weight: fc.integer({ min: 1, max: 40 }) }), {
      maxLength: 80,
      size: 'max',
    });
    fc.assert(
      fc.property(attempts, fc.integer({ min: 1, max: 100 }), (list, limit) => {
        const window = new SlidingWindow();
        const admitted: { atMs: number; weight: number }[] = [];
        let nowMs = 0;
        for (const { afterMs, weight } of list) {
          nowMs += afterMs;
          if (window.total(nowMs) + weight > limit) continue;
          window.add(nowMs, weight);
          admitted.push({ atMs: nowMs, weight });
        }
        for (const { atMs: start } of admitted) {
          const inside = admitted.filter(({ atMs }) => atMs >= start && atMs < start + WINDOW_MS);
          assert.ok(inside.reduce((sum, { weight }) => sum + weight, 0) <= limit);
        }
      }),
      { numRuns: runs(RUNS) },
    );
  });

  test('counts an entry until its 60 seconds are over, and no longer', () => {
    const window = new SlidingWindow();
    window.add(500, 7);
    assert.equal(window.total(500 + WINDOW_MS - 0.001), 7);
    assert.equal(window.total(500 + WINDOW_MS), 0);
    assert.equal(window.emptyAtMs(), undefined);
  });

  test('keeps its order when it grows while the oldest entries leave', () => {
    const window = new SlidingWindow();
    const naive = new NaiveWindow();
    for (let i = 0; i < 5_000; i++) {
      const nowMs = i * 97;
      window.add(nowMs, i);
      naive.add(nowMs, i);
      if (i % 250 === 0) assert.equal(window.total(nowMs), naive.total(nowMs));
    }
    const endMs = 5_000 * 97;
    assert.equal(window.total(endMs), naive.total(endMs));
    assert.deepEqual([...window.leaving()], naive.within(endMs));
  });

  test('that is empty ignores an undo', () => {
    const window = new SlidingWindow();
    window.undoAdd();
    assert.equal(window.total(0), 0);
  });
});

describe('the time until enough has left', () => {
  const sources = fc
    .array(fc.record({ atMs: fc.nat({ max: 60_000 }), weight: fc.nat({ max: 50 }) }), { maxLength: 12, size: 'max' })
    .map((list) => list.toSorted((a, b) => a.atMs - b.atMs));

  test('is the earliest time at which enough has left of both sources', () => {
    fc.assert(
      fc.property(sources, sources, fc.integer({ min: 1, max: 400 }), (first, second, need) => {
        const all = [...first, ...second];
        const freedBy = (time: number) => all.reduce((sum, { atMs, weight }) => sum + (atMs <= time ? weight : 0), 0);
        const times = all.map(({ atMs }) => atMs).toSorted((a, b) => a - b);
        const expected = times.find((time) => freedBy(time) >= need) ?? Number.POSITIVE_INFINITY;
        assert.equal(timeUntilFreed(need, first, second), expected);
      }),
      { numRuns: runs(RUNS) },
    );
  });

  test('in whole seconds is long enough for the weight to fit, and a second less is not', () => {
    const entries = fc.array(fc.record({ afterMs: fc.nat({ max: 9_000 }), weight: fc.integer({ min: 1, max: 30 }) }), {
      minLength: 1,
      maxLength: 30,
      size: 'max',
    });
    fc.assert(
      fc.property(entries, fc.integer({ min: 1, max: 60 }), (list, weight) => {
        const limit = 60;
        const window = new SlidingWindow();
        let nowMs = 0;
        for (const entry of list) {
          nowMs += entry.afterMs;
          if (window.total(nowMs) + entry.weight <= limit) window.add(nowMs, entry.weight);
        }
        const need = window.total(nowMs) + weight - limit;
        if (need <= 0) return;
        const seconds = secondsUntil(timeUntilFreed(need, window.leaving(), []), nowMs);
        const fitsAfter = (wait: number) => {
          const left = [...window.leaving()].filter(({ atMs }) => atMs > nowMs + wait * 1000);
          return left.reduce((sum, entry) => sum + entry.weight, 0) + weight <= limit;
        };
        assert.ok(fitsAfter(seconds), `refused again after ${seconds} s`);
        assert.ok(seconds === 1 || !fitsAfter(seconds - 1), `${seconds - 1} s would have been enough`);
      }),
      { numRuns: runs(RUNS) },
    );
  });

  test('of an entry that was just added is 60 seconds whatever the clock shows, and it has left by then', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e10, noNaN: true }), (nowMs) => {
        const window = new SlidingWindow();
        window.add(nowMs, 1);
        assert.equal(secondsUntil(window.emptyAtMs() as number, nowMs), 60);
        assert.equal(window.total(nowMs + WINDOW_MS), 0);
      }),
      { numRuns: runs(RUNS) },
    );
  });

  test('is in whole seconds, rounded up, and at least one', () => {
    assert.equal(secondsUntil(1_000, 1_000), 1);
    assert.equal(secondsUntil(500, 1_000), 1);
    assert.equal(secondsUntil(1_000.5, 1_000), 1);
    assert.equal(secondsUntil(2_000, 1_000), 1);
    assert.equal(secondsUntil(2_000.5, 1_000), 2);
    assert.equal(secondsUntil(61_000, 1_000), 60);
  });
});
