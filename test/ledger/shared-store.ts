/** The ledger on a database, for the conformance suite: any number of gateways, and a clock for all of them. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import pg from 'pg';
import { parsePostgresAddress } from '../../src/core/postgres-address.ts';
import type { Durability } from '../../src/core/settings.ts';
import type { Engine } from '../../src/ledger/engine.ts';
import type { LedgerSettings, LedgerSummary } from '../../src/ledger/ledger.ts';
import type { Command } from '../../src/ledger/protocol.ts';
import { completeOthers } from '../../src/ledger/shared/rebuild.ts';
import { RULES } from '../../src/ledger/shared/rules.ts';
import { SharedEngine } from '../../src/ledger/shared/shared-engine.ts';
import { openState } from '../../src/state/open.ts';
import { INTEGERS, type Run } from '../../src/state/postgres/database.ts';
import { SharedLedgerStore } from '../../src/state/postgres/ledger-store.ts';
import { READ } from '../../src/state/postgres/long-session.ts';
import type { OpenState } from '../../src/state/state.ts';
import { readDifferences } from '../support/auditor.ts';
import { Link } from '../support/link.ts';
import { PostgresServer } from '../support/postgres.ts';
import { readBookFaults } from '../support/shared-books.ts';
import type { HandClock, OpenStore, Row, Store } from './bench.ts';

/** The clock of the ledger is a row of a table, and whether anything can be written another. */
const STAGE = `
  CREATE SCHEMA stage;
  CREATE TABLE stage.world (us bigint NOT NULL, is_broken boolean NOT NULL);
  INSERT INTO stage.world VALUES (0, false);
  GRANT USAGE ON SCHEMA stage TO PUBLIC;
  GRANT SELECT ON stage.world TO PUBLIC;
  CREATE OR REPLACE FUNCTION inf_gw.now_us() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT us FROM stage.world';
  CREATE FUNCTION stage.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF (SELECT is_broken FROM stage.world) THEN RAISE EXCEPTION 'broken' USING ERRCODE = 'disk_full'; END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER fail BEFORE INSERT ON inf_gw.holds FOR EACH ROW EXECUTE FUNCTION stage.fail();
  CREATE TRIGGER fail BEFORE INSERT ON inf_gw.journal FOR EACH ROW EXECUTE FUNCTION stage.fail();`;

/** For a gateway that writes nothing before it is told to: longer than any test. */
export const NEVER_MS = 1_000_000_000;
/** What every decision changes, whatever it is. */
const VOLATILE = new Set(['last_us', 'seq', 'recorded_seq']);
const RANKS: Partial<Record<Command['kind'], number>> = { settle: 0, free_slot: 1, grow: 2 };

/** A database that one test at a time uses. */
export class SharedDatabase {
  readonly server: PostgresServer;
  readonly url: string;
  readonly operator: OpenState;
  /** The owner's own connection. */
  readonly client: pg.Client;
  /** A gateway that one test has left as it should be: the next need not connect. */
  #idle: SharedProcess | undefined;

  private constructor(server: PostgresServer, url: string, operator: OpenState, client: pg.Client) {
    this.server = server;
    this.url = url;
    this.operator = operator;
    this.client = client;
  }

  static async start(): Promise<SharedDatabase> {
    const server = await PostgresServer.start();
    const url = await server.createDatabase();
    const operator = await openState({ kind: 'postgres', address: addressOf(url) }, 'full');
    const client = new pg.Client({ connectionString: url, types: { getTypeParser: parserOf } });
    client.on('error', () => {});
    await client.connect();
    await client.query(STAGE);
    return new SharedDatabase(server, url, operator, client);
  }

  async stop(): Promise<void> {
    await this.#idle?.close();
    await this.operator.close();
    await this.client.end();
    await this.server.stop();
  }

  /** Opens an empty store in it. */
  readonly openStore: OpenStore = (settings, clock) => this.open(settings, clock);

  async open(settings: LedgerSettings, clock: HandClock): Promise<SharedStore> {
    await this.#empty();
    const store = new SharedStore(this, settings, clock);
    await store.setClock(clock.wall);
    const idle = this.#idle;
    this.#idle = undefined;
    await store.start(idle);
    return store;
  }

  /** Takes back a gateway, if it still takes part. */
  async release(process: SharedProcess): Promise<void> {
    if (process.link.open === 3 && process.faults.length === 0) this.#idle = process;
    else await process.close();
  }

