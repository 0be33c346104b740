/** Opens, checks and migrates the SQLite database, and runs transactions. */

import Database from 'better-sqlite3';
import { UserError } from '../../core/errors.ts';
import { program } from '../../core/program.ts';
import type { Durability } from '../../core/settings.ts';
import { MIGRATIONS } from './migrations.ts';
import { APPLICATION_ID, createPrivately, isOwnFile, makePrivate } from './private-files.ts';
import { identityOf, StateFileError } from './state-file.ts';
import { explained, isBusy } from './storage-errors.ts';

export type Sqlite = Database.Database;
export type Statement = Database.Statement<unknown[]>;

/** Older versions can corrupt a WAL database if two connections write or checkpoint at the same time. */
const SAFE_VERSION = [3, 51, 3] as const;
/** Pause between two attempts at the lock. SQLite's own pauses are so long that a busy ledger starves a command. */
const RETRY_MS = 0.3;
/** Maximum time a command waits for the lock. */
const LOCK_WAIT_MS = 5_000;
/** The log is truncated to this length when it restarts, after a long reader has made it grow. */
export const LOG_BYTES = 64 * 1024 * 1024;

/**
 * SQLite's `synchronous` mode for each durability: FULL syncs the log at every commit, NORMAL only
 * at checkpoints. The ledger opens with FULL, and then syncs the log itself (`log-sync.ts`).
 */
const SYNCHRONOUS: Readonly<Record<Durability, number>> = { full: 2, crash: 1 };

/**
 * Opens the state file, creates it if it is missing, and migrates its tables. Throws a UserError. Calls `beforeMigrating`
 * if the tables have an earlier version; errors of that call abort the migration.
 */
export function openDatabase(
  path: string,
  durability: Durability = 'full',
  beforeMigrating: () => void = () => {},
): { database: Sqlite; created: boolean } {
  const created = createPrivately(path);
  if (isOwnFile(path)) makePrivate(path);
  let database: Sqlite | undefined;
  try {
    database = openOwn(path);
    // Before its first checkpoint, the file has no application id in its header, so `isOwnFile` cannot recognize it.
    makePrivate(path);
    prepareDatabase(database, path, durability, beforeMigrating);
    return { database, created };
  } catch (error) {
    database?.close();
    throw explained(error, path);
  }
}

/** Opens a state file of any version without migrating it. Throws a UserError, also if the file does not exist. */
export function openAsItIs(path: string): Sqlite {
  try {
    if (isOwnFile(path)) makePrivate(path);
    return openOwn(path);
  } catch (error) {
    throw explained(error, path);
  }
}

/** Opens an existing file; refuses files of other programs. */
export function openOwn(path: string): Sqlite {
  const identity = identityOf(path);
  // No busy handler: `withRetry` waits, in short steps.
  const database = new Database(path, { timeout: 0, fileMustExist: true });
  try {
    // This check comes first, so that a wrong path does not change another program's file.
    withRetry(() => refuseForeign(database, path));
    // The check may have waited for a restore. Writes would then go to the replaced file.
    if (identityOf(path) === identity) return database;
    throw new StateFileError(`another file has replaced ${path} just now: try again`);
  } catch (error) {
    database.close();
    throw error;
  }
}

/** A database in memory, with the tables of a new state file. */
export function openEmptyDatabase(): Sqlite {
  const database = new Database(':memory:');
  prepareDatabase(database, ':memory:', 'crash');
  return database;
}

/** Throws a UserError unless the file is empty or belongs to this program. */
export function refuseForeign(database: Sqlite, path: string): void {
  if (!hasTables(database) || database.pragma('application_id', { simple: true }) === APPLICATION_ID) return;
  throw new UserError(`${path} belongs to another program; set \`state:\` in the config to another file`);
}

function hasTables(database: Sqlite): boolean {
  return database.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() !== 0;
}

function prepareDatabase(database: Sqlite, path: string, durability: Durability, beforeMigrating = () => {}): void {
  // Even this statement reads the header of the file, which is locked while another process opens or closes the file.
  const version = withRetry(() => database.prepare('SELECT sqlite_version()').pluck().get() as string);
  if (isOlder(version, SAFE_VERSION)) {
    throw new UserError(
      `SQLite ${version} can corrupt a database in use; inf-gw needs ${SAFE_VERSION.join('.')} or later: run npm ci again`,
    );
  }
  withRetry(() => {
    database.pragma('journal_mode = WAL');
    // better-sqlite3's default for WAL is NORMAL, which can lose the last commits in a power failure.
    database.pragma(`synchronous = ${SYNCHRONOUS[durability]}`);
    // A checkpoint every 16 MB of log instead of every 4 MB: a lone request waits 0.17 ms for its commits, not 0.21.
    database.pragma('wal_autocheckpoint = 4000');
    database.pragma(`journal_size_limit = ${LOG_BYTES}`);
  });
  immediately(database, () => migrate(database, path, beforeMigrating));
}

