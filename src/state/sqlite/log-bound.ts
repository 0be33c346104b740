/**
 * Bounds the size of SQLite's write-ahead log. The log restarts only after a full copy into the file, at a moment without
 * readers. With overlapping readers and continuous writes that moment never occurs, so writes must pause.
 */
import { fileSize } from '../../core/files.ts';
import type { Sqlite } from './database.ts';

/** Size of the log that justifies a pause, in which a chain of overlapping readers can end. */
const LARGE_BYTES = 1024 * 1024 * 1024;
/** Maximum pause: time for two consecutive readers of two seconds each. */
const PAUSE_MS = 6_000;
/** Interval of attempts within a pause. */
const RETRY_MS = 5;

/** The result of a checkpoint: whether it was blocked, the frames in the log, and the frames copied. */
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

  /** Call it between transactions. If the log is large, it blocks the thread for six seconds at most. */
  keep(): void {
    const bytes = fileSize(`${this.#database.name}-wal`);
    if (bytes < this.#largeBytes) this.#dueBytes = this.#largeBytes;
    // After a failure the log may double before the next pause: a single long reader outlasts any pause.
    else if (bytes >= this.#dueBytes) this.#dueBytes = this.#restart() ? this.#largeBytes : 2 * bytes;
  }

  #restart(): boolean {
    const deadline = performance.now() + PAUSE_MS;
    while (performance.now() < deadline) {
      // The connection has no busy timeout: SQLite's wait would never end if each reader is followed by another.
      const [row] = this.#database.pragma('wal_checkpoint(RESTART)') as Checkpoint[];
      const { busy, log, checkpointed } = row as Checkpoint;
      if (busy === 0) return true;
      // A reader of the older half of the log is still active, and may take as long again.
      if (log > 0 && checkpointed < log / 2) return false;
      Atomics.wait(sleepCell, 0, 0, RETRY_MS);
    }
    return false;
  }
}
