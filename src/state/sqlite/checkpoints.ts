/**
 * Schedules checkpoints on a separate thread: they wait for the disk, and the ledger's thread may also serve requests. The
 * thread exits when idle.
 */
import type { Worker } from 'node:worker_threads';
import { Port } from '../../core/port.ts';
import { startThread } from '../../core/threads.ts';
import type { CheckpointCalls } from './checkpoint-thread.ts';
import type { Sqlite, Statement } from './database.ts';

/** Number of 4 KB log frames per copy. */
const COPY_FRAMES = 2_000;
/** The log restarts at this length. */
const RESTART_FRAMES = 4_000;
/** At one gigabyte the log must restart, even if readers still block most of the copy. */
const LARGE_FRAMES = 262_144;
/** Idle time after which the thread ends. */
const IDLE_MS = 30_000;
/** Delay after a failed attempt, such as on a full disk: each attempt starts a new thread. */
const RETRY_MS = 1_000;
/** SQLite's pages are outside V8's heap, so the thread needs little of it. */
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 32 };

interface CopyingThread {
  readonly worker: Worker;
  readonly port: Port<object, CheckpointCalls>;
}

interface Log {
  /** Number of frames in the log, and number of frames copied into the file. */
  readonly log: number;
  readonly checkpointed: number;
}

export class Checkpoints {
  readonly #database: Sqlite;
  readonly #log: Statement;
  #thread: CopyingThread | undefined;
  /** The running checkpoint; undefined if idle. */
  #copying: Promise<void> | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #failedAtMs = Number.NEGATIVE_INFINITY;

  /** Disables automatic checkpoints on this connection. */
  constructor(database: Sqlite) {
    this.#database = database;
    database.pragma('wal_autocheckpoint = 0');
    this.#log = database.prepare('PRAGMA wal_checkpoint(NOOP)');
  }

  /**
   * Call it between transactions. If it returns a promise, the log is about to restart, and no transaction may begin
   * before the promise resolves: after a few syncs, or after six seconds at most.
   */
  keep(): Promise<void> | undefined {
    if (this.#copying !== undefined || performance.now() - this.#failedAtMs < RETRY_MS) return undefined;
    const { log, checkpointed } = this.#log.get() as Log;
    if (log < LARGE_FRAMES && log - checkpointed >= COPY_FRAMES) void this.#have('copy');
    else if (log >= RESTART_FRAMES) return this.#have('restart');
    return undefined;
  }

  /** Ends the thread after its current call. */
  async close(): Promise<void> {
    await this.#copying;
    await this.#end();
  }

  /** Failures are retried later. The ledger detects an unwritable file on its next write. */
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

  /** If the thread cannot start, the log would grow without bound, so this thread copies it. Blocks on the disk. */
  #copyHere(): void {
    try {
      this.#database.pragma('wal_checkpoint(PASSIVE)');
    } catch {
      // The ledger detects an unwritable file on its next write.
    }
  }

  /** Keeps the process alive until the thread has answered. */
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
