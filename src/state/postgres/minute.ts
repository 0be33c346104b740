/** Counts a gateway's admissions and charged tokens of the last minute. The caller passes the time. */

/** Number of seconds with stored sums. */
const SPAN_S = 60;

export interface MinuteSums {
  readonly requests: number;
  /** Input and output tokens. */
  readonly tokens: number;
}

/** One slot per second of a minute, so that counting has a constant cost. */
export class Minute {
  readonly #requests = new Array<number>(SPAN_S).fill(0);
  readonly #tokens = new Array<number>(SPAN_S).fill(0);
  /** The last counted second. */
  #second = 0;

  /** `atMs`: time of a monotonic clock. */
  count(atMs: number, requests: number, tokens: number): void {
    const slot = this.#advance(atMs);
    this.#requests[slot] = (this.#requests[slot] as number) + requests;
    this.#tokens[slot] = (this.#tokens[slot] as number) + tokens;
  }

  /** The sums of the last 59 to 60 seconds. */
  sums(atMs: number): MinuteSums {
    this.#advance(atMs);
    const sum = (slots: readonly number[]) => slots.reduce((total, each) => total + each, 0);
    return { requests: sum(this.#requests), tokens: sum(this.#tokens) };
  }

  /** Clears the slots of the elapsed seconds. Returns the slot of the current one. */
  #advance(atMs: number): number {
    const second = Math.floor(atMs / 1_000);
    const first = Math.max(this.#second + 1, second - SPAN_S + 1);
    for (let each = first; each <= second; each++) {
      this.#requests[each % SPAN_S] = 0;
      this.#tokens[each % SPAN_S] = 0;
    }
    this.#second = second;
    return second % SPAN_S;
  }
}
