/**
 * Syncs in a thread of their own. At load this costs half as much as libuv's pool: the next sync begins without a wake-up if it
 * was wanted before the last one has ended, and the ledger's thread reads in shared memory how far the syncs are, once in each
 * turn of its event loop. Only before that loop would be idle, it asks to be woken.
 */
import type { Worker } from 'node:worker_threads';
import { startThread } from '../../core/threads.ts';
import { CELLS, type FlushStart } from './flush-thread.ts';

/** The thread allocates next to nothing. */
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
    // The exit follows.
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

  /** Has a sync begin now, or as soon as the running one ends. Returns its number. */
  want(): number {
    this.#wanted = (this.#wanted + 1) | 0;
    Atomics.store(this.#cells, CELLS.wanted, this.#wanted);
    Atomics.notify(this.#cells, CELLS.wanted);
    return this.#wanted;
  }

  /** Resolves with the error number of the syncs so far, or 0, once that sync has ended; with undefined if the thread has died. */
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

  /** The data of the failed syncs was written again. */
  forgive(): void {
    Atomics.store(this.#cells, CELLS.errno, 0);
  }

  /** Ends the thread, after the running sync. */
  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #isDone(number: number): boolean {
    // The difference of two numbers that wrap around.
    return ((Atomics.load(this.#cells, CELLS.done) - number) | 0) >= 0;
  }

  /** Resolves when the next sync ends, or the thread; at once if that sync has ended. */
  async #wake(number: number): Promise<void> {
    const done = Atomics.load(this.#cells, CELLS.done);
    // It may have ended since the caller has looked, and then no other sync may come.
    if (((done - number) | 0) >= 0) return;
    const { async, value } = Atomics.waitAsync(this.#cells, CELLS.done, done);
    if (async) await value;
  }
}

/** How many events the loop of this thread has handled. Unchanged after a turn, it had nothing to do in that turn. */
function eventCount(): number {
  return performance.nodeTiming.uvMetricsInfo.events;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