  async read(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.client.query<Row>(text, values)).rows;
  }

  /** All tables, but for the gateways, which change whenever they are heard of. */
  async tables(): Promise<string[]> {
    const text = `SELECT relname FROM pg_class WHERE relnamespace = 'inf_gw'::regnamespace AND relkind IN ('r', 'p')
      AND NOT relispartition AND relname NOT IN ('migrations', 'nodes', 'log', 'positions') ORDER BY 1`;
    return (await this.read(text)).map(({ relname }) => relname as string);
  }

  /** What is wrong in the books, in the words of the tests and of the auditor. */
  async findFaults(): Promise<string[]> {
    await this.client.query(READ);
    try {
      return [...(await readBookFaults(this.#ask)), ...(await readDifferences(this.#ask))];
    } finally {
      await this.client.query('COMMIT');
    }
  }

  /** Asks what is asked after each test: to plan it takes longer than to answer it, and so is done once. */
  readonly #ask: Run = async (text, values = []) => {
    const name = createHash('sha256').update(text).digest('base64');
    return (await this.client.query({ name, text, values: [...values], types: INTEGERS })).rows;
  };

  async #empty(): Promise<void> {
    const tables = (await this.tables()).filter((name) => name !== 'account');
    // There are few rows: to truncate would take longer.
    // In the order in which gateways that are still ending lock.
    await this.client.query(`SELECT FROM inf_gw.account FOR UPDATE; ${tables.map((name) => `DELETE FROM inf_gw.${name};`).join(' ')}
      DELETE FROM inf_gw.nodes WHERE name <> 'first' OR ${this.#idle === undefined};
      DELETE FROM inf_gw.log; DELETE FROM inf_gw.positions;
      UPDATE inf_gw.account SET balance_nanos = 0, held_nanos = 0, last_us = 0, seq = 0, clock_us = 0, recorded_seq = 0,
        rules = 1;
      UPDATE inf_gw.nodes SET rules = 1`);
  }
}

/** Who a gateway is to the database, and the newest rules that it knows. */
interface Version {
  readonly user?: string;
  readonly rules?: number;
}

/** One process of a gateway. */
export class SharedProcess {
  readonly link: Link;
  readonly faults: string[];
  readonly deaths: string[];
  /** The entries after which it has come to another state than the others. */
  readonly differences: bigint[] = [];
  /** The entries that no gateway asks, and whose they are. */
  readonly nonsense: [entry: bigint, nodeId: number][] = [];
  /** The entries that the database has lost, and how many requests had ended there. */
  readonly losses: [entry: bigint, requests: number][] = [];
  /** The requests that nobody is charged for. */
  readonly uncharged: string[] = [];
  readonly name: string;
  readonly #store: SharedLedgerStore;
  #engine!: SharedEngine;

  private constructor(name: string, store: SharedLedgerStore, link: Link, faults: string[], deaths: string[]) {
    this.name = name;
    this.#store = store;
    this.link = link;
    this.faults = faults;
    this.deaths = deaths;
  }

  get engine(): SharedEngine {
    return this.#engine;
  }

  /** Its number among all. */
  get nodeId(): number {
    return this.#store.nodeId as number;
  }

  /** A new engine on the same connections, as if nothing had happened. */
  renew(settings: LedgerSettings, clock: HandClock, writeMs?: number, durability: Durability = 'full'): void {
    this.differences.length = this.nonsense.length = this.losses.length = this.uncharged.length = 0;
    const options = { ...settings, durability, state: { kind: 'file', path: '' } } as const;
    const events = {
      onFault: ({ message }: { message: string }) => void this.faults.push(message),
      onDifference: (entry: bigint) => void this.differences.push(entry),
      onNonsense: (entry: bigint, nodeId: number) => void this.nonsense.push([entry, nodeId]),
      onLostLog: (entry: bigint, requests: number) => void this.losses.push([entry, requests]),
      onUncharged: (requestId: string) => void this.uncharged.push(requestId),
    };
    this.#engine = new SharedEngine(this.#store, options, clock, events, writeMs);
  }

  static async start(
    database: SharedDatabase,
    name: string,
    settings: LedgerSettings,
    clock: HandClock,
    { user = database.url, rules = RULES }: Version = {},
  ): Promise<SharedProcess> {
    const link = await Link.open(database.server.port);
    const [faults, deaths]: [string[], string[]] = [[], []];
    const node = { name, version: '0.0.0', address: '127.0.0.1:0', rules };
    const events = {
      onFault: ({ message }: { message: string }) => void faults.push(message),
      onDeaths: (names: readonly string[]) => void deaths.push(...names),
      onStops: () => {},
    };
    try {
      const store = await SharedLedgerStore.open(addressOf(link.through(user)), node, events, completeOthers);
      const process = new SharedProcess(name, store, link, faults, deaths);
      process.renew(settings, clock);
      return process;
    } catch (error) {
      await link.close();
      throw error;
    }
  }

  /** Ends it without a word to the database. */
  async kill(): Promise<void> {
    await this.link.close();
    await this.engine.close().catch(() => {});
  }

  async close(): Promise<void> {
    await this.engine.close().catch(() => {});
    await this.link.close();
  }
}

