/** The ledger's store: all reads and writes of the ledger, on one connection to the state file. */
import type { Nanos } from '../../core/money.ts';
import type { Durability } from '../../core/settings.ts';
import type { BookAtOnce } from '../book.ts';
import { storedUser } from '../levels.ts';
import type { StorageFault } from '../storage-fault.ts';
import type { RefusalCount } from '../usage.ts';
import { bookOf } from './book.ts';
import { countFutureNow, hasFuture } from './budgets.ts';
import { Checkpoints } from './checkpoints.ts';
import {
  assertDurability,
  assertKnownVersion,
  assertMigrated,
  dataVersion,
  immediately,
  openDatabase,
  openEmptyDatabase,
  type Sqlite,
  type Statement,
  writeNothing,
} from './database.ts';
import { IdleUsers } from './idle-users.ts';
import { Journal } from './journal.ts';
import { LogSync } from './log-sync.ts';
import { RefusalWriter } from './refusals.ts';
import { dropOldRows } from './retention.ts';
import { StateFile } from './state-file.ts';
import { explained, isBusy, isDamage } from './storage-errors.ts';
import { keepingLog } from './whole-files.ts';

/**
 * Maximum size of the cache of owners with or without end-user settings. Beyond it the cache is cleared; a lookup takes 2
 * µs.
 */
const MOST_OWNERS = 10_000;

/**
 * With `lockWaitMs`, a method waits for another writer for at most that many milliseconds. Any method may throw a storage
 * error, which {@link LedgerStore.faultOf} recognizes.
 */
export class LedgerStore {
  /** Whether opening created the file. */
  readonly created: boolean;
  readonly keys: BookAtOnce['keys'];
  readonly groups: Pick<BookAtOnce['groups'], 'find' | 'findUser'>;
  /** Writes require a `transaction`. */
  readonly journal: Journal;
  readonly #database: Sqlite;
  readonly #refusals: RefusalWriter;
  readonly #idleUsers: IdleUsers;
  readonly #file: StateFile;
  readonly #checkpoints: Checkpoints;
  /** Undefined if commits need not survive a power failure. */
  readonly #logSync: LogSync | undefined;
  readonly #balance: Statement;
  /** Whether any end user of a key or a group has individual settings. Cached until another process commits. */
  readonly #haveSetUsers = new Map<string, boolean>();
  #knownChangeCount: number | undefined;

  /**
   * Opens the file, and creates it if it is missing. Throws a UserError, also if commits are less durable than configured.
   */
  static open(path: string, durability: Durability): LedgerStore {
    const { database, created } = openDatabase(path, durability);
    try {
      assertDurability(database, durability);
      return new LedgerStore(database, created, durability === 'full' ? new LogSync(database) : undefined);
    } catch (error) {
      database.close();
      throw explained(error, path);
    }
  }

  /**
   * Loads SQLite's native code, so that opening the file later takes less time. Throws a UserError if the tables have
   * another schema version.
   */
  static load(path: string): void {
    openEmptyDatabase().close();
    assertMigrated(path);
  }

