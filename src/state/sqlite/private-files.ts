/** Keeps the state file, and the files that SQLite keeps beside it, closed to other users. */

import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { UserError } from '../../core/errors.ts';
import { resolveLinks } from '../../core/files.ts';

/** Marks a database as ours: "infg" in ASCII. */
export const APPLICATION_ID = 0x69_6e_66_67;
export const PRIVATE_MODE = 0o600;
const OTHERS = 0o077;
/** What SQLite keeps beside a database, by the end of the name. */
export const COMPANIONS = ['-wal', '-shm', '-journal'];
/** The first bytes of every SQLite database, and where in its header the application id is. */
const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
const APPLICATION_ID_OFFSET = 68;

/**
 * Creates an empty file that only its owner can read. Returns false if the file exists. Throws a
 * UserError.
 */
export function createPrivately(path: string): boolean {
  try {
    if (existsSync(path)) {
      if (statSync(path).isFile()) return false;
      throw new UserError(`${path} is not a file; set \`state:\` in the config to another path`);
    }
    mkdirSync(dirname(path), { recursive: true });
    closeSync(openSync(path, 'a', PRIVATE_MODE));
    return true;
  } catch (error) {
    if (error instanceof UserError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new UserError(`cannot create the state file ${path} (${code}); set \`state:\` in the config to another path`);
  }
}

/**
 * Closes a file, and what SQLite keeps beside it, to other users: a restored copy can be readable
 * for all. SQLite gives its companions the mode of the file, and whoever can open those can lock
 * them, so this comes before SQLite opens the file. Throws a UserError.
 */
export function makePrivate(path: string): void {
  const file = resolveLinks(path);
  for (const part of [file, ...COMPANIONS.map((suffix) => file + suffix)]) {
    const mode = statSync(part, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & OTHERS) === 0) continue;
    try {
      chmodSync(part, PRIVATE_MODE);
    } catch (error) {
      // SQLite removes its companions when the last process closes the file.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      throw new UserError(`other users can read ${part}, and its mode cannot be changed; run chmod 600 as its owner`);
    }
  }
}

/** Whether a file is empty, or a state file of ours by its header. Read without SQLite, which opens companions. */
export function isOwnFile(path: string): boolean {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const header = Buffer.alloc(HEADER_BYTES);
    const length = readSync(file, header, 0, HEADER_BYTES, 0);
    if (length === 0) return true;
    return (
      header.toString('latin1', 0, MAGIC.length) === MAGIC &&
      header.readUInt32BE(APPLICATION_ID_OFFSET) === APPLICATION_ID
    );
  } catch {
    // SQLite reports what is wrong with the file.
    return false;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
