/** The disk under a state file: it fails where it is told to, and an end of the process or of the power is a copy of it. */
import { copyFileSync, existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Sqlite } from '../../src/state/sqlite/database.ts';
import { LogSync } from '../../src/state/sqlite/log-sync.ts';
import { StateFileError } from '../../src/state/sqlite/state-file.ts';

/** What is written at a moment, by the beginning of the statement. */
const WRITES = {
  begin: /^BEGIN/,
  hold: /^INSERT INTO hold_batches/,
  'clearing of holds': /^DELETE FROM hold_batches/,
  'journal row': /^INSERT INTO journal/,
  balance: /^UPDATE account/,
  day: /^INSERT INTO usage_days/,
  month: /^INSERT INTO usage_months/,
  'day of a level': /^INSERT INTO level_days/,
  'month of a level': /^INSERT INTO level_months/,
  seal: /^INSERT INTO sealed_days/,
  'seal of a level': /^INSERT INTO sealed_levels/,
  drop: /^DELETE FROM journal/,
  commit: /^COMMIT/,
} as const;

/** Each is a moment right before a statement, or right after it. */
export type Point = `${'before' | 'after'} ${keyof typeof WRITES}`;
export const POINTS = Object.keys(WRITES).flatMap((write) => [`before ${write}`, `after ${write}`]) as Point[];

/** How a process ends: with what it has written, or with what was synced. */
export type End = 'kill' | 'power cut';

const disks = new WeakMap<Sqlite, Disk>();

const { prepare } = Database.prototype;
/** Statements are the one way into the file, whoever prepares them. */
Database.prototype.prepare = function (this: Sqlite, sql: string) {
  const statement = prepare.call(this, sql) as Database.Statement<unknown[]>;
  const run = statement.run.bind(statement);
  const watched = (...values: unknown[]) => {
    const disk = disks.get(this);
    const write = disk && writeOf(sql);
    if (write === undefined) return run(...values);
    disk?.at(`before ${write}`);
    const result = run(...values);
    disk?.at(`after ${write}`);
    return result;
  };
  return Object.assign(statement, { run: watched });
} as typeof prepare;

function writeOf(sql: string): keyof typeof WRITES | undefined {
  const text = sql.trimStart();
  return (Object.keys(WRITES) as (keyof typeof WRITES)[]).find((name) => WRITES[name].test(text));
}

type Write = keyof typeof WRITES;

/** Files that can be moved away under the process. */
const FILES = {
  'moved away': 'state.db',
  'log moved away': 'state.db-wal',
  'index moved away': 'state.db-shm',
} as const;

/**
 * What a disk does until it is mended. A full one has room for the writes of a transaction before that one. On one that is
 * locked another program writes, for longer than anybody waits.
 */
export type Trouble = `full at ${Write}` | keyof typeof FILES | 'read-only' | 'unsyncable' | 'locked';
export const TROUBLES: readonly Trouble[] = [
  ...(Object.keys(WRITES) as Write[]).map((write) => `full at ${write}` as const),
  ...(Object.keys(FILES) as (keyof typeof FILES)[]),
  'read-only',
  'unsyncable',
  'locked',
];
/** Longer than the ledger waits for another writer. */
const LOCKED_MS = 10_000;
const MOVED = '-moved';

export class Disk {
  readonly folder: string;
  /** What waiting for others has taken, by the hands of the clock: nobody really waits. */
  waitedMs = 0;
  #trouble: Trouble | undefined;
  /** Where the process is to end, and at which visit of that place. */
  #end: { readonly how: End; readonly point: Point | undefined; visits: number } | undefined;
  /** The end of the process, and what the next one finds. */
  #ending: { readonly how: End; readonly remains: string } | undefined;
  /** A copy of what is known to be synced. */
  #synced: string;
  #syncedNumber = 0;
  #images = 0;
  readonly #ended = Promise.withResolvers<void>();

  constructor(folder: string) {
    this.folder = folder;
    this.#synced = this.#copy();
  }

  get path(): string {
    return join(this.folder, 'state.db');
  }

  /** Whether its files are all where the process has opened them. */
  get isInPlace(): boolean {
    return this.#trouble === undefined || !(this.#trouble in FILES);
  }

