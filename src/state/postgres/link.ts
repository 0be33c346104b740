/** The connections of one gateway to the shared state. They are opened, and given up, together. */

import type pg from 'pg';
import { type PostgresAddress, type ServerAddress, serversOf } from '../../core/postgres-address.ts';
import { disconnect, query, queryRows, sever } from './connect.ts';
import { UnusableServerError } from './faults.ts';
import { openChecked, refusePooler } from './server.ts';

/**
 * How long the database may take for an answer. Requests fail within 5 seconds of its silence, and
 * of a lock, though one that comes during a wait waits twice.
 */
const ANSWER_MS = 4_000;
const LOCK_WAIT_MS = 2_000;
/** How long the state of all keys that are in use may take to be read. */
const READ_MS = 60_000;
/** Longer than this gateway waits for its answer. */
const TRANSACTION_MS = 5_000;

/** What keeps the plans of functions from changing: with others they took up to ten times as long. */
const SETTINGS = [
  // Each statement of a function sees what was committed before it, whatever the default of the database is.
  `default_transaction_isolation = 'read committed'`,
  'plan_cache_mode = force_generic_plan',
  'enable_seqscan = off',
  'enable_hashjoin = off',
  'enable_mergejoin = off',
  'jit = off',
  `lock_timeout = ${LOCK_WAIT_MS}`,
  // A server that loses a gateway in the middle of a batch would keep the lock of all gateways for hours.
  'tcp_keepalives_idle = 5',
  'tcp_keepalives_interval = 1',
  'tcp_keepalives_count = 5',
];

/** The same for a gateway whose machine still answers, or a proxy in its place. Known from PostgreSQL 17 on. */
const BOUND_TRANSACTIONS = `SELECT set_config(name, '${TRANSACTION_MS}', false) FROM pg_settings
  WHERE name = 'transaction_timeout'`;

const FLUSH = `SELECT pg_logical_emit_message(true, 'inf-gw', ''),
  EXISTS (SELECT FROM inf_gw.nodes WHERE id = $1 AND epoch = $2) AS takes_part`;

/** What all but the first connection are for, in the order of their fields. */
const BESIDE = ['flush', 'side'];

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
      const deciding = await openChecked(address, `inf-gw ${name} ledger`);
      clients.push(deciding);
      const isIt = ({ host, port }: ServerAddress) => host === deciding.host && port === deciding.port;
      const server = { ...(serversOf(address).find(isIt) ?? address), others: [] };
      const opened = await Promise.allSettled(
        BESIDE.map((purpose) => openChecked(server, `inf-gw ${name} ${purpose}`)),
      );
      for (const each of opened) if (each.status === 'fulfilled') clients.push(each.value);
      for (const each of opened) if (each.status === 'rejected') throw each.reason;
      const [, flushing, side] = clients as [pg.Client, pg.Client, pg.Client];
      await refusePooler(deciding, flushing, address);
      await assertSameServer(deciding, flushing);
      await Promise.all(clients.map((client) => run(client, SETTINGS.map((setting) => `SET ${setting}`).join('; '))));
      await run(deciding, 'SET synchronous_commit = off');
      await run(deciding, BOUND_TRANSACTIONS);
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

  /** Makes every commit so far durable. Returns whether the gateway takes part under this epoch. */
  async flush(nodeId: number, epoch: string): Promise<boolean> {
    const flush = { name: 'flush', text: FLUSH, values: [nodeId, epoch] };
    const { rows } = await query<{ takes_part: boolean }>(this.#flushing, flush, ANSWER_MS);
    return rows[0]?.takes_part === true;
  }

  /** Reads much, row by row, while nothing is decided here. No heartbeat waits for it, and only flushes do. */
  async read<Row extends pg.QueryResultRow>(name: string, text: string, onRow: (row: Row) => void): Promise<void> {
    await queryRows(this.#flushing, { name, text }, READ_MS, onRow);
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

/** A flush is only one for what was committed on the same server. */
async function assertSameServer(deciding: pg.Client, flushing: pg.Client): Promise<void> {
  if ((await startOf(deciding)) === (await startOf(flushing))) return;
  throw new UnusableServerError(
    'its connections lead to different servers',
    'set `state:` to the address of one server, or to a proxy that follows the primary',
  );
}

async function startOf(client: pg.Client): Promise<string | undefined> {
  const text = 'SELECT pg_postmaster_start_time()::text AS started';
  return (await query<{ started: string }>(client, text, ANSWER_MS)).rows[0]?.started;
}
