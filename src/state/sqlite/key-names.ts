/** Reads the names of keys and groups for shell completion: it creates and migrates no file, and hardly waits for locks. */
import Database from 'better-sqlite3';
import { refuseWithoutIndex } from './lock.ts';

/** A checkpoint may lock the file for longer, but completion must be quick. */
const LOCK_WAIT_MS = 200;

/** Throws a UserError or SQLite's error. */
export function keyNames(path: string, most: number): string[] {
  refuseWithoutIndex(path);
  // Not a read-only connection: it would create a log file and leave it behind.
  const database = new Database(path, { fileMustExist: true, timeout: LOCK_WAIT_MS });
  try {
    database.pragma('query_only = on');
    const statement = database.prepare(`SELECT name FROM (SELECT id, name FROM keys WHERE state <> 'deleted'
      UNION ALL SELECT id, '@' || name FROM groups WHERE state <> 'deleted') ORDER BY substr(id, 5) DESC LIMIT ?`);
    return statement.pluck().all(most) as string[];
  } finally {
    database.close();
  }
}
