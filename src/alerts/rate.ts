/** How many events are told in a time: a few at once, then one every now and then. Pure but for its count. */

/** Events at once, at most. */
export const BURST = 20;
/** The time in which one more may be told, in milliseconds: 60 an hour. */
export const REFILL_MS = 60_000;

export class Rate {
  #left = BURST;
  #sinceMs: number;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** Whether one more event may be told now. */
  hasRoom(nowMs: number): boolean {
    const refills = Math.floor((nowMs - this.#sinceMs) / REFILL_MS);
    if (refills !== 0) {
      // A clock that was set back begins anew.
      this.#left = Math.min(BURST, this.#left + Math.max(0, refills));
      this.#sinceMs = refills > 0 ? this.#sinceMs + refills * REFILL_MS : nowMs;
    }
    return this.#left > 0;
  }

  /** One was told. */
  take(): void {
    this.#left--;
  }
}
