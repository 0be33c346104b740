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
const boundTransactions = (ms: number) => `SELECT set_config(name, '${ms}', false) FROM pg_settings
  WHERE name = 'transaction_timeout'`;

/** As the database has it, a flush waits for the disk and for standbys. */
const FLUSH = `SELECT set_config('synchronous_commit', $3, true), pg_logical_emit_message(true, 'inf-gw', ''),
  EXISTS (SELECT FROM inf_gw.nodes WHERE id = $1 AND epoch = $2) AS takes_part`;

/** What all but the first connection are for, in the order of their fields. */
const BESIDE = ['ledger', 'side'];

/** A gateway as it decides, and its epoch. */
export interface Decider {
  readonly nodeId: number;
  readonly epoch: string;
}

export class Link {
  /**
   * Decide, one at a time. Their commits do not wait for the disk, nor for a standby: a flush right behind one does, and
   * there are two, so that the next decision does not wait for that.
   */
  readonly #deciding: readonly [pg.Client, pg.Client];
  /** Everything else. It waits for nothing that decides, so a heartbeat is never late for it. */
  readonly #side: pg.Client;
  /** The end of the last query on `#side`: it runs one at a time. */
  #sideTurn: Promise<unknown> = Promise.resolve();
  /** Those of `#deciding` on which something runs that no decision should wait for, and its end. */
  readonly #busy = new Map<pg.Client, Promise<unknown>>();
  /** Sent with the last decision, and not asked for since: whether the gateway took part. */
  #flush: Promise<boolean> | undefined;
  /** What a flush waits for: `synchronous_commit` of the database. */
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
        BESIDE.map((purpose) => openChecked(server, `inf-gw ${name} ${purpose}`)),
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

  /** The connection for migrations, before anything else runs. */
  get owner(): pg.Client {
    return this.#side;
  }

  /**
   * Calls a function that decides or writes. With `flushFor` a flush is sent right behind it, which spares a round trip, unless
   * another is in flight: the next call of `flush` waits for that one.
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
      // One stays free, or the next decisions would wait for the disk and for standbys.
      const { rows } = await answer;
      this.#flush = undefined;
      return rows;
    }
    const flush = this.#flushOn(client, flushFor);
    // Whoever asks for it is told.
    flush.catch(() => {});
    const { rows } = await answer;
    this.#flush = flush;
    return rows;
  }

  /**
   * Makes every commit so far durable, of all gateways: the log of the server is in order. Returns whether the gateway takes
   * part under this epoch.
   */
  flush(decider: Decider): Promise<boolean> {
    const flush = this.#flush;
    this.#flush = undefined;
    return flush ?? this.flushAnew(decider);
  }

  /** The same, and waits for none that was sent before. */
  flushAnew(decider: Decider): Promise<boolean> {
    return this.#flushOn(this.#idle, decider);
  }

  /** Reads much, row by row, while nothing is decided here. No heartbeat waits for it. */
  async read<Row extends pg.QueryResultRow>(name: string, text: string, onRow: (row: Row) => void): Promise<void> {
    const client = this.#idle;
    await this.#beside(client, async () => {
      await run(client, boundTransactions(0));
      try {
        await queryRows(client, { name, text }, READ_MS, onRow);
      } catch (error) {
        // Nothing is decided on it without a bound.
        sever(client);
        throw error;
      }
      await run(client, boundTransactions(TRANSACTION_MS));
    });
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
    for (const client of this.#clients) sever(client);
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => disconnect(client)));
  }

  get #clients(): readonly pg.Client[] {
    return [...this.#deciding, this.#side];
  }

  /** One of `#deciding` that is free; if there is none, the one that was taken first. */
  get #idle(): pg.Client {
    return this.#deciding.find((client) => !this.#busy.has(client)) ?? ([...this.#busy.keys()][0] as pg.Client);
  }

  async #flushOn(client: pg.Client, { nodeId, epoch }: Decider): Promise<boolean> {
    const flush = { name: 'flush', text: FLUSH, values: [nodeId, epoch, this.#synchronousCommit] };
    const { rows } = await this.#beside(client, () => query<{ takes_part: boolean }>(client, flush, ANSWER_MS));
    return rows[0]?.takes_part === true;
  }

  async #beside<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
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

/** A flush is only one for what was committed on the same server. */
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
