/** A clock that is stopped while a batch is decided, so that all its commands are decided at the same moment. */
import type { Clock } from '../../core/clock.ts';

export class BatchClock implements Clock {
  readonly #clock: Clock;
  #isStopped = false;
  #wallMs = 0;
  #monotonicMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wallMs(): number {
    return this.#isStopped ? this.#wallMs : this.#clock.wallMs();
  }

  monotonicMs(): number {
    return this.#isStopped ? this.#monotonicMs : this.#clock.monotonicMs();
  }

  /** Calls `work` with the clock stopped. Reading the system clock takes as long as a small decision. */
  during<Result>(work: () => Result): Result {
    this.#wallMs = this.#clock.wallMs();
    this.#monotonicMs = this.#clock.monotonicMs();
    this.#isStopped = true;
    try {
      return work();
    } finally {
      this.#isStopped = false;
    }
  }
}
