/** Takes turns with the state: reads and changes are carried out one at a time, in order. */

/** What there is to do with the state. Of each kind one piece waits at most: the latest. */
export type Task = 'act' | 'check' | 'read' | 'shared' | 'key' | 'usage' | 'requests' | 'history' | 'credit';

export class Turns {
  readonly #waiting = new Map<Task, () => Promise<void>>();
  #running = Promise.resolve();
  #isRunning = false;

  /** Runs `work` after all that waits, and instead of a task of the same kind that waits. */
  add(task: Task, work: () => Promise<void>): void {
    this.#waiting.delete(task);
    this.#waiting.set(task, work);
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#running = this.#run();
  }

  /** Resolves once nothing runs or waits. */
  ended(): Promise<void> {
    return this.#running;
  }

  async #run(): Promise<void> {
    // The loop also reaches what is added while it runs.
    for (const [task, work] of this.#waiting) {
      this.#waiting.delete(task);
      await work();
    }
    this.#isRunning = false;
  }
}