  constructor(database: Sqlite, created: boolean, logSync?: LogSync) {
    this.created = created;
    this.#logSync = logSync;
    this.#database = database;
    const { keys, groups } = bookOf(database);
    this.keys = keys;
    const isAnySet = database.prepare("SELECT EXISTS (SELECT 1 FROM users WHERE owner_id = ? AND name > '')").pluck();
    const isSet = database.prepare('SELECT 1 FROM users WHERE owner_id = ? AND name = ?').pluck();
    const mayBeSet = (ownerId: string) => {
      let isAny = this.#haveSetUsers.get(ownerId);
      if (isAny === undefined) {
        if (this.#haveSetUsers.size >= MOST_OWNERS) this.#haveSetUsers.clear();
        isAny = isAnySet.get(ownerId) === 1;
        this.#haveSetUsers.set(ownerId, isAny);
      }
      return isAny;
    };
    this.groups = {
      find: groups.find,
      // Most end users have no settings; the existence check takes a fifth of the time of a full read.
      findUser: (ownerId, name) =>
        mayBeSet(ownerId) && isSet.get(ownerId, storedUser(name)) === 1 ? groups.findUser(ownerId, name) : undefined,
    };
    this.journal = new Journal(database);
    this.#refusals = new RefusalWriter(database);
    this.#idleUsers = new IdleUsers(database);
    this.#file = new StateFile(database.name);
    this.#checkpoints = new Checkpoints(database);
    this.#balance = database.prepare('SELECT balance_nanos FROM account').pluck().safeIntegers();
  }

  async close(): Promise<void> {
    await this.#checkpoints.close();
    await this.#logSync?.close();
    const close = () => void this.#database.close();
    if (this.#file.isInPlace) close();
    else keepingLog(this.#database.name, close);
  }

  /** Whether commits need a `flush` to be durable. */
  get needsFlush(): boolean {
    return this.#logSync !== undefined;
  }

  /** Makes all earlier commits safe from a power failure. Only one flush may run at a time. */
  async flush(): Promise<void> {
    await this.#logSync?.sync();
  }

  /** Call it while a flush runs: the next one begins as soon as that one ends. */
  prepareFlush(): void {
    this.#logSync?.prepare();
  }

  /** Like `flush`, but blocks the thread. */
  flushNow(): void {
    this.#logSync?.syncNow();
  }

  /**
   * Runs `work` in one transaction and commits; rolls back if `work` throws.
   *
   * A transaction that admits must end with {@link Journal.writeHolds}, one that settles with {@link
   * Journal.writeCharges}.
   */
  transaction<T>(work: () => T, lockWaitMs?: number): T {
    try {
      const result = immediately(this.#database, work, lockWaitMs);
      this.#logSync?.noteCommit();
      return result;
    } catch (error) {
      this.journal.forget();
      throw error;
    }
  }

  /** The stored balance. Inside a transaction it includes only charges that `writeCharges` has written. */
  balance(): Nanos {
    return this.#balance.get() as bigint;
  }

  /**
   * Moves spend dated in the future to the current time, after a clock that was ahead was set back. Returns whether there
   * was any. Runs its own transaction.
   */
  countFutureNow(wallMs: number, lockWaitMs?: number): boolean {
    if (!hasFuture(this.#database, wallMs)) return false;
    immediately(this.#database, () => countFutureNow(this.#database, wallMs), lockWaitMs);
    this.journal.forgetBudgets();
    return true;
  }

  /**
   * A number that changes with every commit of another process. Throws a storage error if a newer version of the program
   * has migrated the tables.
   */
  changeCount(): number {
    const count = dataVersion(this.#database);
    if (count !== this.#knownChangeCount) {
      assertKnownVersion(this.#database);
      this.journal.forgetBudgets();
      this.#haveSetUsers.clear();
    }
    this.#knownChangeCount = count;
    return count;
  }

  /** Adds refusals to the stored counts. Runs its own transaction. */
  writeRefusals(refusals: Iterable<RefusalCount>, lockWaitMs?: number): void {
    const write = () => {
      assertKnownVersion(this.#database);
      this.#refusals.write(refusals);
    };
    immediately(this.#database, write, lockWaitMs);
  }

  /**
   * Drops the oldest requests admitted before `beforeMs`, in one short transaction. The sums keep their usage. Returns
   * true if more may remain.
   */
  dropOldRows(beforeMs: number, lockWaitMs?: number): boolean {
    return dropOldRows(this.#database, beforeMs, lockWaitMs);
  }

  /** Drops sums of end users that no limit needs any more, in one short transaction. Returns true if more may remain. */
  dropIdleUsers(wallMs: number, lockWaitMs?: number): boolean {
    return this.#idleUsers.drop(wallMs, lockWaitMs);
  }

  /**
   * Bounds the size of the log. Call it between transactions; if it returns a promise, no transaction may begin before
   * that resolves.
   */
  boundLog(): Promise<void> | undefined {
    return this.#checkpoints.keep();
  }

  /**
   * Throws a storage error if the paths no longer lead to the open files, or if a flush has failed and its commits are
   * still unsafe. Takes 3 µs while the folder is unchanged.
   */
  assertUsable(): void {
    this.#file.assertInPlace();
    this.#logSync?.repair();
  }

  /** Tests whether the file is writable, without a change. Throws a storage error if not. */
  probe(lockWaitMs?: number): void {
    writeNothing(this.#database, lockWaitMs);
  }

  /** The storage fault behind an error thrown by a method; undefined for an internal error. */
  faultOf(error: unknown): StorageFault | undefined {
    const described = explained(error, this.#database.name);
    if (described === error) return undefined;
    const kind = isBusy(error) ? 'busy' : isDamage(error) ? 'damage' : 'other';
    return { message: (described as Error).message, kind };
  }
}
