/** Opens a state file to look at it, and leaves its folder as it was. */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { Row } from './checks.ts';

export type Sqlite = Database.Database;
export type Statement = Database.Statement<unknown[], Row>;

const LOCK_WAIT_MS = 5_000;

/** Integers are read as bigints. Throws what SQLite throws. */
export function openToLook(path: string): Sqlite {
  // A read-only connection leaves the log and its index behind. Another one removes them at its end, which changes the file if
  // the log was there before.
  const readonly = existsSync(`${path}-wal`);
  return new Database(path, { readonly, fileMustExist: true, timeout: LOCK_WAIT_MS }).defaultSafeIntegers();
}
