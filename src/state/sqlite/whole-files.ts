/** Database files as a whole: removed and synced together with what SQLite keeps beside them. */
import { existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { COMPANIONS } from './private-files.ts';

/** The file that is locked for a state file, without symbolic links. */
export function lockPathOf(path: string): string {
  return `${path}-lock`;
}

/** Removes a database and its companions, as far as they exist. */
export function removeFiles(path: string): void {
  rmSync(path, { force: true });
  removeCompanions(path);
}

export function removeCompanions(path: string): void {
  for (const suffix of COMPANIONS) rmSync(path + suffix, { force: true });
}

/**
 * Closes a database of which files are not in their place. SQLite removes the log when it closes the last connection that it
 * knows of, with what others have written to it since; from a log that is still there, the next to open the file takes it.
 */
export function keepingLog(path: string, close: () => void): void {
  const [log, kept] = [`${path}-wal`, `${path}-wal-kept`];
  try {
    rmSync(kept, { force: true });
    linkSync(log, kept);
  } catch {
    // There is none, or the disk cannot do that.
    return close();
  }
  close();
  if (existsSync(log)) rmSync(kept);
  else renameSync(kept, log);
}
