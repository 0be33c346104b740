/** The ledger on a state file, for the conformance suite. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { audit } from '../../src/audit/audit.ts';
import type { LedgerSettings, LedgerSummary } from '../../src/ledger/ledger.ts';
import { LocalEngine } from '../../src/ledger/local/local-engine.ts';
import type { Command } from '../../src/ledger/protocol.ts';
import { openState } from '../../src/state/open.ts';
import { openDatabase, type Sqlite } from '../../src/state/sqlite/database.ts';
import { LedgerStore } from '../../src/state/sqlite/ledger-store.ts';
import type { OpenState } from '../../src/state/state.ts';
import { assertBooksBalance } from '../support/books.ts';
import type { HandClock, Row, Store } from './bench.ts';

const TABLES = [
  'holds',
  'journal',
  'usage_days',
  'usage_months',
  'credit_entries',
  'keys',
  'account',
  'budgets',
  'budget_steps',
];

/** Opens an empty file. */
export async function openLocalStore(settings: LedgerSettings, clock: HandClock): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), 'inf-gw-ledger-'));
  const operator = await openState({ kind: 'file', path: join(folder, 'state.db') }, 'full');
  const store = new LocalStore(folder, operator, settings, clock);
  await store.start();
  return store;
}

class LocalStore implements Store {
  readonly operator: OpenState;
  engine!: LocalEngine;
  summary!: LedgerSummary;
  readonly #folder: string;
  readonly #path: string;
  readonly #settings: LedgerSettings;
  readonly #clock: HandClock;
  /** The engine's connection. */
  #database!: Sqlite;

  constructor(folder: string, operator: OpenState, settings: LedgerSettings, clock: HandClock) {
    this.#folder = folder;
    this.#path = join(folder, 'state.db');
    this.operator = operator;
    this.#settings = settings;
    this.#clock = clock;
  }

  async start(): Promise<void> {
    const { database, created } = openDatabase(this.#path);
    this.#database = database;
    const store = new LedgerStore(database, created);
    this.engine = new LocalEngine(store, this.#settings, this.#clock);
    this.summary = this.engine.recover();
  }

  async advance(milliseconds: number): Promise<void> {
    this.#clock.advance(milliseconds);
  }

  async setClock(wallMs: number): Promise<void> {
    this.#clock.wall = wallMs;
  }

  async step(milliseconds: number): Promise<void> {
    this.#clock.wall += milliseconds;
  }

  async crash(downMs: number): Promise<void> {
    this.#database.close();
    this.#clock.advance(downMs);
    // A new process has a monotonic clock of its own.
    this.#clock.monotonic = 77_000;
    await this.start();
  }

  async restart(): Promise<void> {
    await this.engine.close();
    await this.start();
  }

  async takeOver(milliseconds: number): Promise<void> {
    const beganMs = 123_456_789;
    const handover = deserialize(serialize(this.engine.handOver(beganMs)));
    this.#database.close();
    this.#clock.advance(milliseconds);
    this.#clock.monotonic += this.#clock.monotonic > 1_000_000 ? -900_000 : 900_000;
    const { database, created } = openDatabase(this.#path);
    this.#database = database;
    this.engine = new LocalEngine(new LedgerStore(database, created), this.#settings, this.#clock);
    this.summary = this.engine.adopt(handover, beganMs + milliseconds);
  }

  async whileBroken(work: () => Promise<void>): Promise<void> {
    const triggers = ['hold_batches', 'journal'].map(
      (table) =>
        `CREATE TEMP TRIGGER broken_${table} AFTER INSERT ON ${table} BEGIN SELECT raise(ABORT, 'broken'); END`,
    );
    this.#database.exec(triggers.join(';'));
    try {
      await work();
    } finally {
      this.#database.exec('DROP TRIGGER broken_hold_batches; DROP TRIGGER broken_journal');
    }
  }

  async written(): Promise<void> {}

  inOrder(commands: readonly Command[]): Command[] {
    return [...commands];
  }

  async rows(table: 'holds' | 'journal'): Promise<Row[]> {
    return this.#read(`SELECT * FROM ${table} ORDER BY request_id`);
  }

  async count(table: string): Promise<number> {
    return this.#read(`SELECT * FROM ${table}`).length;
  }

  async dump(): Promise<unknown> {
    return TABLES.map((table) => this.#read(`SELECT * FROM ${table} ORDER BY 1, 2`));
  }

  async assertBooks(): Promise<void> {
    assertBooksBalance(this.#database);
    const checks = audit(this.#path, { onProgress: () => {} });
    assert.deepEqual(
      checks.flatMap(({ differences }) => differences),
      [],
    );
  }

  async close(): Promise<void> {
    await this.operator.close();
    if (this.#database.open) this.#database.close();
    rmSync(this.#folder, { recursive: true });
  }

  #read(text: string): Row[] {
    return this.#database.prepare(text).safeIntegers().all() as Row[];
  }
}
