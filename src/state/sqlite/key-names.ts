/** The names of the keys and groups in a state file, for who only suggests them: nothing is made, migrated or waited for. */
import Database from 'better-sqlite3';
import { refuseWithoutIndex } from './lock.ts';

/** A checkpoint locks the file for longer, but who presses Tab does not wait for one. */
const LOCK_WAIT_MS = 200;

/** Throws a UserError, or whatever SQLite throws. */
export function keyNames(path: string, most: number): string[] {
  refuseWithoutIndex(path);
  // Not read-only: such a connection leaves the log behind that it has to make.
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