export class SharedStore implements Store {
  readonly database: SharedDatabase;
  process!: SharedProcess;
  summary!: LedgerSummary;
  readonly #settings: LedgerSettings;
  readonly #clock: HandClock;
  /** The gateways beside the first. */
  readonly #others: SharedProcess[] = [];

  constructor(database: SharedDatabase, settings: LedgerSettings, clock: HandClock) {
    this.database = database;
    this.#settings = settings;
    this.#clock = clock;
  }

  get operator(): OpenState {
    return this.database.operator;
  }

  get engine(): SharedEngine {
    return this.process.engine;
  }

  async start(idle?: SharedProcess): Promise<void> {
    idle?.renew(this.#settings, this.#clock);
    this.process = idle ?? (await SharedProcess.start(this.database, 'first', this.#settings, this.#clock));
    this.summary = await this.engine.recover();
  }

  /** Starts another gateway on the same database. */
  async startOther(name: string, version?: Version): Promise<SharedProcess> {
    const other = await SharedProcess.start(this.database, name, this.#settings, this.#clock, version);
    this.#others.push(other);
    return other;
  }

  async advance(milliseconds: number): Promise<void> {
    this.#clock.advance(milliseconds);
    await this.#beHeardOf();
  }

  async step(milliseconds: number): Promise<void> {
    this.#clock.wall += milliseconds;
    await this.#beHeardOf();
  }

  /** Sets the clock of the database; a gateway is not heard of unless it lives. */
  async stepInSilence(milliseconds: number): Promise<void> {
    this.#clock.wall += milliseconds;
    await this.#setTime();
  }

  /** Both clocks run on alike, or it would be a step. */
  setClock(wallMs: number): Promise<void> {
    return this.advance(wallMs - this.#clock.wall);
  }

  /** Lets time pass in which no gateway is heard of. */
  async advanceInSilence(milliseconds: number): Promise<void> {
    this.#clock.advance(milliseconds);
    await this.#setTime();
  }

  async crash(downMs: number): Promise<void> {
    await this.process.kill();
    await this.advanceInSilence(downMs);
    await this.start();
  }

  async restart(): Promise<void> {
    await this.process.close();
    await this.start();
  }

  async whileBroken(work: () => Promise<void>): Promise<void> {
    await this.database.client.query('UPDATE stage.world SET is_broken = true');
    try {
      await work();
    } finally {
      await this.database.client.query('UPDATE stage.world SET is_broken = false');
    }
  }

  /** Settlements first, then freed slots, growths and asks. */
  inOrder(commands: readonly Command[]): Command[] {
    return commands.toSorted((a, b) => (RANKS[a.kind] ?? 3) - (RANKS[b.kind] ?? 3));
  }

  async written(engine: Engine): Promise<void> {
    await (engine as SharedEngine).write();
  }

  rows(table: 'holds' | 'journal'): Promise<Row[]> {
    return this.database.read(`SELECT * FROM inf_gw.${table} ORDER BY request_id`);
  }

  async count(table: string): Promise<number> {
    return (await this.database.read(`SELECT * FROM inf_gw.${table}`)).length;
  }

  async dump(): Promise<unknown> {
    const tables: [string, Row[]][] = [];
    for (const name of await this.database.tables()) {
      const rows = await this.database.read(`SELECT * FROM inf_gw.${name} t ORDER BY t::text COLLATE "C"`);
      tables.push([name, rows.map(lasting)]);
    }
    return tables;
  }

  async assertBooks(): Promise<void> {
    const faults = await this.database.findFaults();
    assert.deepEqual(faults, [], 'the books are wrong');
  }

  async close(): Promise<void> {
    for (const process of this.#others) await process.close();
    await this.database.release(this.process);
  }

  /** All gateways are heard of at the new time at once: none is silent in between, which another would notice. */
  async #beHeardOf(): Promise<void> {
    await this.database.client.query(`UPDATE inf_gw.nodes SET alive_us = ${this.#nowUs} WHERE alive_us > 0;
      UPDATE stage.world SET us = ${this.#nowUs}`);
  }

  get #nowUs(): number {
    return Math.round(this.#clock.wall * 1_000);
  }

  async #setTime(): Promise<void> {
    await this.database.client.query('UPDATE stage.world SET us = $1', [this.#nowUs]);
  }
}

function addressOf(url: string) {
  const parsed = parsePostgresAddress(url, '/');
  assert.ok(parsed.kind === 'address');
  return parsed.address;
}

function lasting(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !VOLATILE.has(name)));
}

/** Integers as the file's: bigints. */
function parserOf(type: number, format?: 'text' | 'binary') {
  return type === pg.types.builtins.INT8 ? BigInt : pg.types.getTypeParser(type, format);
}
