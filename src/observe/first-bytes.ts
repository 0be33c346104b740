/** The time to the first byte by upstream: histograms of the last five minutes, in steps of ten seconds. */
import { emptyHistogram, type Histogram, record, withoutTail } from './histogram.ts';

export const FIRST_BYTE_STEP_S = 10;
/** The maximum number of steps, the running one included. */
export const MOST_FIRST_BYTE_STEPS = 30;

interface Step {
  /** Its number since 1970. */
  readonly number: number;
  readonly histogram: Histogram;
}

export class FirstBytes {
  /** A ring per upstream. */
  readonly #steps = new Map<string, (Step | undefined)[]>();

  record(upstream: string, milliseconds: number, nowS: number): void {
    const ring = this.#steps.get(upstream) ?? new Array<Step | undefined>(MOST_FIRST_BYTE_STEPS);
    this.#steps.set(upstream, ring);
    const number = Math.floor(nowS / FIRST_BYTE_STEP_S);
    const place = number % MOST_FIRST_BYTE_STEPS;
    const known = ring[place];
    const step = known?.number === number ? known : { number, histogram: emptyHistogram() };
    ring[place] = step;
    record(step.histogram, milliseconds);
  }

  /** The last steps of an upstream, the oldest first; empty if no step has a response. */
  last(upstream: string, steps: number, nowS: number): Histogram[] {
    const ring = this.#steps.get(upstream) ?? [];
    const latest = Math.floor(nowS / FIRST_BYTE_STEP_S);
    const found = Array.from({ length: Math.min(steps, MOST_FIRST_BYTE_STEPS) }, (_, i) => {
      const number = latest - i;
      const step = ring[number % MOST_FIRST_BYTE_STEPS];
      return step?.number === number ? withoutTail(step.histogram) : [];
    });
    return found.some(({ length }) => length > 0) ? found.reverse() : [];
  }
}
