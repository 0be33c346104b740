/** Histograms of durations with fixed buckets, so that histograms of several threads can be added. Pure. */

const BUCKETS = 64;
/** The ratio of each bucket's upper bound to the one before: 64 buckets span 1 ms to 20 minutes. */
const GROWTH = 1.25;

/** The number of durations in each bucket, the shortest first. Missing buckets at the end are empty. */
export type Histogram = number[];

export function emptyHistogram(): Histogram {
  return new Array<number>(BUCKETS).fill(0);
}

/** The histogram without empty buckets at its end, for storage and transfer. */
export function withoutTail(histogram: Histogram): Histogram {
  return histogram.slice(0, histogram.findLastIndex((count) => count > 0) + 1);
}

export function record(histogram: Histogram, milliseconds: number): void {
  const index = Math.min(BUCKETS - 1, Math.max(0, Math.ceil(Math.log(Math.max(1, milliseconds)) / Math.log(GROWTH))));
  histogram[index] = (histogram[index] ?? 0) + 1;
}

export function addHistogram(to: Histogram, from: Histogram): void {
  for (let index = 0; index < from.length; index++) to[index] = (to[index] ?? 0) + (from[index] ?? 0);
}

/** The quantile of the durations in milliseconds, accurate to 25%; undefined without durations. */
export function quantile(histogram: Histogram, share: number): number | undefined {
  const total = histogram.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let seen = 0;
  const index = histogram.findIndex((count) => {
    seen += count;
    return seen >= share * total;
  });
  return Math.round(GROWTH ** index);
}
