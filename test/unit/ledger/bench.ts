/**
 * A ledger engine on a state file of its own, with a manual clock and an operator's connection to
 * the file.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { hashKey, mintKey } from '../../../src/core/api-key.ts';
import type { Clock } from '../../../src/core/clock.ts';
import type { RateFigures } from '../../../src/core/limits.ts';
import type { Settlement } from '../../../src/core/settlement.ts';
import type {
  Admission,
  AdmissionRequest,
  Identity,
  LedgerSettings,
  LedgerSummary,
  ListingAdmission,
  Refusal,
} from '../../../src/ledger/ledger.ts';
import { LocalEngine } from '../../../src/ledger/local/local-engine.ts';
import type { BookAtOnce } from '../../../src/state/book.ts';
import type { KeyRecord, NewKey } from '../../../src/state/keys.ts';
import { bookOf } from '../../../src/state/sqlite/book.ts';
import { openDatabase, type Sqlite } from '../../../src/state/sqlite/database.ts';
import { LedgerStore } from '../../../src/state/sqlite/ledger-store.ts';

/** Noon, in the middle of a month. */
export const NOON = Date.UTC(2026, 10, 21, 12);
export const USD = 1_000_000_000n;

/** The part of `node:test` that cleans up. */
export interface Cleanup {
  after(work: () => void): void;
}

export class HandClock implements Clock {
  wall = NOON;
  monotonic = 5_000_000;

  /** Whole milliseconds, as Date.now() gives them. */
  wallMs(): number {
    return Math.floor(this.wall);
  }

  monotonicMs(): number {
    return this.monotonic;
  }

  advance(milliseconds: number): void {
    this.wall += milliseconds;
    this.monotonic += milliseconds;
  }
}

export interface BenchKey {
  readonly id: string;
  readonly hash: string;
  readonly secret: string;
  readonly name: string;
}

export const DEFAULTS: LedgerSettings = {
  rpm: 600,
  tpm: 2_000_000,
  concurrency: 60,
  modelsRpm: 6_000,
  creditEnforced: true,
  journalRetentionMs: undefined,
};
export const NO_LIMITS = { rpm: null, tpm: null, concurrency: null, spendLimitNanos: null, allowlist: null };

export class Bench {
  readonly clock: HandClock;
  readonly options: LedgerSettings;
  /** The state file. */
  readonly path: string;
  /** The operator's connection, as a command would open it. */
  readonly operator: {
    database: Sqlite;
    keys: BookAtOnce['keys'];
    account: BookAtOnce['account'];
    usage: BookAtOnce['usage'];
  };
  /** The engine's connection. */
  database!: Sqlite;
  engine!: LocalEngine;
  summary!: LedgerSummary;
  #nextRequest = 1;

  constructor(directory: string, options: Partial<LedgerSettings>, clock: HandClock) {
    this.clock = clock;
    this.options = { ...DEFAULTS, ...options };
    this.path = join(directory, 'state.db');
    this.start();
    const { database } = openDatabase(this.path);
    this.operator = {
      database,
      keys: bookOf(database).keys,
      account: bookOf(database).account,
      usage: bookOf(database).usage,
    };
  }

  /**
   * Opens the file as a gateway does at its start. After `database.close()`, this is a restart
   * after a crash.
   */
  start(): void {
    const { database, created } = openDatabase(this.path);
    this.database = database;
    this.engine = new LocalEngine(new LedgerStore(database, created), this.options, this.clock);
    this.summary = this.engine.recover();
  }

  /** A new engine, on a clock of its own, takes over from the present one, which takes so long. */
  takeOver(milliseconds: number): void {
    const beganMs = 123_456_789;
    const handover = deserialize(serialize(this.engine.handOver(beganMs)));
    this.database.close();
    this.clock.advance(milliseconds);
    this.clock.monotonic += this.clock.monotonic > 1_000_000 ? -900_000 : 900_000;
    const { database, created } = openDatabase(this.path);
    this.database = database;
    this.engine = new LocalEngine(new LedgerStore(database, created), this.options, this.clock);
    this.summary = this.engine.adopt(handover, beganMs + milliseconds);
  }

