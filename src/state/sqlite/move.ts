/** A state file as the source or the target of a move. */
import { existsSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { UserError } from '../../core/errors.ts';
import { resolveLinks, sync } from '../../core/files.ts';
import type { Nanos } from '../../core/money.ts';
import { columnsOf, figuresQuery, MOVED_TABLES, type MovedTable, type MoveSource, type MoveTarget } from '../move.ts';
import type { Row } from '../rows.ts';
import { openDatabase, type Sqlite } from './database.ts';
import { explainedCopy } from './draft.ts';
import { type Lock, tryLockState } from './lock.ts';
import { explained } from './storage-errors.ts';
import { removeCompanions, removeFiles } from './whole-files.ts';

const BATCH_ROWS = 5_000;

function lock(path: string): Lock {
  const taken = tryLockState(path);
  if (taken !== undefined) return taken;
  throw new UserError(`a gateway is running on ${path}; stop it first`);
}

export class FileSource implements MoveSource {
  readonly contents: MoveSource['contents'];
  readonly #path: string;
  readonly #lock: Lock;
  #database: Sqlite | undefined;

  /** Locks the file. Throws a UserError if it does not exist or a gateway runs on it. */
  static open(path: string): FileSource {
    if (!existsSync(path)) throw new UserError(`no state file at ${path}: there is nothing to move`);
    const taken = lock(path);
    try {
      // Migrates the tables, as every command does.
      openDatabase(path).database.close();
      return new FileSource(path, taken);
    } catch (error) {
      taken.release();
      throw error;
    }
  }

  private constructor(path: string, taken: Lock) {
    this.#path = path;
    this.#lock = taken;
    this.contents = { kind: 'file', path };
  }

  async begin(): Promise<void> {
    const { database } = openDatabase(this.#path);
    this.#database = database;
    try {
      // Blocks writes of other commands, which would be missing in the target.
      database.exec('BEGIN IMMEDIATE');
    } catch (error) {
      throw explained(error, this.#path);
    }
  }

  async figures(table: MovedTable): Promise<Row> {
    return this.#all(figuresQuery(table, table))[0] as Row;
  }

  async *rows(table: MovedTable): AsyncGenerator<readonly Row[]> {
    const statement = this.#open.prepare(`SELECT ${columnsOf(table).join(', ')} FROM ${table}`).safeIntegers();
    let batch: Row[] = [];
    for (const row of statement.iterate() as IterableIterator<Row>) {
      batch.push(row);
      if (batch.length < BATCH_ROWS) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }

  async balance(): Promise<Nanos> {
    return this.#all('SELECT balance_nanos FROM account')[0]?.balance_nanos as bigint;
  }

  async close(): Promise<void> {
    this.#database?.close();
    this.#lock.release();
  }

  get #open(): Sqlite {
    if (this.#database === undefined) throw new Error('the move has not begun');
    return this.#database;
  }

  #all(sql: string): Row[] {
    return this.#open.prepare(sql).safeIntegers().all() as Row[];
  }
}

/** Fills a draft next to the target and renames it at the end, so that the target is either empty or complete. */
export class FileTarget implements MoveTarget {
  readonly contents: MoveTarget['contents'];
  readonly created: string | undefined;
  readonly #path: string;
  /** Path of the draft. */
  readonly #draft: string;
  readonly #lock: Lock;
  readonly #database: Sqlite;

  /** Locks the file. Throws a UserError if it is not empty or a gateway runs on it. */
  static open(path: string): FileTarget {
    const target = resolveLinks(path);
    const taken = lock(target);
    try {
      assertEmpty(target);
      return new FileTarget(target, taken);
    } catch (error) {
      removeFiles(draftOf(target));
      taken.release();
      throw error;
    }
  }

  private constructor(path: string, taken: Lock) {
    this.#path = path;
    this.#draft = draftOf(path);
    this.#lock = taken;
    this.contents = { kind: 'file', path: this.#draft };
    this.created = existsSync(path) ? undefined : `the state file ${path}`;
    removeFiles(this.#draft);
    const { database } = openDatabase(this.#draft);
    this.#database = database;
    try {
      // A failure discards the draft, so it needs neither a log nor syncs.
      this.#onDisk(() => database.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; BEGIN'));
    } catch (error) {
      database.close();
      throw error;
    }
  }

  async insert(table: MovedTable, rows: readonly Row[]): Promise<void> {
    const columns = columnsOf(table);
    const insert = this.#database.prepare(
      `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    );
    this.#onDisk(() => {
      for (const row of rows) {
        insert.run(columns.map((column) => (column === 'allowlist' ? compact(row[column]) : row[column])));
      }
    });
  }

  async complete(balanceNanos: Nanos): Promise<void> {
    this.#onDisk(() => this.#database.prepare('UPDATE account SET balance_nanos = ?').run(balanceNanos));
  }

  async figures(table: MovedTable): Promise<Row> {
    return this.#database.prepare(figuresQuery(table, table)).safeIntegers().get() as Row;
  }

  async seal(): Promise<void> {
    this.#onDisk(() => {
      this.#database.exec('COMMIT; PRAGMA journal_mode = WAL');
      this.#database.close();
    });
  }

  async commit(): Promise<void> {
    this.#onDisk(() => {
      removeCompanions(this.#draft);
      sync(this.#draft);
      renameSync(this.#draft, this.#path);
      sync(dirname(this.#path));
    });
  }

  async close(): Promise<void> {
    this.#database.close();
    removeFiles(this.#draft);
    this.#lock.release();
  }

  /** Converts errors such as a full disk to a UserError with the next step. */
  #onDisk(work: () => void): void {
    try {
      work();
    } catch (error) {
      throw explainedCopy(error, this.#path);
    }
  }
}

function draftOf(path: string): string {
  return `${path}.migrating`;
}

/** Removes the blanks that PostgreSQL puts into JSON. */
function compact(json: Row[string] | undefined): string | null {
  return typeof json === 'string' ? JSON.stringify(JSON.parse(json)) : null;
}

function assertEmpty(path: string): void {
  if (!existsSync(path)) return;
  const { database } = openDatabase(path);
  const isEmpty = MOVED_TABLES.every(
    (table) => database.prepare(`SELECT EXISTS (SELECT 1 FROM ${table})`).pluck().get() === 0,
  );
  database.close();
  if (!isEmpty) throw new UserError(`${path} is not empty; name a file that does not exist yet`);
  // The last process to close the file removes its log. The log must not be applied to another file.
  if (existsSync(`${path}-wal`)) throw new UserError(`another program has ${path} open; end it and try again`);
}
