/**
 * Keeps SQLite's write-ahead log from growing without bound. The log restarts only when all of it
 * was copied into the file and nobody reads from it. While readers overlap and writes continue that
 * never happens, so writes must pause.
 */
import { fileSize } from '../../core/files.ts';
import type { Sqlite } from './database.ts';

/** A log of this size is worth a pause, in which a chain of overlapping readers comes to an end. */
const LARGE_BYTES = 1024 * 1024 * 1024;
/** The longest pause: time for two readers in a row of two seconds each. */
const PAUSE_MS = 6_000;
/** The time between two attempts within a pause. */
const RETRY_MS = 5;

/**
 * SQLite's result of a checkpoint: whether it was blocked, the pages in the log, and how many of
 * them were copied.
 */
interface Checkpoint {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

const sleepCell = new Int32Array(new SharedArrayBuffer(4));

export class LogBound {
  readonly #database: Sqlite;
  readonly #largeBytes: number;
  /** The size of the log at which the next pause is due. */
  #dueBytes: number;

  constructor(database: Sqlite, largeBytes = LARGE_BYTES) {
    this.#database = database;
    this.#largeBytes = largeBytes;
    this.#dueBytes = largeBytes;
  }

  /**
   * To be called between transactions. If the log is large, it blocks the thread for six seconds at
   * most.
   */
  keep(): void {
    const bytes = fileSize(`${this.#database.name}-wal`);
    if (bytes < this.#largeBytes) this.#dueBytes = this.#largeBytes;
    // After a failure the log may double first: a single long reader outlasts every pause.
    else if (bytes >= this.#dueBytes) this.#dueBytes = this.#restart() ? this.#largeBytes : 2 * bytes;
  }

  #restart(): boolean {
    const deadline = performance.now() + PAUSE_MS;
    while (performance.now() < deadline) {
      // Without SQLite's own wait, which never ends if one reader follows another at once.
      const [row] = this.#database.pragma('wal_checkpoint(RESTART)') as Checkpoint[];
      const { busy, log, checkpointed } = row as Checkpoint;
      if (busy === 0) return true;
      // A reader that began in the older half of the log is still reading, and may take as long
      // again.
      if (log > 0 && checkpointed < log / 2) return false;
      Atomics.wait(sleepCell, 0, 0, RETRY_MS);
    }
    return false;
  }
}
