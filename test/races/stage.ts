/**
 * A gateway for many rounds, an operator's connection to its state file, and clients that stay
 * connected.
 */
import assert from 'node:assert/strict';
import type { BookAtOnce } from '../../src/state/book.ts';
import { bookOf } from '../../src/state/sqlite/book.ts';
import { openDatabase, type Sqlite } from '../../src/state/sqlite/database.ts';
import { completion } from '../support/answers.ts';
import { chat, type Row, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { AMPLE_ALLOWANCE } from './allowance.ts';
import { type Bounded, newBounded, type Terms } from './bounded.ts';
import { RaceClient } from './client.ts';
import type { Setting, Variant } from './plan.ts';

export interface TimedRow extends Row {
  readonly admitted_at_ms: number;
  readonly settled_at_ms: number;
}

/** Enough connections that the chance of all going to one thread is less than one in a billion. */
const SPREAD_CONNECTIONS = 64;

export class Stage {
  readonly gateway: TestGateway;
  readonly #database: Sqlite;
  readonly #book: BookAtOnce;
  readonly #idle: RaceClient[] = [];

  private constructor(gateway: TestGateway) {
    this.gateway = gateway;
    this.#database = openDatabase(gateway.statePath).database;
    this.#book = bookOf(this.#database);
  }

  static async start({ capOutput, threads }: Setting): Promise<Stage> {
    const stage = new Stage(await startTestGateway({ config: { cap_output: capOutput, threads } }));
    try {
      if (threads > 1) await stage.#assertSpread(threads);
      return stage;
    } catch (error) {
      // Nothing else would end it.
      await stage.stop();
      throw error;
    }
  }

  /**
   * Makes sure that each thread has its share of the connections. They stay open for the clients of
   * the rounds.
   */
  async #assertSpread(threads: number): Promise<void> {
    const { gateway } = this;
    const release = gateway.upstream.followLater((call) => call.answer(200, completion('hi')));
    const key = gateway.key(AMPLE_ALLOWANCE.limits);
    const clients = await this.clients(SPREAD_CONNECTIONS);
    const answers = clients.map((client) => client.send(gateway.rawCompletion(key, chat())));
    await gateway.upstream.call(SPREAD_CONNECTIONS);
    const shares = await gateway.inFlightByThread();
    release();
    for (const { status } of await Promise.all(answers)) assert.equal(status, 200);
    for (const client of clients) this.giveBack(client);
    assert.equal(shares.length, threads, 'all threads answer');
    assert.ok(!shares.includes(0), `the connections went to the threads as ${shares}`);
  }

  /** Creates whom the limit of a variant bounds. */
  newBounded(variant: Variant, terms: Terms): Bounded {
    return newBounded(this.#book, variant, terms);
  }

  addCredit(nanos: bigint): void {
    // An entry of zero is invalid.
    if (nanos !== 0n) assert.ok(this.#book.account.enter(nanos, 'races', Date.now()));
  }

  setBalance(nanos: bigint): void {
    this.addCredit(nanos - this.#book.account.balance().balanceNanos);
  }

  /** The number of their requests admitted so far, in flight or ended, as of one moment. */
  admitted({ keys }: Bounded): number {
    const ids = JSON.stringify(keys.map(({ id }) => id));
    return this.#database
      .prepare(
        `WITH k AS MATERIALIZED (SELECT value FROM json_each(?))
         SELECT (SELECT count(*) FROM journal WHERE key_id IN k) + (SELECT count(*) FROM holds WHERE key_id IN k)`,
      )
      .pluck()
      .get(ids) as number;
  }

  /** How many of their requests are in flight. */
  holds({ keys }: Bounded): number {
    return keys.reduce((sum, key) => sum + this.gateway.holds(key), 0);
  }

  /** Their ended requests. */
  rows({ keys }: Bounded): TimedRow[] {
    return keys.flatMap((key) => this.gateway.rows(key) as TimedRow[]);
  }

  get journalRows(): number {
    return this.#database.prepare('SELECT count(*) FROM journal').pluck().get() as number;
  }

  /** Connected clients, including those of earlier rounds. */
  clients(count: number): Promise<RaceClient[]> {
    return Promise.all(Array.from({ length: count }, () => this.client()));
  }

  async client(): Promise<RaceClient> {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) if (idle.isOpen) return idle;
    return RaceClient.open(this.gateway.port);
  }

  giveBack(client: RaceClient): void {
    if (client.isOpen) this.#idle.push(client);
  }

  async stop(): Promise<void> {
    for (const client of this.#idle) client.leave();
    this.#database.close();
    await this.gateway.stop();
  }
}
