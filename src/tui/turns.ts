/** Runs reads and changes of the state one at a time, in order. */

import { setImmediate } from 'node:timers/promises';

/** The kinds of tasks. At most one task per kind waits: the latest. */
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

  /** Queues `work` after all waiting tasks. It replaces a waiting task of the same kind. */
  add(task: Task, work: () => Promise<void>): void {
    if (this.#isEnding && task !== 'act') return;
    this.#waiting.delete(task);
    this.#waiting.set(task, work);
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#running = this.#run();
  }

  /** Drops waiting tasks except a change. Resolves once the queue is idle. */
  end(): Promise<void> {
    this.#isEnding = true;
    for (const task of this.#waiting.keys()) if (task !== 'act') this.#waiting.delete(task);
    return this.#running;
  }

  async #run(): Promise<void> {
    // Iterating a Map also visits entries added during the loop.
    for (const [task, work] of this.#waiting) {
      // SQLite reads are synchronous: key presses are handled and frames are drawn only here.
      await setImmediate();
      if (this.#waiting.get(task) !== work) continue;
      this.#waiting.delete(task);
      await work();
    }
    this.#isRunning = false;
  }
}
