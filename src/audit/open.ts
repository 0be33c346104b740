/** Opens a state file for reading without changing its folder. */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { Row } from './checks.ts';

export type Sqlite = Database.Database;
export type Statement = Database.Statement<unknown[], Row>;

const LOCK_WAIT_MS = 5_000;

/** Reads integers as bigints. Throws SQLite's errors. */
export function openToLook(path: string): Sqlite {
  // A read-only connection leaves the WAL and its index behind; a writable one deletes them on close. So the connection is
  // read-only exactly if a WAL exists.
  const readonly = existsSync(`${path}-wal`);
  return new Database(path, { readonly, fileMustExist: true, timeout: LOCK_WAIT_MS }).defaultSafeIntegers();
}
