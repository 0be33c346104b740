/** Token bucket that limits the number of alerts. */

/** Bucket size: the maximum number of alerts at once. */
export const BURST = 20;
/** Time to refill one token, in milliseconds: 60 alerts an hour. */
export const REFILL_MS = 60_000;

export class Rate {
  #left = BURST;
  #sinceMs: number;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** Whether another alert may be sent now. */
  hasRoom(nowMs: number): boolean {
    const refills = Math.floor((nowMs - this.#sinceMs) / REFILL_MS);
    if (refills !== 0) {
      // A clock that was set back restarts the refill interval.
      this.#left = Math.min(BURST, this.#left + Math.max(0, refills));
      this.#sinceMs = refills > 0 ? this.#sinceMs + refills * REFILL_MS : nowMs;
    }
    return this.#left > 0;
  }

  /** Uses one token. */
  take(): void {
    this.#left--;
  }
}
