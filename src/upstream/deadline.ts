/**
 * Deadlines for the next step of an upstream. A deadline keeps its timer when it is extended, cleared or reused for another
 * request: most requests end before the timer first fires, and starting one for each would cost 1% of a request's CPU.
 *
 * A missed deadline is checked again after one turn of the event loop: a process that was suspended or busy runs its timers
 * before it reads its sockets.
 */
import type { FailureKind } from './attempt.ts';

/** The next event to expect. */
export interface Expected {
  /** The failure if the event does not happen in time. */
  readonly kind: FailureKind;
  /** The missing event, for the log. */
  readonly missing: string;
  readonly milliseconds: number;
}

export class Deadline {
  #onMissed: (expected: Expected) => void;
  /** A monotonic clock. */
  readonly #nowMs: () => number;
  #expected: Expected | undefined;
  #dueAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #look: NodeJS.Immediate | undefined;
  /** The time when the timer fires: at the deadline or before it, never after. */
  #firesAtMs = Number.POSITIVE_INFINITY;

  constructor(onMissed: (expected: Expected) => void, nowMs = () => performance.now()) {
    this.#onMissed = onMissed;
    this.#nowMs = nowMs;
  }

  /** Replaces the previous deadline. */
  set(expected: Expected): void {
    this.#expected = expected;
    this.refresh();
    if (this.#dueAtMs < this.#firesAtMs) this.#start(expected.milliseconds);
  }

  /** Restarts the time of the current deadline. */
  refresh(): void {
    this.#dueAtMs = this.#nowMs() + (this.#expected?.milliseconds ?? 0);
  }

  /** Cancels the deadline. The timer keeps running for the next one. */
  clear(): void {
    clearImmediate(this.#look);
    this.#expected = undefined;
  }

  /** Clears the deadline, and assigns it to a new owner's `onMissed`. */
  handTo(onMissed: (expected: Expected) => void): void {
    this.clear();
    this.#onMissed = onMissed;
  }

  #start(milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#firesAtMs = this.#dueAtMs;
    // The pending connection keeps the process alive; a timer that outlives its request must not.
    this.#timer = setTimeout(() => this.#fire(), milliseconds).unref();
  }

  #fire(): void {
    this.#firesAtMs = Number.POSITIVE_INFINITY;
    if (this.#expected === undefined) return;
    // An immediate runs after the sockets were read.
    if (!this.#isExtended()) this.#look = setImmediate(() => this.#judge());
  }

  #judge(): void {
    if (!this.#isExtended() && this.#expected !== undefined) this.#onMissed(this.#expected);
  }

  /** Returns whether the deadline was extended after the timer was started, and if so restarts the timer. */
  #isExtended(): boolean {
    const leftMs = this.#dueAtMs - this.#nowMs();
    // Timers may fire slightly early.
    if (leftMs <= 1) return false;
    this.#start(Math.ceil(leftMs));
    return true;
  }
}

/** Maximum number of unused deadlines that are kept. Each may have a timer. */
const MOST_UNUSED = 1_000;

const ignore = () => {};

/** Pools deadlines for reuse. */
export class Deadlines {
  readonly #unused: Deadline[] = [];

  take(onMissed: (expected: Expected) => void): Deadline {
    const unused = this.#unused.pop();
    if (unused === undefined) return new Deadline(onMissed);
    unused.handTo(onMissed);
    return unused;
  }

  /** The caller must not use the deadline any more. */
  giveBack(deadline: Deadline): void {
    // An unused deadline must not keep the last request in memory.
    deadline.handTo(ignore);
    if (this.#unused.length < MOST_UNUSED) this.#unused.push(deadline);
  }
}
