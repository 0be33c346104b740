/** What scripts have in place of a test runner: a scope for clean-ups, and an exit status. */

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

/** Runs a script: it ends with status 0 if `main` returns true, otherwise with 1, and always after its clean-ups. */
export async function runToEnd(main: (scope: RunScope) => Promise<boolean>): Promise<void> {
  const scope = new RunScope();
  try {
    process.exitCode = (await main(scope)) ? 0 : 1;
  } finally {
    await scope.end();
  }
}
