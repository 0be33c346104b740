/** A clock that stands still while a batch is decided: all commands of a batch are decided at the same moment. */
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

  /** Calls `work` while the clock stands still. Reading the system's clock takes as long as a small decision. */
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
