/** Opens a state file for reading, without changing it. */
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { UserError } from '../../core/errors.ts';
import { openOwn, refuseForeign, refuseUnknown, type Sqlite, versionOf } from './database.ts';
import { refuseWithoutIndex } from './lock.ts';
import { MIGRATIONS } from './migrations.ts';
import { COMPANIONS, isOwnFile, makePrivate } from './private-files.ts';
import { StateFileError } from './state-file.ts';
import { explained } from './storage-errors.ts';

/** Maximum size of a file that is read into memory because it cannot be opened directly. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Offsets in the header of the read and write versions, and their value for a file without a write-ahead log. */
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

/**
 * Opens a state file without changing it or creating files. Throws a UserError, also if the file does not exist or has
 * another version.
 */
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

/** Not a read-only connection: it would create a log file and leave it behind. */
function openWritable(path: string): Sqlite {
  refuseWithoutIndex(path);
  if (isOwnFile(path)) makePrivate(path);
  return openOwn(path);
}

/**
 * A log file shows that other processes use the state, which can then be read directly. Without one, SQLite would create a
 * log with the mode of the read-only file, and no process could write to that log.
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
