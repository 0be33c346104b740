/** What stands in for a test where clean-ups are registered. */

/** Runs its clean-ups at the end of the run, however it ends. */
export class RunScope {
  readonly #cleanUps: (() => void | Promise<void>)[] = [];

  after(cleanUp: () => void | Promise<void>): void {
    this.#cleanUps.push(cleanUp);
  }

  async end(): Promise<void> {
    for (const cleanUp of this.#cleanUps) await cleanUp();
  }
}
