/**
 * The lock of a state file. The operating system releases it when the process ends, however it
 * ends.
 */
import Database from 'better-sqlite3';
import { UserError } from '../../core/errors.ts';
import { resolveLinks } from '../../core/files.ts';
import { createPrivately, makePrivate } from './private-files.ts';
import { explained, isBusy } from './storage-errors.ts';

export interface Lock {
  release(): void;
}

/** Locks a state file for this gateway. Throws a UserError if another gateway has locked it. */
export function lockState(path: string): Lock {
  const lock = tryLockState(path);
  if (lock !== undefined) return lock;
  throw new UserError(
    `another inf-gw serve is running on ${path}; stop it, or set \`state:\` in the config to another file`,
  );
}

/** Locks a state file. Returns undefined if a gateway runs on it. Throws a UserError. */
export function tryLockState(path: string): Lock | undefined {
  // A symbolic link leads to the same file, so it needs the same lock.
  return tryLockFile(lockPathOf(resolveLinks(path)));
}

/** The file that is locked for a state file, without symbolic links. */
export function lockPathOf(path: string): string {
  return `${path}-lock`;
}

/**
 * Locks a file with an exclusive SQLite transaction, which is a lock of the operating system and
 * writes nothing. Returns undefined if another process holds the lock.
 */
function tryLockFile(path: string): Lock | undefined {
  // Whoever can read a file can lock it.
  if (!createPrivately(path)) makePrivate(path);
  const database = new Database(path, { timeout: 0 });
  try {
    database.pragma('journal_mode = MEMORY');
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw explained(error, path);
  }
  return { release: () => database.close() };
}
