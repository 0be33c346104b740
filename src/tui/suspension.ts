/** Ctrl-Z and `fg`: gives the terminal to the shell, and takes it back. */
import { once } from 'node:events';

/** A process group that no shell controls cannot be stopped. After this long without a stop it goes on. */
const NOT_STOPPED_MS = 100;

/** Restores the terminal, runs `whileAway`, and takes the terminal back with everything redrawn. */
type Suspend = (whileAway: () => Promise<void>) => Promise<void>;

/**
 * Stops the program when it is asked to, and takes the terminal back whenever it is continued: a
 * SIGSTOP gives no warning, and the shell has written to the screen since.
 */
export class Suspension {
  readonly #suspend: Suspend;
  #isAway = false;
  readonly #onStop = () => void this.stop();
  readonly #onContinue = () => void this.#leave(async () => {});

  constructor(suspend: Suspend) {
    this.#suspend = suspend;
    process.on('SIGTSTP', this.#onStop).on('SIGCONT', this.#onContinue);
  }

  close(): void {
    process.off('SIGTSTP', this.#onStop).off('SIGCONT', this.#onContinue);
  }

  /** Returns once the program has been continued. */
  stop(): Promise<void> {
    return this.#leave(async () => {
      // Otherwise it would be told of the signal, and not stop.
      process.off('SIGTSTP', this.#onStop);
      const goOn = AbortSignal.timeout(NOT_STOPPED_MS);
      const continued = once(process, 'SIGCONT', { signal: goOn }).catch(() => {});
      // The whole group, as the terminal itself would: whatever has started this program waits for it.
      process.kill(0, 'SIGTSTP');
      await continued;
      process.on('SIGTSTP', this.#onStop);
    });
  }

  async #leave(whileAway: () => Promise<void>): Promise<void> {
    if (this.#isAway) return;
    this.#isAway = true;
    await this.#suspend(whileAway);
    this.#isAway = false;
    // Only the group in the foreground gets SIGWINCH.
    process.kill(process.pid, 'SIGWINCH');
  }
}
