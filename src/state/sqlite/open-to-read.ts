/** Opens a state file that must not be changed, or cannot be. */
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { UserError } from '../../core/errors.ts';
import { openOwn, refuseForeign, refuseUnknown, type Sqlite, versionOf } from './database.ts';
import { refuseWithoutIndex } from './lock.ts';
import { MIGRATIONS } from './migrations.ts';
import { COMPANIONS, isOwnFile, makePrivate } from './private-files.ts';
import { StateFileError } from './state-file.ts';
import { explained } from './storage-errors.ts';

/** A file that cannot be opened in its place is read into memory up to this size. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Where the header says that changes are in a log beside the file, and the value for a file that has none. */
const LOG_OFFSETS = [18, 19];
const NO_LOG = 1;

/** Whether a file exists that this process cannot write: its mode, another owner, or the disk forbid it. */
export function isUnwritable(path: string): boolean {
  try {
    closeSync(openSync(path, 'r+'));
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}

/** Changes nothing, and makes no file. Throws a UserError, also if there is no file, or one of another version. */
export function openToRead(path: string): Sqlite {
  let database: Sqlite | undefined;
  try {
    database = isUnwritable(path) ? openUnwritable(path) : openWritable(path);
    database.pragma('query_only = on');
    refuseOther(database, path);
    return database;
  } catch (error) {
    database?.close();
    throw explained(error, path);
  }
}

/** Not read-only: such a connection leaves the log behind that it has to make. */
function openWritable(path: string): Sqlite {
  refuseWithoutIndex(path);
  if (isOwnFile(path)) makePrivate(path);
  return openOwn(path);
}

/**
 * With a log beside the file others use it, and it can be read in place. To read it without one,
 * SQLite would make the log, with the mode of the file: nobody could write the state with that.
 */
function openUnwritable(path: string): Sqlite {
  const database = COMPANIONS.some((suffix) => existsSync(path + suffix))
    ? new Database(path, { readonly: true, fileMustExist: true, timeout: 0 })
    : new Database(copyOf(path), { readonly: true });
  refuseForeign(database, path);
  return database;
}

function copyOf(path: string): Buffer {
  if (statSync(path).size > MOST_BYTES) {
    throw new StateFileError(
      'it cannot be written, and is too large to be read into memory: copy it to where it can be',
    );
  }
  const bytes = readFileSync(path);
  for (const offset of LOG_OFFSETS) if (bytes.length > offset) bytes[offset] = NO_LOG;
  return bytes;
}

function refuseOther(database: Sqlite, path: string): void {
  refuseUnknown(database, path);
  if (versionOf(database) === MIGRATIONS.length) return;
  throw new UserError(`${path} was written by an older inf-gw: run serve, or any command that may change it, once`);
}
