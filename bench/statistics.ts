/** Figures out of samples: percentiles of a run, and medians over the runs. */

/** Latencies of one run, in milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

/** The sample below which `share` (0 to 1) of all lie. `sorted` is in ascending order; NaN when it is empty. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  const index = Math.min(sorted.length - 1, Math.floor(sorted.length * share));
  return sorted[index] ?? Number.NaN;
}

export function percentilesOf(samples: readonly number[]): Percentiles {
  const sorted = Float64Array.from(samples).sort();
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) };
}

/** The middle of the values; the mean of the two middle ones where their number is even. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
}

/**
 * The median of the ratios of each value to its partner of the same round. A machine that is slow for a while is slow
 * for both, so that this varies less than the ratio of the medians does.
 */
export function medianRatio(values: readonly number[], partners: readonly number[]): number {
  return median(values.map((value, round) => value / (partners[round] ?? Number.NaN)));
}
