/** The SQLite file: how it is opened, checked, migrated and locked. The only place that knows better-sqlite3. */

import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { UserError } from '../../core/errors.ts';
import type { Durability } from '../../core/settings.ts';
import { MIGRATIONS } from './migrations.ts';
import { StateFileFault } from './state-file.ts';

export type Sqlite = Database.Database;
export type Statement = Database.Statement<unknown[]>;

/** Tells our files from those of other programs: "infg" in ASCII. */
const APPLICATION_ID = 0x69_6e_66_67;
const PRIVATE_MODE = 0o600;
/** Before this version two connections that write or checkpoint together can corrupt a WAL database. */
const SAFE_VERSION = [3, 51, 3] as const;
/** A step between two tries for the lock: SQLite's own waits are so long that a busy ledger starves an editor. */
const RETRY_MS = 0.3;
/** How long a command waits for the lock before it gives up. */
const LOCK_WAIT_MS = 5_000;
/** To this length the log is cut when it begins anew, after a long reader has made it grow. */
const LOG_BYTES = 64 * 1024 * 1024;

const SYNCHRONOUS = { full: 2, crash: 1 } as const;

/** Opens the state file, creates it if there is none, and brings its tables up to date. Throws a UserError. */
export function openState(path: string, durability: Durability = 'full'): { database: Sqlite; created: boolean } {
  const created = createPrivately(path);
  let database: Sqlite | undefined;
  try {
    // No busy handler: waiting is done in `immediately`, in short steps.
    database = new Database(path, { timeout: 0 });
    const opened = database;
    // First of all: a path that is wrong must not change the file of another program.
    withRetry(() => refuseForeign(opened, path));
    makePrivate(path);
    prepareDatabase(database, path, durability);
    return { database, created };
  } catch (error) {
    database?.close();
    throw explained(error, path);
  }
}

/** Creates an empty file that only its owner can read. False where there is one. */
export function createPrivately(path: string): boolean {
  try {
    if (existsSync(path)) {
      if (statSync(path).isFile()) return false;
      throw new UserError(`${path} is no file; name another place with \`state:\` in the config`);
    }
    mkdirSync(dirname(path), { recursive: true });
    closeSync(openSync(path, 'a', PRIVATE_MODE));
    return true;
  } catch (error) {
    if (error instanceof UserError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new UserError(
      `cannot create the state file ${path} (${code}); name another place with \`state:\` in the config`,
    );
  }
}

/** Throws unless the file is one of ours, or empty. */
function refuseForeign(database: Sqlite, path: string): void {
  const isEmpty = database.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() === 0;
  if (isEmpty || database.pragma('application_id', { simple: true }) === APPLICATION_ID) return;
  throw new UserError(`${path} is the database of another program; name another file with \`state:\` in the config`);
}

function makePrivate(path: string): void {
  if ((statSync(path).mode & 0o077) === 0) return;
  try {
    chmodSync(path, PRIVATE_MODE);
  } catch {
    throw new UserError(`${path} can be read by others, and its mode cannot be changed; run as its owner: chmod 600`);
  }
}

function prepareDatabase(database: Sqlite, path: string, durability: Durability): void {
  // Even this reads the file's head, which is locked while another process opens or closes it.
  const version = withRetry(() => database.prepare('SELECT sqlite_version()').pluck().get() as string);
  if (isOlder(version, SAFE_VERSION)) {
    throw new UserError(
      `SQLite ${version} can corrupt a database in use; inf-gw needs ${SAFE_VERSION.join('.')}: run npm ci again`,
    );
  }
  withRetry(() => {
    database.pragma('journal_mode = WAL');
    // better-sqlite3 is built with NORMAL as WAL's default, under which a power cut can lose the last commits.
    database.pragma(`synchronous = ${SYNCHRONOUS[durability]}`);
    // A checkpoint every 16 MB of log instead of every 4: a lone request waits 0.17 ms for its commits instead of 0.21.
    database.pragma('wal_autocheckpoint = 4000');
    database.pragma(`journal_size_limit = ${LOG_BYTES}`);
  });
  immediately(database, () => migrate(database, path));
}

/** Writes to the file without changing anything in it. `lockWaitMs` as in {@link immediately}. */
export function writeNothing(database: Sqlite, lockWaitMs?: number): void {
  const write = () => {
    assertKnownVersion(database);
    database.pragma(`user_version = ${MIGRATIONS.length}`);
  };
  immediately(database, write, lockWaitMs);
}

/** Throws unless commits are as durable as they were asked to be. SQLite tells the truth of it only after a write. */
export function assertDurability(database: Sqlite, durability: Durability): void {
  writeNothing(database);
  const mode = database.pragma('journal_mode', { simple: true });
  const synchronous = database.pragma('synchronous', { simple: true });
  if (mode === 'wal' && synchronous === SYNCHRONOUS[durability]) return;
  throw new UserError(`the state file is in mode ${mode} with synchronous = ${synchronous}: put it on a local disk`);
}

function isOlder(version: string, than: readonly number[]): boolean {
  const parts = version.split('.').map(Number);
  for (const [index, least] of than.entries()) {
    const part = parts[index] ?? 0;
    if (part !== least) return part < least;
  }
  return false;
}

function versionOf(database: Sqlite): number {
  return database.pragma('user_version', { simple: true }) as number;
}

/** Throws a StateFileFault where a newer program has changed the tables under this one. */
export function assertKnownVersion(database: Sqlite): void {
  if (versionOf(database) === MIGRATIONS.length) return;
  throw new StateFileFault(
    'a newer inf-gw has changed the tables of the state file: restart this one with that version',
  );
}

function migrate(database: Sqlite, path: string): void {
  const version = versionOf(database);
  if (version > MIGRATIONS.length) {
    throw new UserError(
      `${path} was written by a newer inf-gw (its version is ${version}, this program knows ${MIGRATIONS.length}); update inf-gw`,
    );
  }
  if (version === 0) database.pragma(`application_id = ${APPLICATION_ID}`);
  for (const [index, step] of MIGRATIONS.entries()) {
    if (index < version) continue;
    database.exec(step);
    database.pragma(`user_version = ${index + 1}`);
  }
}

/** What is run with every batch, prepared once for each connection. */
interface Housekeeping {
  readonly begin: Statement;
  readonly commit: Statement;
  readonly dataVersion: Statement;
}

const housekeeping = new WeakMap<Sqlite, Housekeeping>();

function housekeepingOf(database: Sqlite): Housekeeping {
  let statements = housekeeping.get(database);
  if (statements === undefined) {
    statements = {
      begin: database.prepare('BEGIN IMMEDIATE'),
      commit: database.prepare('COMMIT'),
      dataVersion: database.prepare('PRAGMA data_version').pluck(),
    };
    housekeeping.set(database, statements);
  }
  return statements;
}

/**
 * Runs `work` in a transaction that holds the write lock from its first statement on. Waits `lockWaitMs` milliseconds
 * at most for that lock.
 */
export function immediately<T>(database: Sqlite, work: () => T, lockWaitMs = LOCK_WAIT_MS): T {
  const { begin, commit } = housekeepingOf(database);
  withRetry(() => begin.run(), lockWaitMs);
  try {
    const result = work();
    commit.run();
    return result;
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

const sleepCell = new Int32Array(new SharedArrayBuffer(4));

function withRetry<T>(work: () => T, waitMs = LOCK_WAIT_MS): T {
  const deadline = performance.now() + waitMs;
  while (true) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      Atomics.wait(sleepCell, 0, 0, RETRY_MS);
    }
  }
}

export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY');
}

