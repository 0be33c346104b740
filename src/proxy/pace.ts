/** How fast a stream writes, and how long the ledger takes to hold more for one. Pure: time is an argument. */

/** Less does not say how fast a stream is: hosts send pieces of any size. */
const WINDOW_MS = 100;

/** The pace of a stream: of its last window, or of this one if that is faster. */
export class Pace {
  #fromMs: number | undefined;
  #fromTokens = 0;
  #before = 0;
  #now = 0;

  /** `tokens`: all that it has written by then. */
  add(nowMs: number, tokens: number): void {
    this.#fromMs ??= nowMs;
    const ms = nowMs - this.#fromMs;
    this.#now = Math.max(0, tokens - this.#fromTokens) / Math.max(ms, WINDOW_MS);
    if (ms < WINDOW_MS) return;
    this.#before = this.#now;
    this.#fromMs = nowMs;
    this.#fromTokens = tokens;
  }

  /** What it writes in so many milliseconds. */
  tokensIn(ms: number): number {
    return ms * this.#tokensPerMs;
  }

  /** How many milliseconds it takes to write that. */
  msFor(tokens: number): number {
    return tokens / this.#tokensPerMs;
  }

  get #tokensPerMs(): number {
    return Math.max(this.#before, this.#now);
  }
}

const ASSUMED_MS = 50;
/** A ledger that takes longer is out of order. */
const MOST_MS = 1_000;
/** A slow answer counts for as long as it takes to measure some more. */
const DECAY = 0.9;

/** How long growths take at present. */
export class GrowthTimes {
  #ms: number | undefined;

  add(ms: number): void {
    this.#ms = Math.min(MOST_MS, Math.max(ms, DECAY * (this.#ms ?? 0)));
  }

  get ms(): number {
    return this.#ms ?? ASSUMED_MS;
  }
}
