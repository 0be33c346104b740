/** Periods: together they cover the range exactly, and the days and months among them are whole. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { DAY_MS } from '../../../src/core/clock.ts';
import { type Period, periodsOf } from '../../../src/state/periods.ts';

/** From here on days do not sort as text, and nothing is counted. */
const END_MS = Date.UTC(9999, 11, 1);

/** The start and the end of a period in milliseconds. */
function boundsOf({ kind, from, to }: Period): readonly [from: number, to: number] {
  if (kind === 'moments') return [from, to];
  const suffix = kind === 'months' ? '-01T00:00:00Z' : 'T00:00:00Z';
  return [Date.parse(`${from}${suffix}`), Date.parse(`${to}${suffix}`)];
}

/** The part of a range that can contain anything. */
function clamped(ms: number | undefined, otherwise: number): number {
  return Math.min(Math.max(ms ?? otherwise, 0), END_MS);
}

const around = (first: number, last: number) =>
  fc
    .integer({ min: first, max: last })
    .chain((ms) =>
      fc.constantFrom(
        ms,
        Math.floor(ms / DAY_MS) * DAY_MS,
        Date.UTC(new Date(ms).getUTCFullYear(), new Date(ms).getUTCMonth()),
        Date.UTC(new Date(ms).getUTCFullYear(), 0),
      ),
    );
const beside = (edges: fc.Arbitrary<number>) =>
  fc.tuple(edges, fc.integer({ min: -1, max: 1 })).map(([edge, step]) => edge + step);
/**
 * Moments near each other, anywhere, or open; often on the boundary of a day, a month or a year.
 */
const ends = fc.oneof(
  { weight: 5, arbitrary: beside(around(Date.UTC(2026, 0), Date.UTC(2027, 6))) },
  { weight: 2, arbitrary: beside(around(Date.UTC(1970, 0, 2), Date.UTC(9999, 11, 31))) },
  { weight: 1, arbitrary: fc.constantFrom(undefined, 0, -1, END_MS, END_MS - 1, END_MS + 40 * DAY_MS, 8.64e15) },
);
const ranges = fc.record({ since: ends, until: ends, finest: fc.constantFrom('months' as const, 'days' as const) });

/** Whether there is a whole month between two moments. */
function holdsWholeMonth(from: number, to: number): boolean {
  const date = new Date(from - 1);
  const firstMonth = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
  const next = new Date(firstMonth);
  return Date.UTC(next.getUTCFullYear(), next.getUTCMonth() + 1) <= to;
}

describe('the periods of any range', () => {
  test('cover the range without gaps or overlaps', () => {
    fc.assert(
      fc.property(ranges, ({ since, until, finest }) => {
        const [start, end] = [clamped(since, 0), clamped(until, END_MS)];
        let at = start;
        for (const period of periodsOf(since, until, finest)) {
          const [from, to] = boundsOf(period);
          assert.equal(from, at, JSON.stringify(period));
          assert.ok(to > from, JSON.stringify(period));
          at = to;
        }
        assert.equal(at, Math.max(start, end));
      }),
      { numRuns: 5_000 },
    );
  });

  test('contain each moment of the range once, and none from outside', () => {
    fc.assert(
      fc.property(ranges, beside(around(Date.UTC(2026, 0), Date.UTC(2027, 6))), ({ since, until, finest }, moment) => {
        const holding = periodsOf(since, until, finest).filter((period) => {
          const [from, to] = boundsOf(period);
          return from <= moment && moment < to;
        });
        const isWithin = clamped(since, 0) <= moment && moment < clamped(until, END_MS);
        assert.equal(holding.length, isWithin ? 1 : 0);
      }),
      { numRuns: 5_000 },
    );
  });

  test('use the coarsest sums: no whole day as moments, no whole month as days', () => {
    fc.assert(
      fc.property(ranges, ({ since, until, finest }) => {
        const periods = periodsOf(since, until, finest);
        assert.ok(periods.length <= 5);
        for (const period of periods) {
          const [from, to] = boundsOf(period);
          assert.ok(period.kind !== 'months' || finest === 'months');
          if (period.kind === 'moments') assert.ok(Math.ceil(from / DAY_MS) >= Math.floor(to / DAY_MS));
          if (period.kind === 'days' && finest === 'months')
            assert.ok(!holdsWholeMonth(from, to), JSON.stringify(period));
        }
      }),
      { numRuns: 5_000 },
    );
  });
});

test('a range from the middle of one day to the middle of another has partial days, whole days and months', () => {
  assert.deepEqual(periodsOf(Date.UTC(2026, 0, 30, 6), Date.UTC(2026, 3, 2, 18), 'months'), [
    { kind: 'moments', from: Date.UTC(2026, 0, 30, 6), to: Date.UTC(2026, 0, 31) },
    { kind: 'days', from: '2026-01-31', to: '2026-02-01' },
    { kind: 'months', from: '2026-02', to: '2026-04' },
    { kind: 'days', from: '2026-04-01', to: '2026-04-02' },
    { kind: 'moments', from: Date.UTC(2026, 3, 2), to: Date.UTC(2026, 3, 2, 18) },
  ]);
});

test('an open range is months, and a range that ends before it starts is empty', () => {
  assert.deepEqual(periodsOf(undefined, undefined, 'months'), [{ kind: 'months', from: '1970-01', to: '9999-12' }]);
  for (const [since, until] of [
    [5, 5],
    [6, 5],
    [Date.UTC(2026, 3), Date.UTC(2026, 1)],
    [-7, -5],
  ]) {
    assert.deepEqual(periodsOf(since, until, 'months'), []);
  }
});
