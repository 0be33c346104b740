/** What a script of its own needs that a test gets from its runner. */

/** Clean-ups that are done at the end of the run, however it ends. */
export class RunScope {
  readonly #cleanUps: (() => void | Promise<void>)[] = [];

  after(cleanUp: () => void | Promise<void>): void {
    this.#cleanUps.push(cleanUp);
  }

  async end(): Promise<void> {
    for (const cleanUp of this.#cleanUps) await cleanUp();
  }
}
