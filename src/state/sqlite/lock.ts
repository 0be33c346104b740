/** Locks between gateways: they go with the process that has them, however it ends. */
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { UserError } from '../../core/errors.ts';
import { resolveLinks } from '../../core/files.ts';
import { createPrivately, explained, isBusy } from './database.ts';

export interface Lock {
  release(): void;
}

/** Takes a state file. Throws a UserError where another gateway has it. */
export function lockState(path: string): Lock {
  // A link to the file is the same file.
  const lockPath = `${resolveLinks(path)}-lock`;
  const lock = tryLockFile(lockPath);
  if (lock !== undefined) return lock;
  throw new UserError(
    `another inf-gw serve is running on ${path}; stop it, or name another file with \`state:\` in the config`,
  );
}

/** How long another gateway may take to find its address free and to listen at it. */
const ADDRESS_WAIT_MS = 5_000;
const RETRY_MS = 20;

/**
 * Takes a port while it is looked whether it is free and until it is listened at: where several threads share a port, the
 * system would let another process in, too. Throws a UserError where others hold it for too long.
 */
export async function lockPort(port: number): Promise<Lock> {
  const path = join(tmpdir(), `inf-gw-${userInfo().uid}-${port}.lock`);
  const deadline = performance.now() + ADDRESS_WAIT_MS;
  while (true) {
    const lock = tryLockFile(path);
    if (lock !== undefined) return lock;
    if (performance.now() > deadline) {
      throw new UserError(`another inf-gw serve has been starting on port ${port} for too long; end it, or try again`);
    }
    await setTimeout(RETRY_MS);
  }
}

/**
 * An exclusive transaction is a lock of the operating system: it goes with the process, and writes nothing. Undefined
 * where somebody has it.
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
