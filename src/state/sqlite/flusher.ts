/**
 * Syncs the log in a dedicated thread. Under load this costs half as much as libuv's thread pool: a sync requested during
 * the last one begins without a wake-up, and the ledger's thread reads the progress from shared memory once per turn of
 * its event loop. It asks to be woken only when that loop would become idle.
 */
import type { Worker } from 'node:worker_threads';
import { startThread } from '../../core/threads.ts';
import { CELLS, type FlushStart } from './flush-thread.ts';

/** The thread hardly allocates. */
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 };

export class Flusher {
  readonly #cells = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT * Object.keys(CELLS).length));
  readonly #worker: Worker;
  #wanted = 0;
  #hasEnded = false;

  constructor(descriptor: number) {
    const workerData: FlushStart = { cells: this.#cells, descriptor };
    this.#worker = startThread('state/sqlite/flush-thread', { workerData, resourceLimits: RESOURCE_LIMITS });
    this.#worker.unref();
    // The exit handler runs next.
    this.#worker.on('error', () => {});
    this.#worker.on('exit', () => {
      this.#hasEnded = true;
      Atomics.notify(this.#cells, CELLS.done);
    });
  }

  /** Whether the thread runs. False until it has started, and after it has died. */
  get isReady(): boolean {
    return !this.#hasEnded && Atomics.load(this.#cells, CELLS.ready) === 1;
  }

  /** Requests a sync, which begins now or as soon as the running one ends. Returns its number. */
  want(): number {
    this.#wanted = (this.#wanted + 1) | 0;
    Atomics.store(this.#cells, CELLS.wanted, this.#wanted);
    Atomics.notify(this.#cells, CELLS.wanted);
    return this.#wanted;
  }

  /**
   * Waits for a sync to end. Resolves with the first error number since the last `forgive`, or 0; with undefined if the
   * thread has died.
   */
  async ended(number: number): Promise<number | undefined> {
    this.#worker.ref();
    try {
      let events = eventCount();
      while (!this.#isDone(number)) {
        if (this.#hasEnded) return undefined;
        await nextTurn();
        const before = events;
        events = eventCount();
        if (events === before) await this.#wake(number);
      }
      return Atomics.load(this.#cells, CELLS.errno);
    } finally {
      this.#worker.unref();
    }
  }

  /** Resets the error, after the data of the failed syncs was rewritten. */
  forgive(): void {
    Atomics.store(this.#cells, CELLS.errno, 0);
  }

  /** Ends the thread after the running sync. */
  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #isDone(number: number): boolean {
    // The difference is correct for numbers that wrap around.
    return ((Atomics.load(this.#cells, CELLS.done) - number) | 0) >= 0;
  }

  /** Resolves when the next sync or the thread ends; immediately if the sync `number` has ended. */
  async #wake(number: number): Promise<void> {
    const done = Atomics.load(this.#cells, CELLS.done);
    // The sync may have ended since the caller's check. Without a further sync, no wake-up would follow.
    if (((done - number) | 0) >= 0) return;
    const { async, value } = Atomics.waitAsync(this.#cells, CELLS.done, done);
    if (async) await value;
  }
}

/** Number of events that the loop of this thread has handled. If it is unchanged after a turn, the loop was idle. */
function eventCount(): number {
  return performance.nodeTiming.uvMetricsInfo.events;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
