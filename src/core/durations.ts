/** Duration histograms for metrics. The counts can be in memory shared with another thread. Pure. */

/** Upper bounds of the buckets in milliseconds, ascending. A last bucket counts longer durations. */
export type Bounds = readonly number[];

/** For requests: from a cache hit to a long chain of reasoning. */
export const REQUEST_BOUNDS: Bounds = [
  10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000,
];

/** For transactions and syncs: from a page in memory to a hanging disk. */
export const DISK_BOUNDS: Bounds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

/** The count of each bucket, followed by the sum of all durations in milliseconds. */
export type DurationCounts = Float64Array;

/** Durations of the ledger's batches and flushes. */
export interface LedgerTimes {
  readonly batch: DurationCounts;
  readonly sync: DurationCounts;
}

export function noDurations(bounds: Bounds): DurationCounts {
  return new Float64Array(bounds.length + 2);
}

/** Like `noDurations`, in shared memory. One thread records, the others only read. */
export function sharedDurations(bounds: Bounds): DurationCounts {
  return new Float64Array(new SharedArrayBuffer(noDurations(bounds).byteLength));
}

/** Counts a duration. A duration equal to a bound is in the bucket of that bound. */
export function recordDuration(counts: DurationCounts, bounds: Bounds, milliseconds: number): void {
  let bucket = 0;
  while (bucket < bounds.length && milliseconds > (bounds[bucket] as number)) bucket++;
  counts[bucket] = (counts[bucket] as number) + 1;
  const sum = bounds.length + 1;
  counts[sum] = (counts[sum] as number) + milliseconds;
}
