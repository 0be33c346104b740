/** Shares the event loop: streams that have worked for long in one turn of it go on in a later one. */

/** For how long all streams together may work in one turn, in milliseconds: what everything else may have to wait. */
export const MAX_TURN_MS = 20;

export class Turns {
  /** A monotonic clock. */
  readonly #nowMs: () => number;
  readonly #waiting: (() => void)[] = [];
  #startedAtMs: number | undefined;

  constructor(nowMs = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Undefined while this turn has time left. Otherwise whoever asks has to wait for the promise. */
  wait(): Promise<void> | undefined {
    if (this.#startedAtMs === undefined) this.#start();
    else if (this.#nowMs() - this.#startedAtMs >= MAX_TURN_MS) {
      return new Promise((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    return undefined;
  }

  #start(): void {
    this.#startedAtMs = this.#nowMs();
    setImmediate(() => {
      this.#startedAtMs = undefined;
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
