/** Current rates, first-byte times and errors, from the last seconds. Pure. */
import type { TrafficRow } from '../control/protocol.ts';
import { ratesOf } from '../control/rates.ts';
import { parseUsd } from '../core/money.ts';
import { addHistogram, emptyHistogram, type Histogram, quantile } from '../observe/histogram.ts';
import { MINUTE_MS, type Spending } from '../operator/forecast.ts';
import type { Model } from './model.ts';
import { failuresOf } from './series.ts';

/** Seconds over which rates are averaged. */
const RATE_S = 10;
const MINUTE_S = 60;

export interface Present {
  /** Averages over the last complete seconds. Refusals count as answers. */
  readonly answersPerS: number;
  readonly errorsPerS: number;
  readonly tokensPerS: number;
  /** Cost of the last minute. */
  readonly spending: Spending;
  /** First-byte times of the last minute, in milliseconds; undefined without a request. */
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  /** Errors of the last minute by code, most frequent first. */
  readonly errors: readonly (readonly [code: string, number: number])[];
}

let last: { readonly seconds: readonly TrafficRow[]; readonly nowS: number; readonly present: Present } | undefined;

/** Computed once per second and cached, since several parts of a screen use it. */
export function presentOf({ seconds, nowMs }: Model): Present {
  const nowS = Math.floor(nowMs / 1_000);
  if (last?.seconds !== seconds || last.nowS !== nowS)
    last = { seconds, nowS, present: workedOut(seconds, nowMs, nowS) };
  return last.present;
}

function workedOut(seconds: readonly TrafficRow[], nowMs: number, nowS: number): Present {
  const { requestsPerS, tokensPerS } = ratesOf(seconds, nowMs, RATE_S);
  const costNanos = parseUsd(ratesOf(seconds, nowMs, MINUTE_S).usdPerMin) ?? 0n;
  const firstByte = emptyHistogram();
  const errors = new Map<string, number>();
  const latest = { errors: 0, refused: 0 };
  for (const { at_s: atS, errors: counts, first_byte: times } of seconds) {
    if (atS < nowS - MINUTE_S) continue;
    addHistogram(firstByte, times as Histogram);
    for (const code in counts) {
      errors.set(code, (errors.get(code) ?? 0) + (counts[code] ?? 0));
    }
    if (atS < nowS - RATE_S || atS >= nowS) continue;
    const failures = failuresOf(counts);
    latest.errors += failures.errors;
    latest.refused += failures.refused;
  }
  return {
    answersPerS: requestsPerS + latest.refused / RATE_S,
    errorsPerS: latest.errors / RATE_S,
    tokensPerS,
    spending: { costNanos, spanMs: MINUTE_MS },
    p50Ms: quantile(firstByte, 0.5),
    p99Ms: quantile(firstByte, 0.99),
    errors: [...errors].sort(([, a], [, b]) => b - a),
  };
}
