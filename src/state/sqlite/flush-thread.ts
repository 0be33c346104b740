/** The thread that syncs SQLite's log, whenever the number of a wanted sync is ahead of the last one. */
import { fdatasyncSync } from 'node:fs';
import { workerData } from 'node:worker_threads';

/** The cells of the shared memory, each a 32-bit number. */
export const CELLS = {
  /** 1 once the thread runs. */
  ready: 0,
  /** The number of the last sync that is wanted, which the ledger's thread counts up. Wraps around. */
  wanted: 1,
  /** The number of the last sync that has ended: it began after that number was wanted. */
  done: 2,
  /** The error of the first sync that failed; 0 if none has since the ledger's thread set it to 0. */
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
      // The system reports an error once. A later sync that succeeds must not hide it.
      Atomics.compareExchange(cells, CELLS.errno, 0, (error as NodeJS.ErrnoException).errno ?? -1);
    }
    Atomics.store(cells, CELLS.done, done);
    Atomics.notify(cells, CELLS.done);
  }
}

// The constants are imported by the ledger's thread, too.
if (workerData?.descriptor !== undefined) serve(workerData as FlushStart);