/** What to do about faults of the disk or of other processes, by the beginning of SQLite's code for them. */
const STORAGE_FAULTS: Readonly<Record<string, string>> = {
  SQLITE_BUSY: 'another program keeps it locked; end that program and try again',
  SQLITE_LOCKED: 'another program keeps it locked; end that program and try again',
  SQLITE_PROTOCOL: 'another program keeps it locked; end that program and try again',
  SQLITE_FULL: 'the disk is full; make room and try again',
  SQLITE_NOMEM: 'there is no memory left; make room and try again',
  SQLITE_NOTADB: 'it is not an inf-gw state file; name another with `state:` in the config',
  SQLITE_CORRUPT: 'it is damaged; restore it from a copy',
  SQLITE_READONLY: 'it cannot be written; check the rights of the file and its folder',
  SQLITE_CANTOPEN: 'it cannot be opened; check the rights of the file and its folder',
  SQLITE_IOERR_SHMSIZE: 'the disk is full; make room and try again',
  SQLITE_IOERR: 'the disk reports an error; check the disk',
};

function adviceFor(error: unknown): string | undefined {
  if (error instanceof StateFileFault) return error.message;
  if (!(error instanceof Database.SqliteError)) return undefined;
  const prefix = Object.keys(STORAGE_FAULTS).find((code) => error.code.startsWith(code));
  return prefix === undefined ? undefined : STORAGE_FAULTS[prefix];
}

/** True for a fault of the disk or of another process, which may pass; false for a fault of the program. */
export function isStorageFault(error: unknown): boolean {
  return adviceFor(error) !== undefined;
}

/** True where pages of the file are not what was written, which does not pass by itself. */
export function isDamage(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
}

/** A changing number whenever another process has committed to the file. */
export function dataVersion(database: Sqlite): number {
  return housekeepingOf(database).dataVersion.get() as number;
}

/** A storage fault in words that say what to do. Faults of the program stay as they are. */
export function explained(error: unknown, path: string): unknown {
  const advice = adviceFor(error);
  if (advice === undefined) return error;
  return new UserError(`state file ${path}: ${advice}${error instanceof StateFileFault ? '' : ` (${codeOf(error)})`}`);
}

function codeOf(error: unknown): string {
  return (error as { code: string }).code;
}
