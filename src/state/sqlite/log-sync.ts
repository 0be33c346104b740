/**
 * Makes commits safe from a power cut, on the side: syncs SQLite's write-ahead log through a
 * descriptor of its own. SQLite holds no lock on the log, so closing that releases none.
 */
import { closeSync, constants, fdatasync, fdatasyncSync, openSync } from 'node:fs';
import type { Sqlite } from './database.ts';
import { StateFileError } from './state-file.ts';

/**
 * Commits no longer sync the log (`synchronous = NORMAL`); SQLite syncs it only before it copies
 * pages from it into the file, and the file before it starts the log anew. So a sync of the log that
 * begins after a commit makes that commit durable, and all before it.
 */
export class LogSync {
  readonly #database: Sqlite;
  readonly #log: number;
  /** Why the last sync failed; undefined once its pages are safe all the same. */
  #failure: StateFileError | undefined;

  /** A commit must have synced the log before, and so its entry in the directory. */
  constructor(database: Sqlite) {
    this.#database = database;
    this.#log = openSync(`${database.name}-wal`, constants.O_RDWR | constants.O_NOFOLLOW);
    database.pragma('synchronous = NORMAL');
  }

  /** Syncs all that was committed so far. Rejects with a storage error. */
  async sync(): Promise<void> {
    this.repair();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    fdatasync(this.#log, (error) => (error === null ? resolve() : reject(this.#failed(error))));
    await promise;
  }

  /** As `sync`, and blocks meanwhile. */
  syncNow(): void {
    this.repair();
    try {
      fdatasyncSync(this.#log);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /**
   * After a failed sync the system may take the pages for written, and the next sync would succeed
   * without them. Copying the log into the file writes them anew. Throws why the sync failed for as
   * long as that fails too.
   */
  repair(): void {
    if (this.#failure === undefined) return;
    const [result] = this.#database.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    if (result?.busy !== 0) throw this.#failure;
    this.#failure = undefined;
  }

  close(): void {
    closeSync(this.#log);
  }

  #failed(error: unknown): StateFileError {
    const { code } = error as NodeJS.ErrnoException;
    this.#failure = new StateFileError(`the disk reports an error; check the disk (${code})`);
    return this.#failure;
  }
}
