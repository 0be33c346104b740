/** Periods of budgets: which there are, where they begin and end, and when a sliding window frees. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  addToStep,
  calendarPeriod,
  isSamePeriod,
  lastToFree,
  leavesAtMs,
  parsePeriod,
  shownTime,
  slidingSpend,
  sortedBudgets,
  stepOf,
} from '../../../src/core/budgets.ts';
import { isoTime } from '../../../src/core/clock.ts';

const budget = (period: string, limitNanos = 10n) => ({ period, limitNanos });

const PERIODS: readonly (readonly [name: string, period: string | number | undefined])[] = [
  ['day', 'day'],
  ['week', 'week'],
  ['total', 'total'],
  ['1s', 1],
  ['90m', 5_400],
  ['24h', 86_400],
  ['30d', 2_592_000],
  ['366d', 31_622_400],
  ['367d', undefined],
  ['0s', undefined],
  ['01h', undefined],
  ['1w', undefined],
  ['1.5h', undefined],
  ['-1h', undefined],
  ['h', undefined],
  ['month', undefined],
  ['', undefined],
];

describe('a period', () => {
  for (const [name, expected] of PERIODS) {
    test(`${JSON.stringify(name)} is ${expected === undefined ? 'none' : expected}`, () => {
      const period = parsePeriod(name);
      assert.equal(period?.kind === 'sliding' ? period.windowS : period?.kind, expected);
    });
  }

  test('is the same as another of the same length, but a day is no 24 hours', () => {
    assert.ok(isSamePeriod(budget('24h'), budget('1d')));
    assert.ok(isSamePeriod(budget('day'), budget('day')));
    assert.ok(!isSamePeriod(budget('day'), budget('24h')));
  });

  test('comes before longer ones', () => {
    const sorted = sortedBudgets(['total', 'week', '8d', '7d', '24h', 'day', '90s'].map((period) => budget(period)));
    assert.deepEqual(
      sorted.map(({ period }) => period),
      ['90s', 'day', '24h', 'week', '7d', '8d', 'total'],
    );
  });
});

test('days and weeks are those of UTC, and weeks begin on Monday', () => {
  const table = [
    ['2026-11-22T23:59:59.999Z', '2026-11-22', '2026-11-16'],
    ['2026-11-23T00:00:00.000Z', '2026-11-23', '2026-11-23'],
    ['2026-01-01T12:00:00.000Z', '2026-01-01', '2025-12-29'],
    ['1970-01-01T00:00:00.000Z', '1970-01-01', '1969-12-29'],
  ] as const;
  for (const [at, day, monday] of table) {
    const periods = (['day', 'week'] as const).map((kind) => calendarPeriod(kind, Date.parse(at)));
    assert.deepEqual(
      periods.map(({ fromMs, toMs }) => [isoTime(fromMs).slice(0, 10), (toMs - fromMs) / 86_400_000]),
      [
        [day, 1],
        [monday, 7],
      ],
    );
  }
});

describe('a sliding window', () => {
  test('counts a charge for its length at least, and a hundredth longer at most', () => {
    for (const windowS of [1, 7, 60, 86_400]) {
      for (const atMs of [1_000_000_000_000, 1_000_000_000_123, 1_795_338_222_999]) {
        const late = leavesAtMs(stepOf(atMs, windowS), windowS) - (atMs + windowS * 1_000);
        assert.ok(late > 0 && late <= windowS * 10, `${windowS} s, ${late} ms late`);
      }
    }
  });

  test('frees when enough has left, and not before', () => {
    const steps = [
      [3_000, 4n],
      [1_000, 5n],
      [2_000, 3n],
    ] as const;
    const spent = (limitNanos: bigint, nowMs: number) => {
      const spend = slidingSpend(budget('100s', limitNanos), 100, steps, nowMs);
      return [spend.chargedNanos, spend.freesAtMs, spend.resetsAtMs];
    };
    assert.deepEqual(spent(12n, 50_000), [12n, 102_000, 104_000]);
    assert.deepEqual(spent(8n, 50_000), [12n, 102_000, 104_000]);
    assert.deepEqual(spent(7n, 50_000), [12n, 103_000, 104_000]);
    assert.deepEqual(spent(4n, 50_000), [12n, 104_000, 104_000]);
    assert.deepEqual(spent(13n, 50_000), [12n, 50_000, 104_000]);
    assert.deepEqual(spent(0n, 50_000), [12n, null, 104_000]);
    assert.deepEqual(spent(12n, 101_999), [12n, 102_000, 104_000]);
    assert.deepEqual(spent(12n, 102_000), [7n, 102_000, 104_000]);
    assert.deepEqual(spent(12n, 104_000), [0n, 104_000, null]);
  });
});

test('the steps of a window stay few, and keep what counts', () => {
  const steps = new Map<number, bigint>();
  for (let atMs = 0; atMs < 60_000; atMs += 10) {
    addToStep(steps, 1, atMs, 1n);
    assert.ok(steps.size <= 201);
    assert.equal(slidingSpend(budget('1s', 1_000n), 1, steps, atMs).chargedNanos, BigInt(Math.min(atMs / 10, 100) + 1));
  }
});

test('of several limits the one that frees last is named, and never is last', () => {
  const [soon, late, never] = [5, 9, null].map((freesAtMs) => ({ freesAtMs }));
  assert.equal(lastToFree([soon, late] as never), late);
  assert.equal(lastToFree([late, never, soon] as never), never);
  assert.equal(lastToFree([]), undefined);
});

test('times in messages are rounded up: whoever waits until then is not early', () => {
  assert.equal(shownTime(Date.UTC(2026, 10, 23)), '2026-11-23T00:00:00Z');
  assert.equal(shownTime(Date.UTC(2026, 10, 23) + 1), '2026-11-23T00:00:01Z');
});
