/** How long a model has shown nothing: it may have been thinking, which some hosts bill and do not show. Pure: time is an argument. */

/** While it writes, a model does not pause for so long: hosts that send chunks of several words wait for some 0.5 s. */
const LEAST_PAUSE_MS = 2_000;

export class Silence {
  #sinceMs: number;
  /** Of the pauses before that. */
  #ms = 0;
  #isFirst = true;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** Another host is asked, which has thought nothing so far. */
  restart(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#ms = 0;
    this.#isFirst = true;
  }

  /** What it sent was not read for so long. */
  excuse(ms: number): void {
    this.#sinceMs += ms;
  }

  /** It has shown something. */
  end(nowMs: number): void {
    this.#ms = this.until(nowMs);
    this.#sinceMs = nowMs;
    this.#isFirst = false;
  }

  /** It has sent what it thought, encrypted: the silence so far has no more to say. */
  explain(nowMs: number): void {
    this.restart(nowMs);
    this.#isFirst = false;
  }

  /** In milliseconds: all until it showed something, and its pauses since. */
  until(nowMs: number): number {
    const pause = nowMs - this.#sinceMs;
    return this.#isFirst || pause >= LEAST_PAUSE_MS ? this.#ms + pause : this.#ms;
  }

  /** The same without what came after it last showed something. */
  get beforeLastMs(): number {
    return this.#ms;
  }
}
