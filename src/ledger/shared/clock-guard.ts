/**
 * Notices when the clock of the database steps ahead, by the clock of this process, which never
 * jumps. After a step, requests of the last minute would leave the windows too early.
 */
import { CLOCK_STEP_MS } from '../../core/clock.ts';
import { WINDOW_MS } from '../local/window.ts';

/** How much two clocks may drift apart that run true. NTP slews by half of it at most. */
const DRIFT = 0.001;

export class ClockGuard {
  /** The database's time of the last decision, and when that was asked for at the earliest. */
  #last: { readonly us: bigint; readonly sentMs: number } | undefined;
  #closedUntilMs = Number.NEGATIVE_INFINITY;

  /**
   * The latest time that the database's clock can show when a batch arrives that is sent now, in
   * microseconds; null if nothing is known.
   */
  latestUs(nowMs: number): bigint | null {
    if (this.#last === undefined) return null;
    const elapsedMs = (nowMs - this.#last.sentMs) * (1 + DRIFT) + CLOCK_STEP_MS;
    return this.#last.us + BigInt(Math.ceil(elapsedMs * 1_000));
  }

  /**
   * Whether the database's clock has stepped ahead, if it showed `us` when a batch arrived that has
   * been answered by now. Without a step, such a batch was on its way for long.
   */
  isStep(us: bigint, nowMs: number): boolean {
    const latestUs = this.latestUs(nowMs);
    return latestUs !== null && us > latestUs;
  }

  /** A batch that was sent then has been decided at this time of the database. */
  saw(us: bigint, sentMs: number): void {
    this.#last = { us, sentMs };
  }

  /** The clock has stepped: nothing is admitted until all that was admitted before has left the windows. */
  close(nowMs: number): void {
    if (!this.isClosed(nowMs)) this.#closedUntilMs = nowMs + WINDOW_MS;
    this.#last = undefined;
  }

  isClosed(nowMs: number): boolean {
    return nowMs < this.#closedUntilMs;
  }
}
