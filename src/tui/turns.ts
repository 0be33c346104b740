/** Takes turns with the state: reads and changes are carried out one at a time, in order. */

import { setImmediate } from 'node:timers/promises';

/** What there is to do with the state. Of each kind one piece waits at most: the latest. */
export type Task =
  | 'act'
  | 'check'
  | 'read'
  | 'shared'
  | 'key'
  | 'users'
  | 'usage'
  | 'plot'
  | 'requests'
  | 'history'
  | 'credit';

export class Turns {
  readonly #waiting = new Map<Task, () => Promise<void>>();
  #running = Promise.resolve();
  #isRunning = false;
  #isEnding = false;

  /** Runs `work` after all that waits, and instead of a task of the same kind that waits. */
  add(task: Task, work: () => Promise<void>): void {
    if (this.#isEnding && task !== 'act') return;
    this.#waiting.delete(task);
    this.#waiting.set(task, work);
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#running = this.#run();
  }

  /** Drops what waits, but for a change. Resolves once nothing runs or waits. */
  end(): Promise<void> {
    this.#isEnding = true;
    for (const task of this.#waiting.keys()) if (task !== 'act') this.#waiting.delete(task);
    return this.#running;
  }

  async #run(): Promise<void> {
    // The loop also reaches what is added while it runs.
    for (const [task, work] of this.#waiting) {
      // A state file answers at once: key presses come in only here, and what is shown already is drawn first.
      await setImmediate();
      if (this.#waiting.get(task) !== work) continue;
      this.#waiting.delete(task);
      await work();
    }
    this.#isRunning = false;
  }
}
