/**
 * Keeps SQLite's log from growing for ever. It starts anew only once everything in it was copied into the file and
 * nobody reads from it, which never comes to pass while readers overlap and writes go on: then these must pause.
 */
import { fileSize } from '../../core/files.ts';
import type { Sqlite } from './database.ts';

/** A log of this size is worth a pause, in which readers that follow each other without a gap die out. */
const LARGE_BYTES = 1024 * 1024 * 1024;
/** How long a pause may be: two readers in a row have to end in it, of two seconds each. */
const PAUSE_MS = 6_000;
/** A step between two tries within it. */
const RETRY_MS = 5;

/** What SQLite tells of a checkpoint: whether others were in the way, and in pages, the log and what was copied of it. */
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

  /** To be called between transactions. Where the log is large, it holds up the thread for six seconds at most. */
  keep(): void {
    const bytes = fileSize(`${this.#database.name}-wal`);
    if (bytes < this.#largeBytes) this.#dueBytes = this.#largeBytes;
    // What was in vain is not tried again soon: a single long reader outlasts every pause.
    else if (bytes >= this.#dueBytes) this.#dueBytes = this.#startAnew() ? this.#largeBytes : 2 * bytes;
  }

  #startAnew(): boolean {
    const deadline = performance.now() + PAUSE_MS;
    while (performance.now() < deadline) {
      // Without SQLite's own wait, which never ends where the next reader takes the place of the last one at once.
      const [row] = this.#database.pragma('wal_checkpoint(RESTART)') as Checkpoint[];
      const { busy, log, checkpointed } = row as Checkpoint;
      if (busy === 0) return true;
      // Somebody still reads who began in the older half of the log, and may go on for as long again.
      if (log > 0 && checkpointed < log / 2) return false;
      Atomics.wait(sleepCell, 0, 0, RETRY_MS);
    }
    return false;
  }
}
