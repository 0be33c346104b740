/** The connections of one gateway to the shared state. They are opened and dropped together. */

import type pg from 'pg';
import { type PostgresAddress, type ServerAddress, serversOf } from '../../core/postgres-address.ts';
import { disconnect, query, queryRows, sever } from './connect.ts';
import { UnusableServerError } from './faults.ts';
import { openChecked, refusePooler } from './server.ts';

/**
 * Maximum time for an answer. Requests fail within 5 seconds if the database is silent or locked; a request that arrives
 * during a wait may wait twice as long.
 */
const ANSWER_MS = 4_000;
const LOCK_WAIT_MS = 2_000;
/** Maximum time for reading the state of all active keys. */
const READ_MS = 60_000;
/** Longer than this gateway waits for an answer. */
const TRANSACTION_MS = 5_000;

/** Fixes the query plans of functions: other plans took up to ten times as long. */
const SETTINGS = [
  // Each statement of a function must see all earlier commits, regardless of the database's default.
  `default_transaction_isolation = 'read committed'`,
  'plan_cache_mode = force_generic_plan',
  'enable_seqscan = off',
  'enable_hashjoin = off',
  'enable_mergejoin = off',
  'jit = off',
  `lock_timeout = ${LOCK_WAIT_MS}`,
  // Without keep-alives, a server that loses a gateway in the middle of a batch would hold the lock of all gateways for
  // hours.
  'tcp_keepalives_idle = 5',
  'tcp_keepalives_interval = 1',
  'tcp_keepalives_count = 5',
];

/** Covers a frozen gateway whose machine, or a proxy, still answers keep-alives. The setting exists since PostgreSQL 17. */
const boundTransactions = (ms: number) => `SELECT set_config(name, '${ms}', false) FROM pg_settings
  WHERE name = 'transaction_timeout'`;

/** Flushes with the database's own `synchronous_commit`, so it waits for the disk and for standbys. */
const FLUSH = `SELECT set_config('synchronous_commit', $3, true), pg_logical_emit_message(true, 'inf-gw', ''),
  EXISTS (SELECT FROM inf_gw.nodes WHERE id = $1 AND epoch = $2) AS takes_part`;

/** The application names of the second and third connection. */
const OTHER_PURPOSES = ['ledger', 'side'];

/** The identity of a deciding gateway. */
export interface Decider {
  readonly nodeId: number;
  readonly epoch: string;
}

export class Link {
  /**
   * Two connections for decisions, used one at a time. Their commits wait neither for the disk nor for a standby; the
   * flush that follows does. The second connection lets the next decision proceed during that flush.
   */
  readonly #deciding: readonly [pg.Client, pg.Client];
  /** Connection for everything else. Decisions never block it, so heartbeats are on time. */
  readonly #side: pg.Client;
  /** The end of the last query on `#side`, which runs one query at a time. */
  #sideTurn: Promise<unknown> = Promise.resolve();
  /** The connections of `#deciding` with a flush or a long read in progress, and the end of that work. */
  readonly #busy = new Map<pg.Client, Promise<unknown>>();
  /** The flush sent with the last decision and not requested yet. Resolves with whether the gateway is a member. */
  #flush: Promise<boolean> | undefined;
  /** The database's `synchronous_commit`, which a flush uses. */
  readonly #synchronousCommit: string;

  private constructor(first: pg.Client, second: pg.Client, side: pg.Client, synchronousCommit: string) {
    this.#deciding = [first, second];
    this.#side = side;
    this.#synchronousCommit = synchronousCommit;
  }

  /** Rejects with an error that `faults.ts` explains. */
  static async open(address: PostgresAddress, name: string): Promise<Link> {
    const clients: pg.Client[] = [];
    try {
      const first = await openChecked(address, `inf-gw ${name} ledger`);
      clients.push(first);
      const isIt = ({ host, port }: ServerAddress) => host === first.host && port === first.port;
      const server = { ...(serversOf(address).find(isIt) ?? address), others: [] };
      const opened = await Promise.allSettled(
        OTHER_PURPOSES.map((purpose) => openChecked(server, `inf-gw ${name} ${purpose}`)),
      );
      for (const each of opened) if (each.status === 'fulfilled') clients.push(each.value);
      for (const each of opened) if (each.status === 'rejected') throw each.reason;
      const [, second, side] = clients as [pg.Client, pg.Client, pg.Client];
      await refusePooler(first, second, address);
      await assertSameServer(first, second);
      await Promise.all(clients.map((client) => run(client, SETTINGS.map((setting) => `SET ${setting}`).join('; '))));
      const waitsFor = await settingOf(first, 'synchronous_commit');
      await Promise.all(
        [first, second].map(async (client) => {
          await run(client, 'SET synchronous_commit = off');
          await run(client, boundTransactions(TRANSACTION_MS));
        }),
      );
      return new Link(first, second, side, waitsFor);
    } catch (error) {
      for (const client of clients) sever(client);
      throw error;
    }
  }

