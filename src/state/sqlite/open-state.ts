/** The state file as the command line and the dashboard open it. */
import { UserError } from '../../core/errors.ts';
import type { Durability } from '../../core/settings.ts';
import { openBook } from '../book.ts';
import type { OpenState } from '../state.ts';
import { AlertStore } from './alerts.ts';
import { carryOut, DIALECT } from './book.ts';
import { BudgetReader } from './budgets.ts';
import { dataVersion, openDatabase, openEmptyDatabase, type Sqlite } from './database.ts';
import { refuseWithoutIndex, tryLockState } from './lock.ts';
import { openToRead } from './open-to-read.ts';
import { isOwnFile, makePrivate } from './private-files.ts';
import { promised } from './promised.ts';
import { StandingReader } from './standings.ts';
import { explained } from './storage-errors.ts';

/** Opens the state file, creating it if there is none. Throws a UserError. */
export function openState(path: string, durability: Durability): OpenState {
  refuseWithoutIndex(path);
  const { database, created } = openDatabase(path, durability, () => refuseBesideGateway(path));
  return new OpenFile(database, created);
}

/** A gateway of an earlier version would answer every request with an error from then on. Throws a UserError. */
function refuseBesideGateway(path: string): void {
  const lock = tryLockState(path);
  if (lock === undefined) {
    throw new UserError(
      `a gateway of an earlier inf-gw runs on ${path}: restart it with this version first, which brings the file up to date`,
    );
  }
  lock.release();
}

/** Opens a state file that exists, and changes nothing in it. Throws a UserError. */
export function openStateToRead(path: string): OpenState {
  return new OpenFile(openToRead(path), false);
}

/** A state with nothing in it, for commands that only read where there is no state file yet. */
export function emptyState(): OpenState {
  return new OpenFile(openEmptyDatabase(), false);
}

/** Closes a state file to other users, for a program that opens it by itself. Throws a UserError. */
export function closeToOthers(path: string): void {
  refuseWithoutIndex(path);
  if (isOwnFile(path)) makePrivate(path);
}

class OpenFile implements OpenState {
  readonly created: string | undefined;
  readonly keys: OpenState['keys'];
  readonly account: OpenState['account'];
  readonly usage: OpenState['usage'];
  readonly requests: OpenState['requests'];
  readonly history: OpenState['history'];
  readonly budgets: OpenState['budgets'];
  readonly standings: OpenState['standings'];
  readonly alerts: OpenState['alerts'];
  readonly nodes = undefined;
  readonly #database: Sqlite;
  #dataVersion: number | undefined;

  constructor(database: Sqlite, created: boolean) {
    this.#database = database;
    this.created = created ? `the state file ${database.name}` : undefined;
    const book = openBook(DIALECT, async (operation) => carryOut(database, operation));
    this.keys = book.keys;
    this.account = book.account;
    this.usage = book.usage;
    this.requests = book.requests;
    this.history = book.history;
    this.budgets = promised(new BudgetReader(database));
    this.standings = { of: async (keyId, wallMs) => new StandingReader(database).of(keyId, wallMs) };
    this.alerts = promised(new AlertStore(database));
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw explained(error, this.#database.name);
    }
  }

  async hasChanged(): Promise<boolean> {
    const version = dataVersion(this.#database);
    const hasChanged = version !== this.#dataVersion;
    this.#dataVersion = version;
    return hasChanged;
  }

  async close(): Promise<void> {
    this.#database.close();
  }
}
