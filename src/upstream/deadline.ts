/**
 * The deadline for what an upstream must do next. Reuses one timer: most requests end before it
 * first fires. When it is missed, looks once before it says so: a process that stood still, or was
 * busy, sees its timers before what has arrived meanwhile.
 */
import type { FailureKind } from './attempt.ts';

/** The next thing that has to happen. */
export interface Expected {
  /** The failure if it does not happen in time. */
  readonly kind: FailureKind;
  /** What is missing then, for the log. */
  readonly missing: string;
  readonly milliseconds: number;
}

export class Deadline {
  readonly #onMissed: (expected: Expected) => void;
  /** A monotonic clock. */
  readonly #nowMs: () => number;
  #expected: Expected | undefined;
  #dueAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #look: NodeJS.Immediate | undefined;
  /** When the timer fires: at the deadline or before it, never after. */
  #firesAtMs = Number.POSITIVE_INFINITY;

  constructor(onMissed: (expected: Expected) => void, nowMs = () => performance.now()) {
    this.#onMissed = onMissed;
    this.#nowMs = nowMs;
  }

  /** Replaces the previous deadline. */
  set(expected: Expected): void {
    this.#expected = expected;
    this.refresh();
    if (this.#dueAtMs >= this.#firesAtMs) return;
    clearTimeout(this.#timer);
    this.#start(expected.milliseconds);
  }

  /** Restarts the time of the current deadline. */
  refresh(): void {
    this.#dueAtMs = this.#nowMs() + (this.#expected?.milliseconds ?? 0);
  }

  clear(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#look);
    this.#timer = undefined;
    this.#expected = undefined;
    this.#firesAtMs = Number.POSITIVE_INFINITY;
  }

  #start(milliseconds: number): void {
    this.#firesAtMs = this.#dueAtMs;
    this.#timer = setTimeout(() => this.#fire(), milliseconds);
  }

  #fire(): void {
    // An immediate runs after the sockets were read.
    if (!this.#isExtended()) this.#look = setImmediate(() => this.#judge());
  }

  #judge(): void {
    if (!this.#isExtended() && this.#expected !== undefined) this.#onMissed(this.#expected);
  }

  /** Whether the deadline has been put off since the timer was started, which is then started anew. */
  #isExtended(): boolean {
    const leftMs = this.#dueAtMs - this.#nowMs();
    // Timers may fire slightly early.
    if (leftMs <= 1) return false;
    this.#start(Math.ceil(leftMs));
    return true;
  }
}
