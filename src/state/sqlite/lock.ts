/**
 * Locks between gateways. The operating system releases them when the process ends, however it
 * ends.
 */
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { UserError } from '../../core/errors.ts';
import { resolveLinks } from '../../core/files.ts';
import { createPrivately } from './database.ts';
import { explained, isBusy } from './storage-errors.ts';

export interface Lock {
  release(): void;
}

/** Locks a state file for this gateway. Throws a UserError if another gateway has locked it. */
export function lockState(path: string): Lock {
  // A symbolic link leads to the same file, so it needs the same lock.
  const lockPath = `${resolveLinks(path)}-lock`;
  const lock = tryLockFile(lockPath);
  if (lock !== undefined) return lock;
  throw new UserError(
    `another inf-gw serve is running on ${path}; stop it, or set \`state:\` in the config to another file`,
  );
}

/** How long to wait for another gateway that is starting on the same port. */
const ADDRESS_WAIT_MS = 5_000;
const RETRY_MS = 20;

/**
 * Locks a port from the check that it is free until the threads listen on it. When several threads
 * share a port, the operating system would let another process share it too. Throws a UserError if
 * another gateway holds the lock for longer than 5 s.
 */
export async function lockPort(port: number): Promise<Lock> {
  const path = join(tmpdir(), `inf-gw-${userInfo().uid}-${port}.lock`);
  const deadline = performance.now() + ADDRESS_WAIT_MS;
  while (true) {
    const lock = tryLockFile(path);
    if (lock !== undefined) return lock;
    if (performance.now() > deadline) {
      throw new UserError(`another inf-gw serve has been starting on port ${port} for too long; stop it, or try again`);
    }
    await setTimeout(RETRY_MS);
  }
}

/**
 * Locks a file with an exclusive SQLite transaction, which is a lock of the operating system and
 * writes nothing. Returns undefined if another process holds the lock.
 */
function tryLockFile(path: string): Lock | undefined {
  createPrivately(path);
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
