/** The connections of one gateway to the shared state. They are opened, and given up, together. */

import type pg from 'pg';
import type { PostgresAddress } from '../../core/postgres-address.ts';
import { connect, disconnect, query, sever } from './connect.ts';
import { UnusableServerError } from './faults.ts';

/**
 * How long the database may take for an answer. Requests fail within 5 seconds of its silence, and
 * the lock of other gateways is waited for less long than that.
 */
const ANSWER_MS = 4_000;
const LOCK_WAIT_MS = 3_000;

/** What keeps the plans of `decide` from changing: with others it took up to ten times as long. */
const SETTINGS = [
  'plan_cache_mode = force_generic_plan',
  'enable_seqscan = off',
  'enable_hashjoin = off',
  'enable_mergejoin = off',
  'jit = off',
  `lock_timeout = ${LOCK_WAIT_MS}`,
];

interface Session {
  readonly pid: number;
  readonly started: string;
}

export class Link {
  /** Decides. Its commits do not wait for the disk, nor for a standby. */
  readonly #deciding: pg.Client;
  /** Waits for the disk, for all commits so far of all gateways: the log is in order. */
  readonly #flushing: pg.Client;
  /** Everything else. It waits for nothing that decides, so a heartbeat is never late for it. */
  readonly #side: pg.Client;
  /** The end of the last query on `#side`: it runs one at a time. */
  #sideTurn: Promise<unknown> = Promise.resolve();

  private constructor(deciding: pg.Client, flushing: pg.Client, side: pg.Client) {
    this.#deciding = deciding;
    this.#flushing = flushing;
    this.#side = side;
  }

  /** Rejects with an error that `faults.ts` explains. */
  static async open(address: PostgresAddress, name: string): Promise<Link> {
    const clients: pg.Client[] = [];
    try {
      for (const purpose of ['ledger', 'flush', 'side']) {
        clients.push(await connect(address, `inf-gw ${name} ${purpose}`));
      }
      const [deciding, flushing, side] = clients as [pg.Client, pg.Client, pg.Client];
      await assertSameServer(deciding, flushing);
      for (const client of clients) {
        await run(client, SETTINGS.map((setting) => `SET ${setting}`).join('; '));
      }
      await run(deciding, 'SET synchronous_commit = off');
      return new Link(deciding, flushing, side);
    } catch (error) {
      for (const client of clients) sever(client);
      throw error;
    }
  }

  /** The connection for migrations, before anything else runs. */
  get owner(): pg.Client {
    return this.#side;
  }

  /** Calls a function that decides or writes. */
  async decide<Row extends pg.QueryResultRow>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    return (await query<Row>(this.#deciding, { name, text, values }, ANSWER_MS)).rows;
  }

  /** Makes every commit so far durable. */
  async flush(): Promise<void> {
    await query(
      this.#flushing,
      { name: 'flush', text: `SELECT pg_logical_emit_message(true, 'inf-gw', '')` },
      ANSWER_MS,
    );
  }

  /** Runs a query beside the decisions. */
  aside<Row extends pg.QueryResultRow>(name: string, text: string, values: unknown[] = []): Promise<Row[]> {
    const turn = this.#sideTurn.then(
      async () => (await query<Row>(this.#side, { name, text, values }, ANSWER_MS)).rows,
    );
    this.#sideTurn = turn.catch(() => {});
    return turn;
  }

  /** Gives the connections up at once. What runs on them rejects. */
  sever(): void {
    for (const client of [this.#deciding, this.#flushing, this.#side]) sever(client);
  }

  async close(): Promise<void> {
    await Promise.all([this.#deciding, this.#flushing, this.#side].map((client) => disconnect(client)));
  }
}

async function run(client: pg.Client, text: string): Promise<void> {
  await query(client, text, ANSWER_MS);
}

/**
 * A flush is only one for what was committed on the same server. And behind a pooler that gives each
 * transaction another connection, settings and epochs would not stay with ours.
 */
async function assertSameServer(deciding: pg.Client, flushing: pg.Client): Promise<void> {
  const [first, second] = [await sessionOf(deciding), await sessionOf(flushing)];
  if (first.pid === second.pid) {
    throw new UnusableServerError(
      'a pooler in transaction mode is in between: two connections share one of the server',
      'connect to the server itself, or set the pooler to session mode',
    );
  }
  if (first.started !== second.started) {
    throw new UnusableServerError(
      'its connections lead to different servers',
      'set `state:` to the address of one server, or to a proxy that follows the primary',
    );
  }
}

async function sessionOf(client: pg.Client): Promise<Session> {
  const text = 'SELECT pg_backend_pid() AS pid, pg_postmaster_start_time()::text AS started';
  return (await query<Session>(client, text, ANSWER_MS)).rows[0] as Session;
}
