/**
 * Makes commits safe from a power failure in the background: syncs SQLite's write-ahead log through a separate descriptor.
 * SQLite holds no lock on the log, so closing the descriptor releases none.
 */
import { closeSync, constants, fdatasync, fdatasyncSync, openSync } from 'node:fs';
import { getSystemErrorName } from 'node:util';
import type { Sqlite } from './database.ts';
import { Flusher } from './flusher.ts';
import { StateFileError } from './state-file.ts';

/**
 * With `synchronous = NORMAL` commits do not sync the log. SQLite syncs the log only before it copies pages into the file,
 * and the file before it restarts the log. So a sync that begins after a commit makes that commit and all earlier ones
 * durable.
 */
export class LogSync {
  readonly #database: Sqlite;
  readonly #log: number;
  /** Undefined until a commit waits for a running sync: the thread's memory is worthwhile only under load. */
  #flusher: Flusher | undefined;
  /** The sync that makes all commits durable; undefined if none was requested since the last commit. */
  #covering: number | undefined;
  /** Error of the last failed sync; undefined once its pages are safe. */
  #failure: StateFileError | undefined;

  /** Requires a commit that synced the log, and with it the log's directory entry. */
  constructor(database: Sqlite) {
    this.#database = database;
    this.#log = openSync(`${database.name}-wal`, constants.O_RDWR | constants.O_NOFOLLOW);
    database.pragma('synchronous = NORMAL');
  }

  /** Must be called after each commit that needs a sync. */
  noteCommit(): void {
    this.#covering = undefined;
  }

  /** Requests a sync that begins as soon as the running one ends. The next `sync` returns its result. */
  prepare(): void {
    if (this.#failure !== undefined) return;
    this.#flusher ??= new Flusher(this.#log);
    if (this.#flusher.isReady) this.#covering ??= this.#flusher.want();
  }

  /** Syncs all earlier commits. Rejects with a storage error. */
  async sync(): Promise<void> {
    this.repair();
    if (this.#flusher?.isReady) {
      const errno = await this.#flusher.ended(this.#covering ?? this.#flusher.want());
      if (errno === 0) return;
      if (errno !== undefined) throw this.#failed(getSystemErrorName(errno));
    }
    // Uses libuv's thread pool.
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    fdatasync(this.#log, (error) => (error === null ? resolve() : reject(this.#failed(error.code))));
    await promise;
  }

  /** Like `sync`, but blocks the thread. */
  syncNow(): void {
    this.repair();
    try {
      fdatasyncSync(this.#log);
    } catch (error) {
      throw this.#failed((error as NodeJS.ErrnoException).code);
    }
  }

  /**
   * After a failed sync the system may mark the pages as clean, and the next sync would succeed without writing them.
   * Copying the log into the file writes the pages again. Throws the error of the sync as long as the copy fails, too.
   */
  repair(): void {
    if (this.#failure === undefined) return;
    const [result] = this.#database.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    if (result?.busy !== 0) throw this.#failure;
    this.#failure = undefined;
    this.#flusher?.forgive();
  }

  async close(): Promise<void> {
    // The flusher ends first: after the close, the descriptor number may refer to another file.
    await this.#flusher?.close();
    closeSync(this.#log);
  }

  #failed(code: string | undefined): StateFileError {
    this.#covering = undefined;
    this.#failure = new StateFileError(`the disk reports an error; check the disk (${code})`);
    return this.#failure;
  }
}
