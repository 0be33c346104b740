/**
 * Has SQLite's log copied into the file by a thread of its own, since that waits for the disk: the ledger's thread may serve
 * requests as well. The thread lives for as long as there is much to copy.
 */
import type { Worker } from 'node:worker_threads';
import { Port } from '../../core/port.ts';
import { startThread } from '../../core/threads.ts';
import type { CheckpointCalls } from './checkpoint-thread.ts';
import type { Sqlite, Statement } from './database.ts';

/** So many frames of the log, of 4 KB each, are copied at a time. */
const COPY_FRAMES = 2_000;
/** From this length on the log begins anew. */
const RESTART_FRAMES = 4_000;
/** A log of a gigabyte must begin anew, however much of it readers keep from being copied. */
const LARGE_FRAMES = 262_144;
/** How long the thread waits for more to copy. */
const IDLE_MS = 30_000;
/** Between attempts that fail, as on a full disk: each takes a new thread. */
const RETRY_MS = 1_000;
/** All that it holds are SQLite's pages, which are not in V8's heap. */
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 32 };

interface CopyingThread {
  readonly worker: Worker;
  readonly port: Port<object, CheckpointCalls>;
}

interface Log {
  /** Frames in the log, and how many of them are in the file. */
  readonly log: number;
  readonly checkpointed: number;
}

export class Checkpoints {
  readonly #database: Sqlite;
  readonly #log: Statement;
  #thread: CopyingThread | undefined;
  /** Undefined while nothing is copied. */
  #copying: Promise<void> | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #failedAtMs = Number.NEGATIVE_INFINITY;

  /** From now on the commits of this connection copy nothing. */
  constructor(database: Sqlite) {
    this.#database = database;
    database.pragma('wal_autocheckpoint = 0');
    this.#log = database.prepare('PRAGMA wal_checkpoint(NOOP)');
  }

  /**
   * To be called between transactions. Where it returns a promise, the log is about to begin anew, and no transaction may
   * begin before that resolves: after a few syncs, or at the worst after six seconds.
   */
  keep(): Promise<void> | undefined {
    if (this.#copying !== undefined || performance.now() - this.#failedAtMs < RETRY_MS) return undefined;
    const { log, checkpointed } = this.#log.get() as Log;
    if (log < LARGE_FRAMES && log - checkpointed >= COPY_FRAMES) void this.#have('copy');
    else if (log >= RESTART_FRAMES) return this.#have('restart');
    return undefined;
  }

  /** Ends the thread, after what it is doing. */
  async close(): Promise<void> {
    await this.#copying;
    await this.#end();
  }

  /** What fails is tried again later; that the file cannot be written, the ledger finds by itself. */
  #have(call: 'copy' | 'restart'): Promise<void> {
    clearTimeout(this.#idleTimer);
    this.#copying = this.#tell(call)
      .catch(() => {
        this.#failedAtMs = performance.now();
        this.#copyHere();
        return this.#end();
      })
      .then(() => {
        this.#copying = undefined;
        this.#idleTimer = setTimeout(() => void this.#end(), IDLE_MS).unref();
      });
    return this.#copying;
  }

  /** Where the thread cannot start, the log would grow for ever. Waits for the disk. */
  #copyHere(): void {
    try {
      this.#database.pragma('wal_checkpoint(PASSIVE)');
    } catch {
      // The ledger finds by itself that the file cannot be written.
    }
  }

  /** The process does not end before the thread has answered. */
  async #tell(call: keyof CheckpointCalls): Promise<void> {
    this.#thread ??= this.#start();
    const { worker, port } = this.#thread;
    worker.ref();
    await port.call(call).finally(() => worker.unref());
  }

  #start(): CopyingThread {
    const worker = startThread('state/sqlite/checkpoint-thread', {
      workerData: this.#database.name,
      resourceLimits: RESOURCE_LIMITS,
    });
    const port = new Port<object, CheckpointCalls>(worker, 'the thread that copies the log').serve({});
    return { worker, port };
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idleTimer);
    const thread = this.#thread;
    if (thread === undefined) return;
    const closed = this.#tell('close');
    this.#thread = undefined;
    await closed.catch(() => {});
    await thread.worker.terminate();
  }
}
