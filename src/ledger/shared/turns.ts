/** A queue that runs one task at a time. */

export class Turns {
  readonly #isLockedOut: (error: unknown) => boolean;
  /** The end of the last queued task. */
  #last: Promise<unknown> = Promise.resolve();
  /** The time and error of the last lock timeout. */
  #lockedOut: { readonly atMs: number; readonly error: unknown } | undefined;

  /** `isLockedOut`: whether an error is a lock timeout. */
  constructor(isLockedOut: (error: unknown) => boolean) {
    this.#isLockedOut = isLockedOut;
  }

  /**
   * Runs a task after the earlier ones. Tasks queued during a lock timeout fail with its error instead of waiting for
   * the same lock again.
   */
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

  /** Resolves when every queued task has ended. */
  async end(): Promise<void> {
    await this.#last;
  }
}
