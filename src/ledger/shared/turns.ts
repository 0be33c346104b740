/** One thing at a time follows the log. */

export class Turns {
  readonly #isLockedOut: (error: unknown) => boolean;
  /** The end of what was last begun. */
  #last: Promise<unknown> = Promise.resolve();
  /** When a lock was last waited for in vain, and what came of that. */
  #lockedOut: { readonly atMs: number; readonly error: unknown } | undefined;

  /** `isLockedOut`: whether an error says that a lock was waited for in vain. */
  constructor(isLockedOut: (error: unknown) => boolean) {
    this.#isLockedOut = isLockedOut;
  }

  /** What has come during a wait for a lock that was in vain does not wait for the same lock: it fails with that. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const askedAtMs = performance.now();
    const turn = this.#last.then(() => {
      if (this.#lockedOut !== undefined && this.#lockedOut.atMs > askedAtMs) throw this.#lockedOut.error;
      return work();
    });
    this.#last = turn.catch((error) => {
      if (this.#isLockedOut(error)) this.#lockedOut = { atMs: performance.now(), error };
    });
    return turn;
  }

  /** Resolves when all has ended that was begun. */
  async end(): Promise<void> {
    await this.#last;
  }
}
