/** Locks that keep a second gateway off, for as long as this process lives, however it ends. */
import { existsSync, realpathSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { UserError } from '../core/errors.ts';
import { createPrivately, explained, isBusy } from './sqlite.ts';

export interface Lock {
  release(): void;
}

/** Takes a state file. Throws a UserError where another gateway has it. */
export function lockState(path: string): Lock {
  // A link to the file is the same file.
  const lockPath = `${existsSync(path) ? realpathSync(path) : path}-lock`;
  return lockFile(
    lockPath,
    `another inf-gw serve is running on ${path}; stop it, or name another file with \`state:\` in the config`,
  );
}

/** Takes an address that several threads will share, so that the system itself would let other processes in as well. */
export function lockAddress(host: string, port: number): Lock {
  const name = `inf-gw-${userInfo().uid}-${host.replaceAll(/[^0-9A-Za-z.]/g, '_')}-${port}.lock`;
  return lockFile(
    join(tmpdir(), name),
    `${host}:${port} is in use by another inf-gw serve; stop it, or set another \`listen:\` in the config`,
  );
}

/** An exclusive transaction is a lock of the operating system: it goes with the process, and writes nothing. */
function lockFile(path: string, whenTaken: string): Lock {
  createPrivately(path);
  const database = new Database(path, { timeout: 0 });
  try {
    database.pragma('journal_mode = MEMORY');
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (isBusy(error)) throw new UserError(whenTaken);
    throw explained(error, path);
  }
  return { release: () => database.close() };
}