/** Commits a write without any change, to test whether the file is writable. Throws SQLite's error. */
export function writeNothing(database: Sqlite, lockWaitMs?: number): void {
  const write = () => {
    assertKnownVersion(database);
    database.pragma(`user_version = ${MIGRATIONS.length}`);
  };
  immediately(database, write, lockWaitMs);
}

/**
 * Throws a UserError unless commits are as durable as configured. SQLite reports its real mode only
 * after a write.
 */
export function assertDurability(database: Sqlite, durability: Durability): void {
  writeNothing(database);
  const mode = database.pragma('journal_mode', { simple: true });
  const synchronous = database.pragma('synchronous', { simple: true });
  if (mode === 'wal' && synchronous === SYNCHRONOUS[durability]) return;
  throw new UserError(
    `SQLite uses journal_mode = ${mode} and synchronous = ${synchronous} for the state file: move the file to a local disk`,
  );
}

function isOlder(version: string, than: readonly number[]): boolean {
  const parts = version.split('.').map(Number);
  for (const [index, least] of than.entries()) {
    const part = parts[index] ?? 0;
    if (part !== least) return part < least;
  }
  return false;
}

/** The schema version; 0 in an empty file. */
export function versionOf(database: Sqlite): number {
  return database.pragma('user_version', { simple: true }) as number;
}

/**
 * Throws a StateFileError if a newer version of the program has migrated the tables since this one
 * opened the file.
 */
export function assertKnownVersion(database: Sqlite): void {
  if (versionOf(database) === MIGRATIONS.length) return;
  throw new StateFileError('a newer inf-gw has migrated the state file: restart this one with that version');
}

/** Throws a UserError unless the tables of a state file have the schema version of this program. */
export function assertMigrated(path: string): void {
  const database = openAsItIs(path);
  try {
    refuseUnknown(database, path);
    const version = versionOf(database);
    if (version === MIGRATIONS.length) return;
    throw new UserError([
      `${path} has tables of version ${version}, and this inf-gw needs version ${MIGRATIONS.length}: all requests would wait while it changes them`,
      'stop the running gateway, then start this one',
    ]);
  } finally {
    database.close();
  }
}

/** Throws a UserError for tables of a version that this program does not know. An empty file has version 0. */
export function refuseUnknown(database: Sqlite, path: string): void {
  const version = versionOf(database);
  if (version < 0 || (version === 0 && hasTables(database))) {
    throw new UserError(
      `${path} is damaged: it has tables, and the invalid schema version ${version}; restore a backup with: ${program()} restore <backup>`,
    );
  }
  if (version <= MIGRATIONS.length) return;
  throw new UserError(
    `${path} was written by a newer inf-gw (schema version ${version}; this one knows ${MIGRATIONS.length}): update inf-gw`,
  );
}

function migrate(database: Sqlite, path: string, beforeMigrating: () => void): void {
  refuseUnknown(database, path);
  const version = versionOf(database);
  if (version > 0 && version < MIGRATIONS.length) beforeMigrating();
  if (version === 0) database.pragma(`application_id = ${APPLICATION_ID}`);
  for (const [index, step] of MIGRATIONS.entries()) {
    if (index < version) continue;
    database.exec(step);
    database.pragma(`user_version = ${index + 1}`);
  }
}

/** The statements that every batch runs, prepared once per connection. */
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
 * Runs `work` in a transaction that takes the write lock at once, and rolls back if it throws.
 * Waits for the lock for `lockWaitMs` milliseconds at most.
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

/** Retries `work` while another connection holds a lock, for `waitMs` milliseconds at most. */
export function withRetry<T>(work: () => T, waitMs = LOCK_WAIT_MS): T {
  const deadline = performance.now() + waitMs;
  while (true) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
      Atomics.wait(sleepCell, 0, 0, RETRY_MS);
    }
  }
}

/** A number that changes with every commit of another connection. */
export function dataVersion(database: Sqlite): number {
  return housekeepingOf(database).dataVersion.get() as number;
}
