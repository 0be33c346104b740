/**
 * Measures how long a model was silent. It may have been thinking during that time, which some hosts bill but do not show.
 * Pure: time is an argument.
 */

/** A model that writes does not pause for this long: hosts that send chunks of several words pause for about 0.5 s. */
const LEAST_PAUSE_MS = 2_000;

export class Silence {
  #sinceMs: number;
  /** The sum of the earlier pauses. */
  #ms = 0;
  #isFirst = true;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** Starts over for an attempt at another host. */
  restart(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#ms = 0;
    this.#isFirst = true;
  }

  /** Excludes time in which the gateway did not read. */
  excuse(ms: number): void {
    this.#sinceMs += ms;
  }

  /** Records visible output, which ends a pause. */
  end(nowMs: number): void {
    this.#ms = this.until(nowMs);
    this.#sinceMs = nowMs;
    this.#isFirst = false;
  }

  /** Records encrypted thinking. It accounts for the silence before it. */
  explain(nowMs: number): void {
    this.restart(nowMs);
    this.#isFirst = false;
  }

  /** The silence in milliseconds: the time before the first output, and the pauses since. */
  until(nowMs: number): number {
    const pause = nowMs - this.#sinceMs;
    return this.#isFirst || pause >= LEAST_PAUSE_MS ? this.#ms + pause : this.#ms;
  }

  /** The silence before the last output. */
  get beforeLastMs(): number {
    return this.#ms;
  }
}
