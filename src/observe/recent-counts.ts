/** Counts of the recent past in steps of equal length, in a ring of fixed size. Pure. */

/** The last steps of a count, the running one included. Sums are exact up to 2^53. */
export class RecentCounts {
  readonly #stepS: number;
  readonly #steps: Float64Array;
  /** The number of the running step, since 1970. */
  #latest = 0;
  #total = 0;

  constructor(steps: number, stepS: number) {
    this.#steps = new Float64Array(steps);
    this.#stepS = stepS;
  }

  add(nowS: number, count: number): void {
    this.#moveTo(nowS);
    const place = this.#latest % this.#steps.length;
    this.#steps[place] = (this.#steps[place] as number) + count;
    this.#total += count;
  }

  /** The counts by step, the oldest first. */
  values(nowS: number): number[] {
    this.#moveTo(nowS);
    const { length } = this.#steps;
    return Array.from({ length }, (_, i) => this.#steps[(this.#latest + 1 + i) % length] as number);
  }

  total(nowS: number): number {
    this.#moveTo(nowS);
    return this.#total;
  }

  /** Clears outdated steps. After the clock is set back, the latest step continues. */
  #moveTo(nowS: number): void {
    const step = Math.floor(nowS / this.#stepS);
    const { length } = this.#steps;
    // After a whole round, all steps are outdated.
    const from = Math.max(this.#latest + 1, step - length + 1);
    for (let each = from; each <= step; each++) {
      this.#total -= this.#steps[each % length] as number;
      this.#steps[each % length] = 0;
    }
    this.#latest = Math.max(this.#latest, step);
  }
}
