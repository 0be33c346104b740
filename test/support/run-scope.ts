/** Where clean-ups are registered, and what stands in for a test there. */

/** A test, or what has an end like one. */
export interface Scope {
  after(cleanUp: () => void | Promise<void>): void;
}

/** Runs its clean-ups at the end of the run, however it ends. */
export class RunScope implements Scope {
  readonly #cleanUps: (() => void | Promise<void>)[] = [];

  after(cleanUp: () => void | Promise<void>): void {
    this.#cleanUps.push(cleanUp);
  }

  async end(): Promise<void> {
    for (const cleanUp of this.#cleanUps) await cleanUp();
  }
}
