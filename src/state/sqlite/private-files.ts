/** Keeps the state file, and the files that SQLite keeps beside it, closed to other users. */

import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { UserError } from '../../core/errors.ts';
import { ownUid, resolveLinks } from '../../core/files.ts';

/** Marks a database as ours: "infg" in ASCII. */
export const APPLICATION_ID = 0x69_6e_66_67;
const PRIVATE_MODE = 0o600;
const OTHERS = 0o077;
/** What SQLite keeps beside a database, by the end of the name. */
export const COMPANIONS = ['-wal', '-shm', '-journal'];
/** The first bytes of every SQLite database, and where in its header the application id is. */
const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
const APPLICATION_ID_OFFSET = 68;

/** Who is to own a file that is made. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Whom root is to give what it makes beside a file: a gateway that runs as another user could not open it otherwise. */
export function ownerBeside(path: string): Owner | undefined {
  return ownUid() === 0 ? statSync(existsSync(path) ? path : dirname(path), { throwIfNoEntry: false }) : undefined;
}

/** Creates an empty file that only its owner can read. Throws if anything has its name, also a link. */
export function createExclusively(path: string, owner?: Owner): void {
  const file = openSync(path, 'wx', PRIVATE_MODE);
  try {
    if (owner !== undefined) fchownSync(file, owner.uid, owner.gid);
  } finally {
    closeSync(file);
  }
}

/**
 * Creates an empty file that only its owner can read. Returns false if the file exists. Throws a
 * UserError.
 */
export function createPrivately(path: string, owner?: Owner): boolean {
  try {
    if (existsSync(path)) {
      if (statSync(path).isFile()) return false;
      throw new UserError(`${path} is not a file; set \`state:\` in the config to another path`);
    }
    refuseLink(path);
    mkdirSync(dirname(path), { recursive: true });
    createExclusively(path, owner);
    return true;
  } catch (error) {
    if (error instanceof UserError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    // Another process was faster.
    if (code === 'EEXIST') return false;
    throw new UserError(`cannot create the state file ${path} (${code}); set \`state:\` in the config to another path`);
  }
}

/** Throws a UserError for a link: what it leads to is neither made nor changed. */
function refuseLink(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  throw new UserError(
    existsSync(path)
      ? `${path} is a symbolic link; remove the link`
      : `${path} is a symbolic link to a file that does not exist; mount its disk, or remove the link`,
  );
}

/**
 * Closes a file, and what SQLite keeps beside it, to other users: a restored copy can be readable
 * for all. SQLite gives its companions the mode of the file, and whoever can open those can lock
 * them, so this comes before SQLite opens the file. Throws a UserError.
 */
export function makePrivate(path: string): void {
  const file = resolveLinks(path);
  for (const part of [file, ...COMPANIONS.map((suffix) => file + suffix)]) makePartPrivate(part);
}

/** As `makePrivate`, for one file. Throws a UserError also for a link. */
export function makePartPrivate(path: string): void {
  refuseLink(path);
  const mode = lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  // Only now is it opened: whoever closes a file drops the locks that its process has on it.
  if ((mode & OTHERS) === 0) return;
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    fchmodSync(file, PRIVATE_MODE);
  } catch (error) {
    // SQLite removes its companions when the last process closes the file.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw new UserError(`other users can read ${path}, and its mode cannot be changed; run chmod 600 as its owner`);
  } finally {
    if (file !== undefined) closeSync(file);
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
