/** The database as the command line and the dashboard open it. */
import { type PostgresAddress, showAddress } from '../../core/postgres-address.ts';
import { openBook } from '../book.ts';
import type { OpenState } from '../state.ts';
import { PostgresAlerts } from './alerts.ts';
import { PostgresBudgets } from './budgets.ts';
import { Database } from './database.ts';
import { DIALECT } from './dialect.ts';
import { PostgresNodes } from './nodes.ts';
import { PostgresStandings } from './standings.ts';

/**
 * A number of the last change to the account, which every decision and every entry makes, and one
 * that every change of a key makes larger: both are ids of transactions.
 */
const CHANGES = `SELECT (SELECT xmin::text FROM inf_gw.account) AS account,
  (SELECT sum(xmin::text::bigint) FROM inf_gw.keys) AS keys`;

/** Opens the database, making or updating its tables if that is needed. Throws a UserError. */
export async function openState(address: PostgresAddress): Promise<OpenState> {
  const { database, created } = await Database.open(address);
  return new OpenDatabase(database, created ? `the tables in ${showAddress(address)}` : undefined);
}

class OpenDatabase implements OpenState {
  readonly created: string | undefined;
  readonly keys: OpenState['keys'];
  readonly account: OpenState['account'];
  readonly usage: OpenState['usage'];
  readonly requests: OpenState['requests'];
  readonly history: OpenState['history'];
  readonly standings: PostgresStandings;
  readonly nodes: PostgresNodes;
  readonly budgets: PostgresBudgets;
  readonly alerts: PostgresAlerts;
  readonly #database: Database;
  #changes: string | undefined;

  constructor(database: Database, created: string | undefined) {
    this.#database = database;
    this.created = created;
    const book = openBook(DIALECT, (operation) => database.carryOut(operation));
    this.keys = book.keys;
    this.account = book.account;
    this.usage = book.usage;
    this.requests = book.requests;
    this.history = book.history;
    this.standings = new PostgresStandings(database);
    this.nodes = new PostgresNodes(database);
    this.budgets = new PostgresBudgets(database);
    this.alerts = new PostgresAlerts(database);
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#database.explained(error);
    }
  }

  async hasChanged(): Promise<boolean> {
    const [row] = await this.#database.run(CHANGES);
    const changes = `${row?.account} ${row?.keys}`;
    const hasChanged = changes !== this.#changes;
    this.#changes = changes;
    return hasChanged;
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