  /** Connection for migrations, which run before all other queries. */
  get owner(): pg.Client {
    return this.#side;
  }

  /**
   * Calls a function that decides or writes. With `flushFor`, a flush follows on the same connection, which saves a round
   * trip. If another flush is in flight, it is not sent; the next call of `flush` sends one.
   */
  async decide<Row extends pg.QueryResultRow>(
    name: string,
    text: string,
    values: unknown[],
    flushFor?: Decider,
  ): Promise<Row[]> {
    const client = this.#idle;
    const answer = query<Row>(client, { name, text, values }, ANSWER_MS);
    if (flushFor === undefined) return (await answer).rows;
    if (this.#busy.size > 0) {
      // One connection must stay free, or the next decisions would wait for the disk and for standbys.
      const { rows } = await answer;
      this.#flush = undefined;
      return rows;
    }
    const flush = this.#flushOn(client, flushFor);
    // The caller of `flush` handles the rejection.
    flush.catch(() => {});
    const { rows } = await answer;
    this.#flush = flush;
    return rows;
  }

  /**
   * Makes all earlier commits of all gateways durable, because the server's log is ordered. Returns whether the gateway is
   * a member under this epoch.
   */
  flush(decider: Decider): Promise<boolean> {
    const flush = this.#flush;
    this.#flush = undefined;
    return flush ?? this.flushAnew(decider);
  }

  /** Like `flush`, but always sends a new one. */
  flushAnew(decider: Decider): Promise<boolean> {
    return this.#flushOn(this.#idle, decider);
  }

  /** Reads a large result row by row, on a connection for decisions, so that heartbeats do not wait. */
  async read<Row extends pg.QueryResultRow>(name: string, text: string, onRow: (row: Row) => void): Promise<void> {
    const client = this.#idle;
    await this.#occupying(client, async () => {
      await run(client, boundTransactions(0));
      try {
        await queryRows(client, { name, text }, READ_MS, onRow);
      } catch (error) {
        // Its transaction timeout may still be off; decisions need one.
        sever(client);
        throw error;
      }
      await run(client, boundTransactions(TRANSACTION_MS));
    });
  }

  /** Runs a query on the side connection. */
  aside<Row extends pg.QueryResultRow>(name: string, text: string, values: unknown[] = []): Promise<Row[]> {
    const turn = this.#sideTurn.then(
      async () => (await query<Row>(this.#side, { name, text, values }, ANSWER_MS)).rows,
    );
    this.#sideTurn = turn.catch(() => {});
    return turn;
  }

  /** Drops the connections immediately. Pending queries reject. */
  sever(): void {
    for (const client of this.#clients) sever(client);
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => disconnect(client)));
  }

  get #clients(): readonly pg.Client[] {
    return [...this.#deciding, this.#side];
  }

  /** A free connection of `#deciding`; without one, the connection that became busy first. */
  get #idle(): pg.Client {
    return this.#deciding.find((client) => !this.#busy.has(client)) ?? ([...this.#busy.keys()][0] as pg.Client);
  }

  async #flushOn(client: pg.Client, { nodeId, epoch }: Decider): Promise<boolean> {
    const flush = { name: 'flush', text: FLUSH, values: [nodeId, epoch, this.#synchronousCommit] };
    const { rows } = await this.#occupying(client, () => query<{ takes_part: boolean }>(client, flush, ANSWER_MS));
    return rows[0]?.takes_part === true;
  }

  async #occupying<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
    const done = work();
    this.#busy.delete(client);
    this.#busy.set(client, done);
    try {
      return await done;
    } finally {
      if (this.#busy.get(client) === done) this.#busy.delete(client);
    }
  }
}

async function run(client: pg.Client, text: string): Promise<void> {
  await query(client, text, ANSWER_MS);
}

/** A flush only covers commits on the same server. */
async function assertSameServer(deciding: pg.Client, flushing: pg.Client): Promise<void> {
  if ((await startOf(deciding)) === (await startOf(flushing))) return;
  throw new UnusableServerError(
    'its connections lead to different servers',
    'set `state:` to the address of one server, or to a proxy that follows the primary',
  );
}

async function settingOf(client: pg.Client, name: string): Promise<string> {
  const { rows } = await query<{ value: string }>(client, `SELECT current_setting('${name}') AS value`, ANSWER_MS);
  return rows[0]?.value as string;
}

async function startOf(client: pg.Client): Promise<string | undefined> {
  const text = 'SELECT pg_postmaster_start_time()::text AS started';
  return (await query<{ started: string }>(client, text, ANSWER_MS)).rows[0]?.started;
}
