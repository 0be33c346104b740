/** Measures the account's spending rate over the last hour. */
import type { Nanos } from '../core/money.ts';
import type { Spending } from '../operator/forecast.ts';

const HOUR_MS = 3_600_000;
/** Minimum time between two samples. */
const STEP_MS = 60_000;
/** Minimum span for a rate: a shorter one does not predict a day. */
const LEAST_SPAN_MS = 5 * 60_000;

export class Pace {
  /** At most one sample per minute of the last hour, the oldest first. */
  readonly #samples: { readonly atMs: number; readonly chargedNanos: Nanos }[] = [];

  /** Records the account's total charges. Returns the spending, or undefined until the samples span {@link LEAST_SPAN_MS}. */
  add(atMs: number, chargedNanos: Nanos): Spending | undefined {
    const latest = this.#samples.at(-1);
    // After a step back of the clock the old samples are useless.
    if (latest !== undefined && atMs < latest.atMs) this.#samples.length = 0;
    if (latest === undefined || atMs - latest.atMs >= STEP_MS || this.#samples.length === 0) {
      this.#samples.push({ atMs, chargedNanos });
    }
    while ((this.#samples[0] as { atMs: number }).atMs < atMs - HOUR_MS) this.#samples.shift();
    const first = this.#samples[0];
    if (first === undefined || atMs - first.atMs < LEAST_SPAN_MS) return undefined;
    return { costNanos: chargedNanos - first.chargedNanos, spanMs: atMs - first.atMs };
  }
}
