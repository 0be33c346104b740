/** Classifies SQLite errors caused by the disk or another process, with the next step for the operator. */
import Database from 'better-sqlite3';
import { UserError } from '../../core/errors.ts';
import { StateFileError } from './state-file.ts';

const LOCKED = 'another program keeps it locked; end that program and try again';
const FULL = 'the disk is full; free some space and try again';

/** The next step, by prefix of SQLite's error code. The first match applies. */
const ADVICE: Readonly<Record<string, string>> = {
  SQLITE_BUSY: LOCKED,
  SQLITE_LOCKED: LOCKED,
  SQLITE_PROTOCOL: LOCKED,
  SQLITE_FULL: FULL,
  SQLITE_NOMEM: 'the system is out of memory; free some and try again',
  SQLITE_NOTADB: 'it is not an inf-gw state file; set `state:` in the config to another file',
  SQLITE_CORRUPT: 'it is damaged; restore it from a backup',
  SQLITE_READONLY: 'it cannot be written; check the permissions of the file and its directory',
  SQLITE_CANTOPEN: 'it cannot be opened; check the permissions of the file and its directory',
  SQLITE_IOERR_SHMSIZE: FULL,
  SQLITE_IOERR: 'the disk reports an error; check the disk',
};

function adviceFor(error: unknown): string | undefined {
  if (error instanceof StateFileError) return error.message;
  if (!(error instanceof Database.SqliteError)) return undefined;
  const prefix = Object.keys(ADVICE).find((code) => error.code.startsWith(code));
  return prefix === undefined ? undefined : ADVICE[prefix];
}

/** True if the disk or another process caused the error, which may be temporary. False for an internal error. */
export function isStorageError(error: unknown): boolean {
  return adviceFor(error) !== undefined;
}

/** True if another connection holds a lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY');
}

/** True if the file's pages are damaged. This condition is permanent. */
export function isDamage(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
}

/** Converts a storage error to a UserError with the file and the next step. Returns other errors unchanged. */
export function explained(error: unknown, path: string): unknown {
  const advice = adviceFor(error);
  if (advice === undefined) return error;
  const code = error instanceof Database.SqliteError ? ` (${error.code})` : '';
  return new UserError(`state file ${path}: ${advice}${code}`);
}
