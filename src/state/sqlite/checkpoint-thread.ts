/** The thread that copies SQLite's log into the file, beside the ledger's. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { Port } from '../../core/port.ts';
import { LOG_BYTES, openOwn, type Sqlite, writeNothing } from './database.ts';
import { LogBound } from './log-bound.ts';

/** What the thread serves. All reject if the file cannot be opened or written. */
export interface CheckpointCalls {
  /** Copies what no reader needs, beside readers and writers. */
  copy(): Promise<void>;
  /**
   * Copies the rest, so that the log begins anew. Nobody may write meanwhile. Waits for readers only once the log is large,
   * for six seconds at most.
   */
  restart(): Promise<void>;
  close(): Promise<void>;
}

function main(parent: MessagePort, path: string): void {
  let opened: { readonly database: Sqlite; readonly bound: LogBound } | undefined;
  const open = () => {
    if (opened !== undefined) return opened;
    const database = openOwn(path);
    // What was copied is synced, and the log before it; commits of this connection are not.
    database.pragma('synchronous = NORMAL');
    // Whoever begins a log anew truncates it, by a limit of its own.
    database.pragma(`journal_size_limit = ${LOG_BYTES}`);
    opened = { database, bound: new LogBound(database) };
    return opened;
  };
  new Port<CheckpointCalls, object>(parent, 'the ledger').serve({
    copy: async () => {
      open().database.pragma('wal_checkpoint(PASSIVE)');
    },
    restart: async () => {
      const { database, bound } = open();
      const [done] = database.pragma('wal_checkpoint(RESTART)') as { busy: number }[];
      if (done?.busy !== 0) return bound.keep();
      // The first commit of a new log syncs its head: not one that requests wait for.
      writeNothing(database);
    },
    close: async () => void opened?.database.close(),
  });
}

if (parentPort !== null) main(parentPort, workerData as string);
