/** The checkpoint thread: copies SQLite's log into the file, concurrently with the ledger's thread. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { Port } from '../../core/port.ts';
import { LOG_BYTES, openOwn, type Sqlite, writeNothing } from './database.ts';
import { LogBound } from './log-bound.ts';

/** The calls that the thread serves. All reject if the file cannot be opened or written. */
export interface CheckpointCalls {
  /** Runs a passive checkpoint, which blocks neither readers nor writers. */
  copy(): Promise<void>;
  /**
   * Copies the rest of the log and restarts it. There must be no writer during the call. Waits for readers only if the log
   * is large, up to six seconds.
   */
  restart(): Promise<void>;
  close(): Promise<void>;
}

function main(parent: MessagePort, path: string): void {
  let opened: { readonly database: Sqlite; readonly bound: LogBound } | undefined;
  const open = () => {
    if (opened !== undefined) return opened;
    const database = openOwn(path);
    // A checkpoint syncs the log and then the file. Commits of this connection need no sync.
    database.pragma('synchronous = NORMAL');
    // The connection that restarts the log truncates it to its own limit.
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
      // The first commit of a new log syncs its header. Do it here, so that no request waits for it.
      writeNothing(database);
    },
    close: async () => void opened?.database.close(),
  });
}

if (parentPort !== null) main(parentPort, workerData as string);
