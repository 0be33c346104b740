/** Statistics of samples: percentiles within a run, and medians over runs. */

/** Latencies of one run, in milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
}

/**
 * The sample that `share` (0 to 1) of all do not exceed. `sorted` is in ascending order; NaN if it
 * is empty.
 */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  const index = Math.min(sorted.length - 1, Math.floor(sorted.length * share));
  return sorted[index] ?? Number.NaN;
}

export function percentilesOf(samples: readonly number[]): Percentiles {
  const sorted = Float64Array.from(samples).sort();
  const at = (share: number) => percentile(sorted, share);
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999) };
}

/** The median of the values; for an even number, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
}

/** The median of a comparison of each value with its partner of the same round. */
export function medianOfPairs(
  values: readonly number[],
  partners: readonly number[],
  compare: (value: number, partner: number) => number,
): number {
  return median(values.map((value, round) => compare(value, partners[round] ?? Number.NaN)));
}
