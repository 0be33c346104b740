/** Divides the traffic of a time range into buckets for the charts. Pure. */
import type { TrafficRow } from '../control/protocol.ts';
import { addHistogram, emptyHistogram, type Histogram, quantile } from '../observe/histogram.ts';
import type { ChartRange, Model } from './model.ts';

/** The length of each range and of its rows. */
const RANGES_S: Readonly<Record<ChartRange, { readonly spanS: number; readonly rowS: number }>> = {
  '1m': { spanS: 60, rowS: 1 },
  '5m': { spanS: 300, rowS: 1 },
  '1h': { spanS: 3_600, rowS: 60 },
  '24h': { spanS: 86_400, rowS: 60 },
};
/** Bucket lengths, each a divisor of every range that uses it. */
const BUCKETS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_200, 1_800, 3_600] as const;
const LONGEST_BUCKET_S = 7_200;
/** Minimum elapsed time of a bucket that sets the scale: the rate of its first second may be far from the average. */
const SETTLED_S = 5;
/** Errors after admission: their requests count as ended. All other errors are refusals, which do not. */
const AFTER_ADMISSION = ['upstream_error', 'internal_error'] as const;

/** The traffic of one bucket. Rates are per second. */
export interface Bucket {
  /** Ended requests and refusals. */
  readonly answers: number;
  /** Errors among the answers. */
  readonly errors: number;
  readonly tokens: number;
  readonly usd: number;
  /** First-byte times in milliseconds; undefined without one. */
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  /** Whether the bucket is complete, or long enough to set the scale. */
  readonly isSettled: boolean;
}

interface Sum {
  answers: number;
  errors: number;
  tokens: number;
  usd: number;
  firstByte: Histogram | undefined;
}

/** Whether the range consists of minutes, of which the journal has more than a gateway. */
export function isLongRange({ chartRange }: Model): boolean {
  return RANGES_S[chartRange].rowS > 1;
}

let last: { readonly of: readonly unknown[]; readonly buckets: readonly Bucket[] } | undefined;

/** Returns the buckets of the chosen range, oldest first, at most one per sample. */
export function series(model: Model, samples: number): readonly Bucket[] {
  const { chartRange, seconds, minutes, nowMs } = model;
  const rows = isLongRange(model) ? minutes : seconds;
  // Excludes the current second, which would always look like a dip.
  const endS = Math.floor(nowMs / 1_000);
  // Cached: all charts of a screen have the same width, and key presses do not change them.
  const of = [rows, endS, chartRange, samples];
  if (last === undefined || of.some((part, index) => part !== last?.of[index])) {
    last = { of, buckets: bucketsOf(rows, endS, chartRange, samples) };
  }
  return last.buckets;
}

/**
 * Aligns buckets to multiples of their length since 1970. Buckets relative to the current time would move a request
 * from one to the next, and all columns would change every second.
 */
function bucketsOf(rows: readonly TrafficRow[], endS: number, range: ChartRange, samples: number): readonly Bucket[] {
  const { spanS, rowS } = RANGES_S[range];
  const bucketS = BUCKETS_S.find((each) => each >= rowS && spanS / each <= samples) ?? LONGEST_BUCKET_S;
  const number = Math.ceil(spanS / bucketS);
  const first = Math.floor((endS - 1) / bucketS) - number + 1;
  const sums = new Array<Sum | undefined>(number);
  for (const row of rows) {
    const index = Math.floor(row.at_s / bucketS) - first;
    if (index < 0 || row.at_s >= endS) continue;
    const sum = sums[index] ?? { answers: 0, errors: 0, tokens: 0, usd: 0, firstByte: undefined };
    sums[index] = sum;
    addRow(sum, row);
  }
  return Array.from({ length: number }, (_, index) => {
    const elapsedS = Math.min(bucketS, endS - (first + index) * bucketS);
    return bucketOf(sums[index], elapsedS, elapsedS >= Math.min(bucketS, SETTLED_S));
  });
}

function addRow(sum: Sum, { requests, tokens, cost_usd: cost, errors, first_byte: firstByte }: TrafficRow): void {
  const { errors: failed, refused } = failuresOf(errors);
  sum.answers += requests + refused;
  sum.errors += failed;
  sum.tokens += tokens;
  sum.usd += Number(cost);
  if (firstByte.length === 0) return;
  sum.firstByte ??= emptyHistogram();
  addHistogram(sum.firstByte, firstByte as Histogram);
}

/** Returns the number of errors, and of refusals among them. */
export function failuresOf(errors: TrafficRow['errors']): { readonly errors: number; readonly refused: number } {
  let all = 0;
  for (const code in errors) all += errors[code] ?? 0;
  const admitted = AFTER_ADMISSION.reduce((sum, code) => sum + (errors[code] ?? 0), 0);
  return { errors: all, refused: all - admitted };
}

function bucketOf(sum: Sum | undefined, elapsedS: number, isSettled: boolean): Bucket {
  if (sum === undefined) {
    return { answers: 0, errors: 0, tokens: 0, usd: 0, p50Ms: undefined, p99Ms: undefined, isSettled };
  }
  const { answers, errors, tokens, usd, firstByte } = sum;
  return {
    answers: answers / elapsedS,
    // A failure can be counted one second before its request's end.
    errors: Math.min(errors, answers) / elapsedS,
    tokens: tokens / elapsedS,
    usd: usd / elapsedS,
    p50Ms: firstByte && quantile(firstByte, 0.5),
    p99Ms: firstByte && quantile(firstByte, 0.99),
    isSettled,
  };
}

/** Repeats each bucket so that the samples fill a chart. */
export function stretched<T>(values: readonly T[], samples: number): T[] {
  return Array.from({ length: samples }, (_, sample) => values[Math.floor((sample * values.length) / samples)] as T);
}
