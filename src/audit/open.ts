/** Opens a state file to look at it, and leaves its folder as it was. */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

const LOCK_WAIT_MS = 5_000;

/** Integers are read as bigints. Throws what SQLite throws. */
export function openToLook(path: string): DatabaseSync {
  // Whoever only reads leaves the log and its index behind, and whoever may write removes them at the end: with a log
  // that somebody else has left, that would change the file.
  const readOnly = existsSync(`${path}-wal`);
  return new DatabaseSync(path, { readOnly, timeout: LOCK_WAIT_MS, readBigInts: true });
}
