/** Counts requests in progress, and reports when none is left. */
export class InProgress {
  #count = 0;
  #onNone: () => void = () => {};

  get count(): number {
    return this.#count;
  }

  enter(): void {
    this.#count++;
  }

  /** Ends what one call of `enter` began. */
  leave(): void {
    if (--this.#count === 0) this.#onNone();
  }

  /** Resolves once nothing is in progress: at once if nothing is. Only the latest caller is notified. */
  none(): Promise<void> {
    return new Promise((resolve) => {
      this.#onNone = resolve;
      if (this.#count === 0) resolve();
    });
  }
}