  get trouble(): Trouble | undefined {
    return this.#trouble;
  }

  set trouble(trouble: Trouble | undefined) {
    const [back, away] = [this.#trouble, trouble].map((each) => FILES[each as keyof typeof FILES]);
    this.#trouble = trouble;
    if (back !== undefined) renameSync(join(this.folder, back + MOVED), join(this.folder, back));
    if (away !== undefined) renameSync(join(this.folder, away), join(this.folder, away + MOVED));
  }

  /** Resolves when the process has ended. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  get hasEnded(): boolean {
    return this.#ending !== undefined;
  }

  /** From now on this is where the connection of the ledger writes. Returns how it is synced. */
  watch(database: Sqlite): HandSync {
    disks.set(database, this);
    return new HandSync(database, this);
  }

  /** The process ends when it has come to a point that many times; at any, if none is named. */
  endAt(how: End, point: Point | undefined, visits = 1): void {
    this.#end = { how, point, visits };
  }

  /** Ends the process now, unless it has ended. Returns how it has, and the folder that the next one finds. */
  end(how: End): { readonly how: End; readonly remains: string } {
    this.#ending ??= { how, remains: how === 'kill' ? this.#copy() : this.#synced };
    this.#ended.resolve();
    return this.#ending;
  }

  /** The ledger's connection is at a point. Throws if it gets no further. */
  at(point: Point): void {
    const end = this.#end;
    if (end !== undefined && (end.point ?? point) === point && --end.visits === 0) this.end(end.how);
    // A process that has ended writes nothing more. It does not know, so this looks like an error to it.
    if (this.hasEnded) throw new Database.SqliteError('the process has ended', 'SQLITE_IOERR');
    const isFull = this.trouble === point.replace('before', 'full at');
    if (isFull) throw new Database.SqliteError('the disk is full', 'SQLITE_FULL');
    if (this.trouble === 'locked' && point === 'before begin') {
      this.waitedMs += LOCKED_MS;
      throw new Database.SqliteError('the database is locked', 'SQLITE_BUSY');
    }
    const isRefused = this.trouble === 'read-only' && !point.endsWith('begin');
    if (isRefused) throw new Database.SqliteError('the disk is read-only', 'SQLITE_READONLY');
  }

  /** What is on the disk at this moment: a sync that begins now makes it safe. */
  imageForSync(): () => void {
    const image = this.#copy();
    const number = this.#images;
    return () => {
      // A later sync may have ended before this one.
      if (number < this.#syncedNumber) return;
      this.#synced = image;
      this.#syncedNumber = number;
    };
  }

  /** SQLite syncs what commands commit, and with it all that was committed before. */
  noteSynced(): void {
    this.imageForSync()();
  }

  /** File and log as they are. SQLite makes the index of the log again. */
  #copy(): string {
    const image = join(this.folder, `image-${++this.#images}`);
    mkdirSync(image);
    for (const name of ['state.db', 'state.db-wal']) {
      const path = [name, name + MOVED].map((each) => join(this.folder, each)).find((each) => existsSync(each));
      if (path !== undefined) copyFileSync(path, join(image, name));
    }
    return image;
  }
}

/** Syncs the log when the test says so. */
export class HandSync extends LogSync {
  readonly #disk: Disk;
  #running: (PromiseWithResolvers<void> & { readonly noteSynced: () => void }) | undefined;

  constructor(database: Sqlite, disk: Disk) {
    super(database);
    this.#disk = disk;
  }

  override prepare(): void {}

  override async sync(): Promise<void> {
    this.repair();
    this.#running = { ...Promise.withResolvers<void>(), noteSynced: this.#disk.imageForSync() };
    await this.#running.promise;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** The sync that is running comes to its end. */
  finish(): void {
    const running = this.#running;
    this.#running = undefined;
    if (running === undefined || this.#disk.hasEnded) return;
    if (this.#disk.trouble === 'unsyncable') return running.reject(new StateFileError('the disk reports an error'));
    running.noteSynced();
    running.resolve();
  }

  override syncNow(): void {
    if (this.#disk.hasEnded || this.#disk.trouble === 'unsyncable')
      throw new StateFileError('the disk reports an error');
    this.#disk.noteSynced();
  }
}
