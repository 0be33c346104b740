/**
 * Detects forward steps of the database's clock by comparison with the monotonic clock of this process. After a step,
 * the requests of the last minute would leave the windows too early.
 */
import { CLOCK_STEP_MS } from '../../core/clock.ts';
import { WINDOW_MS } from '../local/window.ts';

/** Maximum drift between two correct clocks. NTP slews by at most half of it. */
const DRIFT = 0.001;

export class ClockGuard {
  /** The database's time of the last decision, and the time at which this process sent the batch. */
  #last: { readonly us: bigint; readonly sentMs: number } | undefined;
  #closedUntilMs = Number.NEGATIVE_INFINITY;

  /**
   * The latest time that the database's clock can show when a batch sent at `nowMs` arrives, in microseconds; null
   * before the first decision.
   */
  latestUs(nowMs: number): bigint | null {
    if (this.#last === undefined) return null;
    const elapsedMs = (nowMs - this.#last.sentMs) * (1 + DRIFT) + CLOCK_STEP_MS;
    return this.#last.us + BigInt(Math.ceil(elapsedMs * 1_000));
  }

  /**
   * Whether the database's clock has stepped ahead, given the time `us` that it showed on arrival of a batch answered
   * by `nowMs`. Otherwise the batch was only slow.
   */
  isStep(us: bigint, nowMs: number): boolean {
    const latestUs = this.latestUs(nowMs);
    return latestUs !== null && us > latestUs;
  }

  /** Records the database's time `us` of the decision on a batch sent at `sentMs`. */
  saw(us: bigint, sentMs: number): void {
    this.#last = { us, sentMs };
  }

  /** Closes admission after a step, until every earlier admission has left the windows. */
  close(nowMs: number): void {
    if (!this.isClosed(nowMs)) this.#closedUntilMs = nowMs + WINDOW_MS;
    this.#last = undefined;
  }

  isClosed(nowMs: number): boolean {
    return nowMs < this.#closedUntilMs;
  }
}
