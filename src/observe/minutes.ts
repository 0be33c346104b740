/** The traffic of the last day by minute. Pure. */
import type { Nanos } from '../core/money.ts';
import { addHistogram, type Histogram, withoutTail } from './histogram.ts';

const MINUTE_S = 60;
/** The number of kept minutes: 24 hours. */
export const REMEMBERED_MINUTES = 1_440;

/** The counts of one second or one minute. */
export interface Sums {
  /** Its first second, since 1970. */
  readonly atS: number;
  /** Admitted requests that ended. */
  requests: number;
  tokens: number;
  costNanos: Nanos;
  /** Error responses, refusals included, by code. */
  readonly errors: Map<string, number>;
  /** Times from dispatch to the first byte of a response. */
  readonly firstByteMs: Histogram;
}

/**
 * The minutes with traffic, the oldest first. They take 1.4 MB if every minute has traffic, and at most 2.3 MB, if each has
 * all error codes and all durations.
 */
export class Minutes {
  readonly #minutes: Sums[] = [];

  /** Adds a completed second. Seconds must arrive in order. */
  add(second: Sums): void {
    const atS = minuteOf(second);
    let last = this.#minutes.at(-1);
    if (last?.atS !== atS) {
      last = emptySums(atS);
      this.#minutes.push(last);
      const oldestS = atS - REMEMBERED_MINUTES * MINUTE_S;
      while ((this.#minutes[0] as Sums).atS <= oldestS) this.#minutes.shift();
    }
    addSums(last, second);
  }

  /** The minutes from the minute of `atS` on, including a running second. */
  since(atS: number, running: Sums | undefined): Sums[] {
    // Usually only the last minute is requested.
    const first = this.#minutes.findLastIndex((minute) => minute.atS + MINUTE_S <= atS) + 1;
    const minutes = this.#minutes.slice(first);
    if (running === undefined || minuteOf(running) + MINUTE_S <= atS) return minutes;
    const sum = emptySums(minuteOf(running));
    const last = minutes.at(-1);
    if (last?.atS === sum.atS) addSums(sum, minutes.pop() as Sums);
    addSums(sum, running);
    return [...minutes, sum];
  }
}

function minuteOf({ atS }: Sums): number {
  return atS - (atS % MINUTE_S);
}

export function emptySums(atS: number): Sums {
  return { atS, requests: 0, tokens: 0, costNanos: 0n, errors: new Map(), firstByteMs: [] };
}

/** Adds the counts of one span to another. */
export function addSums(to: Sums, from: Sums): void {
  to.requests += from.requests;
  to.tokens += from.tokens;
  to.costNanos += from.costNanos;
  for (const [code, count] of from.errors) to.errors.set(code, (to.errors.get(code) ?? 0) + count);
  addHistogram(to.firstByteMs, withoutTail(from.firstByteMs));
}
