/** Counts requests in progress, and notifies when the count drops to 0. */
export class InProgress {
  #count = 0;
  #onNone: () => void = () => {};

  get count(): number {
    return this.#count;
  }

  enter(): void {
    this.#count++;
  }

  /** Ends one call of `enter`. */
  leave(): void {
    if (--this.#count === 0) this.#onNone();
  }

  /** Resolves when the count is 0, possibly at once. Only the latest caller is notified. */
  none(): Promise<void> {
    return new Promise((resolve) => {
      this.#onNone = resolve;
      if (this.#count === 0) resolve();
    });
  }
}
