/** A connection for work that takes minutes, in explicit transactions: audits and moves. */
import type pg from 'pg';
import type { PostgresAddress } from '../../core/postgres-address.ts';
import type { Row } from '../rows.ts';
import { disconnect, query } from './connect.ts';
import { INTEGERS, type Run, type Values } from './database.ts';
import { explained } from './faults.ts';
import { openServer } from './server.ts';

/** One statement may scan the whole journal. Keep-alives detect a dead link. */
const ANSWER_MS = 3_600_000;
/** Maximum time a statement waits for a lock. */
const LOCK_WAIT_MS = 5_000;
/** Overrides timeouts that a role or server sets for short statements, and provides memory to sort a journal. */
const SETTINGS = `SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0;
  SET lock_timeout = ${LOCK_WAIT_MS}; SET work_mem = '64MB'`;

/** A read-only transaction on a single snapshot. */
export const READ = 'BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY';

/** A session that throws database errors as UserErrors. */
export class LongSession {
  readonly #client: pg.Client;
  readonly #address: PostgresAddress;

  private constructor(client: pg.Client, address: PostgresAddress) {
    this.#client = client;
    this.#address = address;
  }

  static async open(address: PostgresAddress): Promise<LongSession> {
    const session = new LongSession(await openServer(address, 'inf-gw operator'), address);
    try {
      await session.run(SETTINGS);
      return session;
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  /** Runs a statement and returns its rows. */
  readonly run: Run = (text, values: Values = []) =>
    this.with(async (client) => {
      // A text with several statements cannot have values.
      const request = values.length === 0 ? { text, types: INTEGERS } : { text, values: [...values], types: INTEGERS };
      return (await query<Row>(client, request, ANSWER_MS)).rows;
    });

  /** Runs `work` on the connection itself. */
  async with<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    try {
      return await work(this.#client);
    } catch (error) {
      throw explained(error, this.#address);
    }
  }

  /** Closes the connection; the server rolls back an open transaction. */
  async close(): Promise<void> {
    await disconnect(this.#client);
  }
}

/** Opens a session whose queries share one snapshot. Throws a UserError. */
export async function openReader(address: PostgresAddress): Promise<LongSession> {
  const session = await LongSession.open(address);
  try {
    await session.run(READ);
    return session;
  } catch (error) {
    await session.close();
    throw error;
  }
}
