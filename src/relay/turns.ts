/** Shares the event loop: after a stream has used up the time of one turn, it continues in a later one. */

/** Time budget of all streams in one turn, in milliseconds: the latency that they add to all other work. */
export const MAX_TURN_MS = 20;
/**
 * Work done before the clock is started, about one millisecond. The clock needs an immediate, which costs a paced stream more
 * than its event.
 */
export const UNTIMED_BYTES = 64 * 1024;
/** The fixed cost of an event, in bytes of a long event. */
const BYTES_PER_EVENT = 256;

export class Turns {
  /** A monotonic clock. */
  readonly #nowMs: () => number;
  readonly #waiting: (() => void)[] = [];
  #startedAtMs: number | undefined;
  /** Bytes since the clock was last stopped. */
  #untimedBytes = 0;

  constructor(nowMs = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Undefined if this turn has time left for an event of this size. Otherwise the stream must wait for the promise. */
  wait(bytes: number): Promise<void> | undefined {
    if (this.hasTime(bytes)) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /** Whether this turn has time left for an event of this size. */
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
      // Resumes one stream per turn, because it may use all of the turn.
      this.#start();
      next();
    });
  }
}

/** Shared by all responses of this thread read event by event. */
export const TURNS = new Turns();
