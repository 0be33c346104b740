/** The state file as the command line and the dashboard open it. */
import type { Durability } from '../../core/settings.ts';
import { Account } from './account.ts';
import { dataVersion, openDatabase, openEmptyDatabase, type Sqlite } from './database.ts';
import { KeyStore } from './keys.ts';
import { isOwnFile, makePrivate } from './private-files.ts';
import { RequestStore } from './requests.ts';
import { explained } from './storage-errors.ts';
import { UsageReader } from './usage.ts';

/** Opens the state file, creating it if there is none. Throws a UserError. */
export function openState(path: string, durability: Durability): OpenState {
  const { database, created } = openDatabase(path, durability);
  return new OpenState(database, created);
}

/** A state with nothing in it, for commands that only read where there is no state file yet. */
export function emptyState(): OpenState {
  return new OpenState(openEmptyDatabase(), false);
}

/** Closes a state file to other users, for a program that opens it by itself. Throws a UserError. */
export function closeToOthers(path: string): void {
  if (isOwnFile(path)) makePrivate(path);
}

/** What operators read and change. A running gateway sees each change with its next decision. */
export class OpenState {
  /** Whether opening created the file. */
  readonly created: boolean;
  readonly keys: KeyStore;
  readonly account: Account;
  readonly usage: UsageReader;
  readonly requests: RequestStore;
  readonly #database: Sqlite;
  #dataVersion: number | undefined;

  constructor(database: Sqlite, created: boolean) {
    this.#database = database;
    this.created = created;
    this.keys = new KeyStore(database);
    this.account = new Account(database);
    this.usage = new UsageReader(database);
    this.requests = new RequestStore(database);
  }

  /** Runs `work`. A storage error that it throws becomes a UserError that says what to do. */
  run<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw explained(error, this.#database.name);
    }
  }

  /** Whether another process has committed since the last call. True for the first call. */
  hasChanged(): boolean {
    const version = dataVersion(this.#database);
    const hasChanged = version !== this.#dataVersion;
    this.#dataVersion = version;
    return hasChanged;
  }

  close(): void {
    this.#database.close();
  }
}
