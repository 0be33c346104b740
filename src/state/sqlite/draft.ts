/**
 * Drafts: copies of a state that are written next to their final path, private from the first byte, and renamed when
 * complete.
 */
import Database from 'better-sqlite3';
import { UserError } from '../../core/errors.ts';
import { ownUid } from '../../core/files.ts';
import { openDatabase, refuseUnknown, type Sqlite, versionOf } from './database.ts';
import { APPLICATION_ID } from './private-files.ts';
import { explained, isDamage } from './storage-errors.ts';

/** Options of a backup or a restore. */
export interface CopyOptions {
  /** Rejects with a UserError if an audit of the draft finds a difference. */
  readonly verify: (draft: string) => Promise<void>;
  /** Called with the number of pages copied and the total. */
  readonly onProgress: (copied: number, of: number) => void;
  /** Aborted with a UserError. The draft is removed. */
  readonly signal: AbortSignal;
}

/** The next step for a file that cannot be read or written, by error code. */
const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full; free some space and try again',
  EDQUOT: 'the quota of this user is used up; free some space and try again',
  EROFS: 'the disk is read-only; choose another folder',
  EPERM: 'check the owner of the file and its folder',
  ENOENT: 'check the path: a folder in it does not exist',
  ENOTDIR: 'check the path: a folder in it is a file',
  EISDIR: 'it is a folder; name a file',
  ENAMETOOLONG: 'choose a shorter name',
};

/**
 * Migrates a complete draft and merges its log into the file. `from` is the path of the original. Throws a UserError if
 * the draft is not a state of this program, or has a newer version.
 */
export function settleDraft(draft: string, from: string): void {
  let database: Sqlite | undefined;
  try {
    database = new Database(draft, { fileMustExist: true });
    const isOurs = database.pragma('application_id', { simple: true }) === APPLICATION_ID;
    if (!isOurs || versionOf(database) === 0)
      throw new UserError(`${from} is not an inf-gw state file; use another backup`);
    refuseUnknown(database, from);
    database.close();
    database = openDatabase(draft).database;
    database.pragma('journal_mode = DELETE');
  } catch (error) {
    if (!isDamage(error)) throw error;
    throw new UserError(`${from} is damaged, or not an inf-gw state file; use another backup`);
  } finally {
    database?.close();
  }
}

/** Converts an error of the file system or of SQLite to a UserError that names the file. Returns other errors unchanged. */
export function explainedCopy(error: unknown, path: string): unknown {
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  if (syscall === undefined) return explained(error, path);
  const advice = code === 'EACCES' ? `let user ${ownUid()}, as whom this works, write there` : ADVICE[code];
  return new UserError(`cannot write ${path} (${code}): ${advice ?? 'check the disk'}`);
}
