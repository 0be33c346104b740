/** Removes and closes database files together with their companions. */
import { existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { COMPANIONS } from './private-files.ts';

/** Path of the lock file of a state file; `path` must not contain symbolic links. */
export function lockPathOf(path: string): string {
  return `${path}-lock`;
}

/** Removes a database and its companions if they exist. */
export function removeFiles(path: string): void {
  rmSync(path, { force: true });
  removeCompanions(path);
}

export function removeCompanions(path: string): void {
  for (const suffix of COMPANIONS) rmSync(path + suffix, { force: true });
}

/**
 * Closes a database whose files were moved or deleted. SQLite removes the log when it closes the last connection that it
 * knows of, including later writes of other processes. A log that is kept is applied by the next process that opens the
 * file.
 */
export function keepingLog(path: string, close: () => void): void {
  const [log, kept] = [`${path}-wal`, `${path}-wal-kept`];
  try {
    rmSync(kept, { force: true });
    linkSync(log, kept);
  } catch {
    // The log does not exist, or the file system does not support hard links.
    return close();
  }
  close();
  if (existsSync(log)) rmSync(kept);
  else renameSync(kept, log);
}