  close(): void {
    this.operator.database.close();
    this.database.close();
  }

  newKey(settings: Partial<NewKey> = {}): BenchKey {
    const secret = mintKey();
    const name = settings.name ?? `key ${this.operator.keys.list({ withDeleted: true }).length + 1}`;
    const change = this.operator.keys.create(secret, { ...NO_LIMITS, ...settings, name }, this.clock.wallMs());
    if (change.kind !== 'done') throw new Error(`no key: ${change.kind}`);
    return { id: change.key.id, hash: hashKey(secret), secret, name };
  }

  record(key: BenchKey): KeyRecord {
    return this.operator.keys.find(key.id) as KeyRecord;
  }

  addCredit(nanos: bigint): void {
    this.operator.account.enter(nanos, 'test', this.clock.wallMs());
  }

  request(key: BenchKey, changes: Partial<AdmissionRequest> = {}): AdmissionRequest {
    return {
      requestId: `req_${this.#nextRequest++}`,
      keyHash: key.hash,
      model: 'mock/echo',
      reservedTokens: 10,
      inputTokens: 10,
      outputTokens: 20,
      holdNanos: 0n,
      ...changes,
    };
  }

  decide(request: AdmissionRequest): Admission {
    return this.engine.process([{ kind: 'admit', request }])[0] as Admission;
  }

  /** Admits a request and returns its id. Throws if it is refused. */
  admit(key: BenchKey, changes: Partial<AdmissionRequest> = {}): string {
    const request = this.request(key, changes);
    const admission = this.decide(request);
    if (!admission.admitted) throw new Error(`refused: ${admission.refusal.reason}`);
    return request.requestId;
  }

  /** Returns the refusal of a request. Throws if it is admitted. */
  refuse(key: BenchKey, changes: Partial<AdmissionRequest> = {}): Refusal {
    const admission = this.decide(this.request(key, changes));
    if (admission.admitted) throw new Error('admitted');
    return admission.refusal;
  }

  settlement(requestId: string, changes: Partial<Settlement> = {}): Settlement {
    const usage = { promptTokens: 6, cachedTokens: 0, completionTokens: 4 };
    return {
      requestId,
      outcome: 'ok',
      usage,
      source: 'reported',
      costNanos: 0n,
      completionId: undefined,
      firstByteMs: undefined,
      ...changes,
    };
  }

  settle(requestId: string, changes: Partial<Settlement> = {}): RateFigures {
    return this.engine.process([{ kind: 'settle', settlement: this.settlement(requestId, changes) }])[0] as RateFigures;
  }

  identify(key: BenchKey): Identity {
    return this.engine.process([{ kind: 'identify', keyHash: key.hash }])[0] as Identity;
  }

  list(key: BenchKey): ListingAdmission {
    return this.engine.process([{ kind: 'admit_listing', keyHash: key.hash }])[0] as ListingAdmission;
  }

  /** All rows of a table. */
  rows(
    table: 'holds' | 'journal' | 'usage_days' | 'usage_months' | 'usage_name_days' | 'credit_entries' | 'keys',
  ): Row[] {
    return this.operator.database.prepare(`SELECT * FROM ${table}`).safeIntegers().all() as Row[];
  }

  /** The whole content of the file, to compare before and after. */
  dump(): unknown {
    const tables = ['holds', 'journal', 'usage_days', 'usage_months', 'credit_entries', 'keys'] as const;
    return { balance: this.operator.account.balance(), tables: tables.map((table) => this.rows(table)) };
  }
}

export type Row = Readonly<Record<string, bigint | string | null>>;

/** A bench in a temporary directory, which is removed when the test ends. */
export function openBench(test: Cleanup, options: Partial<LedgerSettings> = {}, clock = new HandClock()): Bench {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-ledger-'));
  const bench = new Bench(directory, options, clock);
  test.after(() => {
    bench.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return bench;
}
