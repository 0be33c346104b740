/** Shares the event loop: streams that have worked for long in one turn of it go on in a later one. */

/** For how long all streams together may work in one turn, in milliseconds: what everything else may have to wait. */
export const MAX_TURN_MS = 20;
/**
 * Work on so much is done before the clock is started: that takes an immediate, which costs a paced stream more than its
 * event. It takes a millisecond.
 */
export const UNTIMED_BYTES = 64 * 1024;
/** An event takes as long as so many bytes of a long one, however short it is. */
const BYTES_PER_EVENT = 256;

export class Turns {
  /** A monotonic clock. */
  readonly #nowMs: () => number;
  readonly #waiting: (() => void)[] = [];
  #startedAtMs: number | undefined;
  /** Since the clock was last stopped. */
  #untimedBytes = 0;

  constructor(nowMs = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Undefined while this turn has time left for an event of so many bytes. Otherwise its stream has to wait for the promise. */
  wait(bytes: number): Promise<void> | undefined {
    if (this.hasTime(bytes)) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /** Whether this turn has time left for an event of so many bytes. */
  hasTime(bytes: number): boolean {
    if (this.#startedAtMs !== undefined) return this.#nowMs() - this.#startedAtMs < MAX_TURN_MS;
    this.#untimedBytes += BYTES_PER_EVENT + bytes;
    if (this.#untimedBytes > UNTIMED_BYTES) this.#start();
    return true;
  }

  #start(): void {
    this.#startedAtMs = this.#nowMs();
    setImmediate(() => {
      this.#startedAtMs = undefined;
      this.#untimedBytes = 0;
      const next = this.#waiting.shift();
      if (next === undefined) return;
      // One of them in each turn: it may need all of that.
      this.#start();
      next();
    });
  }
}

/** Shared by all answers of this thread that are read event by event. */
export const TURNS = new Turns();
