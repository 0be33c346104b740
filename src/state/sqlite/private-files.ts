/** Restricts the state file and SQLite's companion files to their owner. */

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
/** Suffixes of SQLite's companion files. */
export const COMPANIONS = ['-wal', '-shm', '-journal'];
/** The first bytes of every SQLite database, and the offset of the application id in its header. */
const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
const APPLICATION_ID_OFFSET = 68;

/** The owner of a new file. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The owner for files that root creates next to a state file, so that a gateway of that user can open them. */
export function ownerBeside(path: string): Owner | undefined {
  return ownUid() === 0 ? statSync(existsSync(path) ? path : dirname(path), { throwIfNoEntry: false }) : undefined;
}

/** Creates an empty file with mode 600. Throws if the path exists, also as a link. */
export function createExclusively(path: string, owner?: Owner): void {
  const file = openSync(path, 'wx', PRIVATE_MODE);
  try {
    if (owner !== undefined) fchownSync(file, owner.uid, owner.gid);
  } finally {
    closeSync(file);
  }
}

/** Creates an empty file with mode 600. Returns false if the file exists. Throws a UserError. */
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
    // Another process has created it first.
    if (code === 'EEXIST') return false;
    throw new UserError(`cannot create the state file ${path} (${code}); set \`state:\` in the config to another path`);
  }
}

/** Throws a UserError for a symbolic link: its target is neither created nor changed. */
function refuseLink(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  throw new UserError(
    existsSync(path)
      ? `${path} is a symbolic link; remove the link`
      : `${path} is a symbolic link to a file that does not exist; mount its disk, or remove the link`,
  );
}

/**
 * Restricts a file and its companions to their owner: a restored copy can be readable for all. SQLite gives its companions
 * the mode of the file, and read permission is enough to lock them, so this must run before SQLite opens the file. Throws
 * a UserError.
 */
export function makePrivate(path: string): void {
  const file = resolveLinks(path);
  for (const part of [file, ...COMPANIONS.map((suffix) => file + suffix)]) makePartPrivate(part);
}

/** Like `makePrivate`, for a single file. Also throws a UserError for a link. */
export function makePartPrivate(path: string): void {
  refuseLink(path);
  const mode = lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  // Opens the file only if its mode is wrong: closing it drops all locks that this process holds on it.
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

/**
 * Whether a file is empty, or its header contains this application id. Reads the header without SQLite, which would open
 * companions.
 */
export function isOwnFile(path: string, applicationId = APPLICATION_ID): boolean {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const header = Buffer.alloc(HEADER_BYTES);
    const length = readSync(file, header, 0, HEADER_BYTES, 0);
    if (length === 0) return true;
    return (
      header.toString('latin1', 0, MAGIC.length) === MAGIC &&
      header.readUInt32BE(APPLICATION_ID_OFFSET) === applicationId
    );
  } catch {
    // SQLite will report the problem.
    return false;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
