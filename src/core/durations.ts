/** Counts durations in buckets, for metrics. The counts can lie in memory that another thread reads. Pure. */

/** The upper bounds of the buckets, in milliseconds, the least first; a last bucket takes the rest. */
export type Bounds = readonly number[];

/** Of requests: from a lookup in a cache to a long chain of reasoning. */
export const REQUEST_BOUNDS: Bounds = [
  10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000,
];

/** Of transactions and syncs: from a page in memory to a disk that hangs. */
export const DISK_BOUNDS: Bounds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

/** How many durations fell into each bucket, and at the end their sum in milliseconds. */
export type DurationCounts = Float64Array;

/** How long the ledger's batches and flushes took. */
export interface LedgerTimes {
  readonly batch: DurationCounts;
  readonly sync: DurationCounts;
}

export function noDurations(bounds: Bounds): DurationCounts {
  return new Float64Array(bounds.length + 2);
}

/** The same, in memory that threads share. One of them records, the others only read. */
export function sharedDurations(bounds: Bounds): DurationCounts {
  return new Float64Array(new SharedArrayBuffer(noDurations(bounds).byteLength));
}

/** A duration that equals a bound is in its bucket. */
export function recordDuration(counts: DurationCounts, bounds: Bounds, milliseconds: number): void {
  let bucket = 0;
  while (bucket < bounds.length && milliseconds > (bounds[bucket] as number)) bucket++;
  counts[bucket] = (counts[bucket] as number) + 1;
  const sum = bounds.length + 1;
  counts[sum] = (counts[sum] as number) + milliseconds;
}
