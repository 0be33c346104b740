/**
 * Makes commits safe from a power cut, on the side: syncs SQLite's write-ahead log through a
 * descriptor of its own. SQLite holds no lock on the log, so closing that releases none.
 */
import { closeSync, constants, fdatasync, fdatasyncSync, openSync } from 'node:fs';
import { getSystemErrorName } from 'node:util';
import type { Sqlite } from './database.ts';
import { Flusher } from './flusher.ts';
import { StateFileError } from './state-file.ts';

/**
 * Commits no longer sync the log (`synchronous = NORMAL`); SQLite syncs it only before it copies
 * pages from it into the file, and the file before it starts the log anew. So a sync of the log that
 * begins after a commit makes that commit durable, and all before it.
 */
export class LogSync {
  readonly #database: Sqlite;
  readonly #log: number;
  /** Undefined until a commit waits for a running sync: a thread is worth its memory only at load. */
  #flusher: Flusher | undefined;
  /** The sync of the flusher that makes all commits durable; undefined if none was wanted since the last commit. */
  #covering: number | undefined;
  /** Why the last sync failed; undefined once its pages are safe all the same. */
  #failure: StateFileError | undefined;

  /** A commit must have synced the log before, and so its entry in the directory. */
  constructor(database: Sqlite) {
    this.#database = database;
    this.#log = openSync(`${database.name}-wal`, constants.O_RDWR | constants.O_NOFOLLOW);
    database.pragma('synchronous = NORMAL');
  }

  /** Must be called after each commit that a sync is to make durable. */
  noteCommit(): void {
    this.#covering = undefined;
  }

  /** Has the next sync begin as soon as the running one ends. The next call of `sync` returns its result. */
  prepare(): void {
    if (this.#failure !== undefined) return;
    this.#flusher ??= new Flusher(this.#log);
    if (this.#flusher.isReady) this.#covering ??= this.#flusher.want();
  }

  /** Syncs all that was committed so far. Rejects with a storage error. */
  async sync(): Promise<void> {
    this.repair();
    if (this.#flusher?.isReady) {
      const errno = await this.#flusher.ended(this.#covering ?? this.#flusher.want());
      if (errno === 0) return;
      if (errno !== undefined) throw this.#failed(getSystemErrorName(errno));
    }
    // By libuv's pool.
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    fdatasync(this.#log, (error) => (error === null ? resolve() : reject(this.#failed(error.code))));
    await promise;
  }

  /** As `sync`, and blocks meanwhile. */
  syncNow(): void {
    this.repair();
    try {
      fdatasyncSync(this.#log);
    } catch (error) {
      throw this.#failed((error as NodeJS.ErrnoException).code);
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
    this.#flusher?.forgive();
  }

  async close(): Promise<void> {
    // First: the number of the descriptor may stand for another file soon.
    await this.#flusher?.close();
    closeSync(this.#log);
  }

  #failed(code: string | undefined): StateFileError {
    this.#covering = undefined;
    this.#failure = new StateFileError(`the disk reports an error; check the disk (${code})`);
    return this.#failure;
  }
}
