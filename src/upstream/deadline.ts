/** By when an upstream has to do the next thing. Most requests end before the first timer fires, so they set just one. */
import type { FailureKind } from './attempt.ts';

/** What is waited for. */
export interface Expected {
  /** What it is if that does not come. */
  readonly kind: FailureKind;
  /** For the log. */
  readonly missing: string;
  readonly milliseconds: number;
}

export class Deadline {
  readonly #onMissed: (expected: Expected) => void;
  /** Of a monotonic clock. */
  readonly #nowMs: () => number;
  #expected: Expected | undefined;
  #dueAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer fires. It may have to wait on then, but never comes too late. */
  #firesAtMs = Number.POSITIVE_INFINITY;

  constructor(onMissed: (expected: Expected) => void, nowMs = () => performance.now()) {
    this.#onMissed = onMissed;
    this.#nowMs = nowMs;
  }

  /** From here on this is waited for, instead of what was before. */
  set(expected: Expected): void {
    this.#expected = expected;
    this.putOff();
    if (this.#dueAtMs >= this.#firesAtMs) return;
    clearTimeout(this.#timer);
    this.#start(expected.milliseconds);
  }

  /** The time begins anew. */
  putOff(): void {
    this.#dueAtMs = this.#nowMs() + (this.#expected?.milliseconds ?? 0);
  }

  /** Nothing is waited for. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#expected = undefined;
    this.#firesAtMs = Number.POSITIVE_INFINITY;
  }

  #start(milliseconds: number): void {
    this.#firesAtMs = this.#nowMs() + milliseconds;
    this.#timer = setTimeout(() => this.#fire(), milliseconds);
  }

  #fire(): void {
    const leftMs = this.#dueAtMs - this.#nowMs();
    if (this.#expected === undefined) return;
    // Timers may fire a little early.
    if (leftMs > 1) this.#start(Math.ceil(leftMs));
    else this.#onMissed(this.#expected);
  }
}
