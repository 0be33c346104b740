/**
 * Quantiles of histograms: close to the exact ones, and the same for counts of one thread or
 * several.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { addHistogram, emptyHistogram, quantile, record } from '../../../src/observe/histogram.ts';

/** The range of the buckets: twenty minutes. */
const LONGEST_MS = 1_200_000;
const durations = fc.array(fc.integer({ min: 0, max: LONGEST_MS }), { minLength: 1, maxLength: 200 });
const shares = fc.double({ min: 0.01, max: 1, noNaN: true });

function histogramOf(list: readonly number[]) {
  const histogram = emptyHistogram();
  for (const each of list) record(histogram, each);
  return histogram;
}

/** The exact quantile: the smallest duration that this share of all does not exceed. */
function exact(list: readonly number[], share: number): number {
  const sorted = list.toSorted((a, b) => a - b);
  return sorted[Math.ceil(share * list.length) - 1] ?? 0;
}

describe('a quantile', () => {
  test('is never below the exact one, and at most a quarter above it', () => {
    fc.assert(
      fc.property(durations, shares, (list, share) => {
        const found = quantile(histogramOf(list), share) ?? -1;
        // Durations below a millisecond share a bucket, and the result is a whole number.
        const real = Math.max(1, exact(list, share));
        assert.ok(found >= real - 0.5 && found <= real * 1.25 + 0.5, `${found} for ${real}`);
      }),
    );
  });

  test('never falls as the share grows', () => {
    fc.assert(
      fc.property(durations, shares, shares, (list, a, b) => {
        const histogram = histogramOf(list);
        const [less, more] = [quantile(histogram, Math.min(a, b)) ?? 0, quantile(histogram, Math.max(a, b)) ?? 0];
        assert.ok(less <= more);
      }),
    );
  });

  test('of nothing is undefined', () => assert.equal(quantile(emptyHistogram(), 0.5), undefined));

  test('of durations beyond the last bucket is that bucket', () => {
    assert.equal(quantile(histogramOf([1e9]), 0.5), quantile(histogramOf([1e12]), 0.5));
  });
});

test('counts of several threads add up to those of all', () => {
  fc.assert(
    fc.property(fc.array(durations, { maxLength: 4 }), (threads) => {
      const sum = emptyHistogram();
      for (const list of threads) addHistogram(sum, histogramOf(list));
      assert.deepEqual(sum, histogramOf(threads.flat()));
    }),
  );
});

test('every duration is counted once', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: -5, max: 1e9, noNaN: true })), (list) => {
      assert.equal(
        histogramOf(list).reduce((sum, each) => sum + each, 0),
        list.length,
      );
    }),
  );
});
