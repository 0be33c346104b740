/**
 * The traffic of the last minutes, second by second: counted, forgotten, and added up over several
 * workers.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Ended, emptySecond, merged, REMEMBERED_S, type Second, Traffic } from '../../../src/observe/traffic.ts';

const START_S = 1_000_000;

function ended(more: Partial<Ended> = {}): Ended {
  return { tokens: 10, costNanos: 5n, firstByteMs: 20, ...more };
}

/** A count whose clock the test sets. */
function counting() {
  const clock = { nowS: START_S };
  return { clock, traffic: new Traffic(() => clock.nowS) };
}

const total = (seconds: readonly Second[], read: (second: Second) => number) =>
  seconds.reduce((sum, second) => sum + read(second), 0);
const times = (seconds: readonly Second[]) => seconds.map(({ atS }) => atS - START_S);

describe('a second', () => {
  test('adds up what ended in it', () => {
    const { traffic } = counting();
    traffic.countEnded(ended());
    traffic.countEnded(ended({ tokens: 3, costNanos: 1n, firstByteMs: undefined }));
    traffic.countEnded(ended());
    traffic.countAttempt('mock', 'ok');
    traffic.countAttempt('mock', 'failed');
    traffic.countAttempt('openai', 'ok');
    traffic.countError('rate_limited');
    traffic.countError('rate_limited');
    const [second, ...others] = traffic.since(0);
    assert.deepEqual(others, []);
    assert.deepEqual([second?.atS, second?.requests, second?.tokens, second?.costNanos], [START_S, 3, 23, 11n]);
    assert.deepEqual(second?.errors, new Map([['rate_limited', 2]]));
    assert.equal(
      second?.firstByteMs.reduce((sum, count) => sum + count),
      2,
    );
    assert.deepEqual(second?.attempts.get('mock'), { requests: 2, failures: 1 });
    assert.deepEqual(second?.attempts.get('openai'), { requests: 1, failures: 0 });
  });

  test('in which nothing happened is left out', () => {
    const { clock, traffic } = counting();
    traffic.countError('a');
    clock.nowS += 7;
    traffic.countError('a');
    assert.deepEqual(times(traffic.since(0)), [0, 7]);
  });
});

describe('the past', () => {
  test('is returned from a second on, that one included', () => {
    const { clock, traffic } = counting();
    for (; clock.nowS < START_S + 5; clock.nowS++) traffic.countAttempt('mock', 'ok');
    assert.deepEqual(times(traffic.since(START_S + 3)), [3, 4]);
    assert.deepEqual(traffic.attemptsSince(START_S + 3), new Map([['mock', { requests: 2, failures: 0 }]]));
  });

  test('is forgotten after five minutes, and not before', () => {
    const { clock, traffic } = counting();
    for (; clock.nowS < START_S + 2 * REMEMBERED_S; clock.nowS++) traffic.countEnded(ended());
    const kept = times(traffic.since(0));
    assert.deepEqual([kept.length, kept[0], kept.at(-1)], [REMEMBERED_S, REMEMBERED_S, 2 * REMEMBERED_S - 1]);
  });

  test('counts into the latest second while the clock is set back', () => {
    const { clock, traffic } = counting();
    traffic.countEnded(ended());
    clock.nowS -= 3_600;
    traffic.countEnded(ended());
    clock.nowS += 3_601;
    traffic.countEnded(ended());
    assert.deepEqual(times(traffic.since(0)), [0, 1]);
    assert.equal(
      total(traffic.since(0), ({ requests }) => requests),
      3,
    );
  });

  test('is in order and bounded, and loses nothing of the last five minutes, whatever the clock does', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -20, max: 100 }), { maxLength: 400 }), (steps) => {
        const { clock, traffic } = counting();
        const counted: number[] = [];
        for (const step of steps) {
          clock.nowS += step;
          counted.push(Math.max(clock.nowS, counted.at(-1) ?? 0));
          traffic.countEnded(ended());
        }
        const seconds = traffic.since(0);
        const newest = counted.at(-1) ?? 0;
        const expected = counted.filter((atS) => atS > newest - REMEMBERED_S);
        assert.deepEqual(
          seconds.map(({ atS }) => atS),
          [...new Set(expected)],
        );
        assert.equal(
          total(seconds, ({ requests }) => requests),
          expected.length,
        );
      }),
    );
  });
});

const anyCount = fc.record({
  worker: fc.nat(2),
  waitS: fc.integer({ min: 0, max: 3 }),
  attempt: fc.record({ upstream: fc.constantFrom('mock', 'openai'), result: fc.constantFrom('ok', 'failed') }),
  error: fc.option(fc.constantFrom('rate_limited', 'upstream_error'), { nil: undefined }),
  end: fc.record({
    tokens: fc.nat(1_000),
    costNanos: fc.bigInt({ min: 0n, max: 10n ** 15n }),
    firstByteMs: fc.option(fc.nat(5_000), { nil: undefined }),
  }),
});

describe('several workers', () => {
  test('add up to what one worker would have counted', () => {
    fc.assert(
      fc.property(fc.array(anyCount, { maxLength: 60 }), (counts) => {
        const clock = { nowS: START_S };
        const workers = Array.from({ length: 3 }, () => new Traffic(() => clock.nowS));
        const single = new Traffic(() => clock.nowS);
        for (const { worker, waitS, attempt, error, end } of counts) {
          clock.nowS += waitS;
          for (const traffic of [workers[worker], single]) {
            traffic?.countAttempt(attempt.upstream, attempt.result);
            if (error === undefined) traffic?.countEnded(end);
            else traffic?.countError(error);
          }
        }
        const sum = merged(workers.map((traffic) => traffic.since(0)));
        assert.deepEqual(sum, single.since(0));
      }),
    );
  });

  test('keep their own counts when they are added up', () => {
    const { traffic } = counting();
    traffic.countEnded(ended());
    const before = structuredClone(traffic.since(0));
    merged([traffic.since(0), traffic.since(0)]);
    assert.deepEqual(traffic.since(0), before);
  });

  test('that counted nothing add nothing', () => {
    assert.deepEqual(merged([]), []);
    assert.deepEqual(merged([[], [emptySecond(5)], []]), [emptySecond(5)]);
  });
});
