/** The connection of the CLI and the TUI to the database: one query at a time, and transactions. */

import pg from 'pg';
import type { PostgresAddress } from '../../core/postgres-address.ts';
import type { Operation } from '../operation.ts';
import type { Row } from '../rows.ts';
import { disconnect, query } from './connect.ts';
import { explained } from './faults.ts';
import { migrate } from './migrations.ts';
import { openServer } from './server.ts';

/** A search through a long journal takes seconds. */
const ANSWER_MS = 60_000;
/** Maximum time a command waits for a lock. */
const LOCK_WAIT_MS = 5_000;
/**
 * Maximum time the server waits for the next statement of a transaction. Otherwise a stopped command, or a laptop that
 * goes to sleep, would hold the lock of all gateways.
 */
const STATEMENT_WAIT_MS = 5_000;

const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${LOCK_WAIT_MS};
  SET LOCAL idle_in_transaction_session_timeout = ${STATEMENT_WAIT_MS}`;

/** Parses every integer as a bigint: `int8`, and `numeric`, which is the type of their sums. */
export const INTEGERS: pg.CustomTypesConfig = {
  getTypeParser: (type, format) =>
    type === pg.types.builtins.INT8 || type === pg.types.builtins.NUMERIC
      ? BigInt
      : pg.types.getTypeParser(type, format),
};

export type Values = readonly (string | number | bigint | null | readonly (string | bigint | null)[])[];

/** Runs a statement and returns its rows. */
export type Run = (text: string, values?: Values) => Promise<Row[]>;

export class Database {
  readonly #address: PostgresAddress;
  /** Undefined after a connection loss; the next query reconnects. */
  #client: pg.Client | undefined;
  /** The end of the last started work. Transactions must not overlap on the single connection. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(address: PostgresAddress) {
    this.#address = address;
  }

  /** Connects, and creates or migrates the tables. `created`: whether they are new. Throws a UserError. */
  static async open(address: PostgresAddress): Promise<{ database: Database; created: boolean }> {
    const database = new Database(address);
    try {
      const { created } = await database.#connect();
      return { database, created };
    } catch (error) {
      throw database.explained(error);
    }
  }

  /** Runs a statement outside a transaction. */
  readonly run: Run = (text, values) => this.#inTurn((client) => send(client, text, values));

  /** Runs `work` in one transaction, and rolls back if `work` throws. */
  transaction<T>(work: (run: Run) => Promise<T>): Promise<T> {
    return this.#inTurn(async (client) => {
      await send(client, BEGIN);
      try {
        const result = await work((text, values) => send(client, text, values));
        await send(client, 'COMMIT');
        return result;
      } catch (error) {
        // If the connection is lost, the server rolls back.
        await send(client, 'ROLLBACK').catch(() => {});
        throw error;
      }
    });
  }

  /** Runs an operation. Other work may run between its statements, but not within its transactions. */
  carryOut<T>(operation: Operation<T>): Promise<T> {
    return this.#carryOut(operation, this.run);
  }

  /** Converts an error of the database to a UserError. Returns other errors unchanged. */
  explained(error: unknown): unknown {
    return explained(error, this.#address);
  }

  async close(): Promise<void> {
    await this.#turn;
    if (this.#client !== undefined) await disconnect(this.#client);
  }

  async #carryOut<T>(operation: Operation<T>, run: Run): Promise<T> {
    let step = operation.next();
    while (step.done !== true) {
      const asked = step.value;
      const answer =
        'work' in asked
          ? await this.transaction((inside) => this.#carryOut(asked.work, inside))
          : await run(asked.text, asked.values);
      step = operation.next(answer);
    }
    return step.value;
  }

  #inTurn<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const turn = this.#turn.then(async () => work(this.#client ?? (await this.#connect()).client));
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #connect(): Promise<{ client: pg.Client; created: boolean }> {
    const client = await openServer(this.#address, 'inf-gw operator');
    client.once('end', () => {
      this.#client = undefined;
    });
    try {
      const created = await migrate(client);
      this.#client = client;
      return { client, created };
    } catch (error) {
      await disconnect(client);
      throw error;
    }
  }
}

async function send(client: pg.Client, text: string, values: Values = []): Promise<Row[]> {
  const { rows } = await query<Row>(client, { text, values: [...values], types: INTEGERS }, ANSWER_MS);
  return rows;
}
