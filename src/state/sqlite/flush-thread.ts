/** The flush thread: syncs SQLite's log whenever the number of the wanted sync is ahead of the last one. */
import { fdatasyncSync } from 'node:fs';
import { workerData } from 'node:worker_threads';

/** The cells of the shared memory, each a 32-bit number. */
export const CELLS = {
  /** 1 once the thread runs. */
  ready: 0,
  /** Number of the last requested sync, incremented by the ledger's thread. Wraps around. */
  wanted: 1,
  /** Number of the last finished sync, which began after that request. */
  done: 2,
  /** Error of the first failed sync since the ledger's thread last reset it; 0 without a failure. */
  errno: 3,
} as const;

export interface FlushStart {
  readonly cells: Int32Array<SharedArrayBuffer>;
  /** The file descriptor of the log. All threads of a process share descriptors. */
  readonly descriptor: number;
}

function serve({ cells, descriptor }: FlushStart): never {
  let done = Atomics.load(cells, CELLS.done);
  Atomics.store(cells, CELLS.ready, 1);
  while (true) {
    Atomics.wait(cells, CELLS.wanted, done);
    done = Atomics.load(cells, CELLS.wanted);
    try {
      fdatasyncSync(descriptor);
    } catch (error) {
      // The system reports an error once. A later successful sync must not hide it.
      Atomics.compareExchange(cells, CELLS.errno, 0, (error as NodeJS.ErrnoException).errno ?? -1);
    }
    Atomics.store(cells, CELLS.done, done);
    Atomics.notify(cells, CELLS.done);
  }
}

// The constants are imported by the ledger's thread, too.
if (workerData?.descriptor !== undefined) serve(workerData as FlushStart);
