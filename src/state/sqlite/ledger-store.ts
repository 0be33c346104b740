/**
 * The ledger's store: everything the ledger reads and writes, on one connection to the state file.
 */
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

/** When it is kept of more keys and groups whether end users are set, that is looked up again, in 2 µs each. */
const MOST_OWNERS = 10_000;

/**
 * Where a method takes `lockWaitMs`, it waits for another writer for that many milliseconds at
 * most. Any method may throw a storage error, which {@link LedgerStore.faultOf} recognizes.
 */
export class LedgerStore {
  /** Whether opening created the file. */
  readonly created: boolean;
  readonly keys: BookAtOnce['keys'];
  readonly groups: Pick<BookAtOnce['groups'], 'find' | 'findUser'>;
  /** To be written within a `transaction`. */
  readonly journal: Journal;
  readonly #database: Sqlite;
  readonly #refusals: RefusalWriter;
  readonly #idleUsers: IdleUsers;
  readonly #file: StateFile;
  readonly #checkpoints: Checkpoints;
  /** Undefined where commits need not survive a power cut. */
  readonly #logSync: LogSync | undefined;
  readonly #balance: Statement;
  /** Of keys and groups whether an end user has anything of their own. Known until another process commits. */
  readonly #haveSetUsers = new Map<string, boolean>();
  #knownChangeCount: number | undefined;

  /**
   * Opens the file, creating it if there is none. Throws a UserError, also if commits are not as
   * durable as asked.
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
   * Loads SQLite's native code, so that opening the file later takes less time. Throws a UserError if the file has tables
   * of another version.
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
      // To find out that nothing is set for them, as for most, takes a fifth of the time.
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

  /** Makes all that was committed so far safe from a power cut. Only one flush at a time. */
  async flush(): Promise<void> {
    await this.#logSync?.sync();
  }

  /** To be called while a flush runs: the next one begins as soon as that ends. */
  prepareFlush(): void {
    this.#logSync?.prepare();
  }

  /** As `flush`, and blocks meanwhile. */
  flushNow(): void {
    this.#logSync?.syncNow();
  }

  /**
   * Runs `work` in one transaction and commits. If `work` throws, nothing is written.
   *
   * A transaction that admits must end with {@link Journal.writeHolds}, one that settles with {@link Journal.writeCharges}.
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

  /**
   * The balance as stored. Inside a transaction, only charges that `writeCharges` has written
   * count.
   */
  balance(): Nanos {
    return this.#balance.get() as bigint;
  }

  /**
   * Where the clock was ahead and came back, counts what was spent meanwhile as spent now. Returns whether anything was.
   * In a transaction of its own.
   */
  countFutureNow(wallMs: number, lockWaitMs?: number): boolean {
    if (!hasFuture(this.#database, wallMs)) return false;
    immediately(this.#database, () => countFutureNow(this.#database, wallMs), lockWaitMs);
    this.journal.forgetBudgets();
    return true;
  }

  /**
   * A number that changes whenever another process has committed. Throws a storage error if a newer
   * version of the program has migrated the tables.
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

  /** Adds counted refusals to those stored, in a transaction of its own. */
  writeRefusals(refusals: Iterable<RefusalCount>, lockWaitMs?: number): void {
    const write = () => {
      assertKnownVersion(this.#database);
      this.#refusals.write(refusals);
    };
    immediately(this.#database, write, lockWaitMs);
  }

  /**
   * Drops the oldest requests that were admitted before `beforeMs`, in one short transaction; the
   * sums keep what they used. Returns true if there may be more.
   */
  dropOldRows(beforeMs: number, lockWaitMs?: number): boolean {
    return dropOldRows(this.#database, beforeMs, lockWaitMs);
  }

  /** Drops what no limit of an end user counts any more, in one short transaction. Returns true if there may be more. */
  dropIdleUsers(wallMs: number, lockWaitMs?: number): boolean {
    return this.#idleUsers.drop(wallMs, lockWaitMs);
  }

  /**
   * Keeps the log from growing without bound. To be called between transactions; where it returns a promise, none may begin
   * before that resolves.
   */
  boundLog(): Promise<void> | undefined {
    return this.#checkpoints.keep();
  }

  /**
   * Throws a storage error if the paths no longer lead to the open files, or if a flush has failed
   * and its commits are still not safe. Takes 3 µs where nothing changes beside the file.
   */
  assertUsable(): void {
    this.#file.assertInPlace();
    this.#logSync?.repair();
  }

  /** Writes without changing anything. Throws a storage error if that is not possible. */
  probe(lockWaitMs?: number): void {
    writeNothing(this.#database, lockWaitMs);
  }

  /**
   * The storage fault behind an error that a method has thrown; undefined for an internal error.
   */
  faultOf(error: unknown): StorageFault | undefined {
    const described = explained(error, this.#database.name);
    if (described === error) return undefined;
    const kind = isBusy(error) ? 'busy' : isDamage(error) ? 'damage' : 'other';
    return { message: (described as Error).message, kind };
  }
}
