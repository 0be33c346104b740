/** The pace at which the account is charged: over the last hour, from what was charged in all. */
import type { Nanos } from '../core/money.ts';
import type { Spending } from '../operator/forecast.ts';

const HOUR_MS = 3_600_000;
/** The time between two samples. */
const STEP_MS = 60_000;
/** A shorter time says little about a day. */
const LEAST_SPAN_MS = 5 * 60_000;

export class Pace {
  /** One for each minute of an hour at most, the oldest first. */
  readonly #samples: { readonly atMs: number; readonly chargedNanos: Nanos }[] = [];

  /** Adds what was charged in all so far. Undefined as long as too little time has passed to tell a pace. */
  add(atMs: number, chargedNanos: Nanos): Spending | undefined {
    const latest = this.#samples.at(-1);
    // The clock was set back.
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
