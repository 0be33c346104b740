/** A state of either kind for tests of the operator's side, and the ledger's part of it. */
import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { mintKey } from '../../src/core/api-key.ts';
import type { Settlement } from '../../src/core/settlement.ts';
import type { HoldRow } from '../../src/state/journal.ts';
import type { KeyChange, KeyRecord, NewKey } from '../../src/state/keys.ts';
import type { GroupRecord, NewGroup } from '../../src/state/levels.ts';
import { openState } from '../../src/state/open.ts';
import type { OpenState } from '../../src/state/state.ts';
import type { RefusalCount } from '../../src/state/usage.ts';
import { PostgresServer } from '../support/postgres.ts';
import { DatabaseStage, locationOf } from './database-stage.ts';
import { FileStage } from './file-stage.ts';

/** Noon, in the middle of a month. */
export const NOON = Date.UTC(2026, 10, 21, 12);
export const USD = 1_000_000_000n;
const NO_LIMITS = { rpm: null, tpm: null, concurrency: null, spendLimitNanos: null, allowlist: null };

export interface Cleanup {
  after(work: () => void | Promise<void>): void;
}

export type End = Omit<Settlement, 'requestId'>;

/** One state, empty at first. */
export interface Stage {
  readonly state: OpenState;
  /** Opens the state once more, as another process would. It is closed in the end. */
  open(): Promise<OpenState>;
  /** What the ledger writes when it admits a request. */
  hold(hold: HoldRow): Promise<void>;
  /** What it writes when the request ends. */
  settle(hold: HoldRow, end: End, wallMs: number): Promise<void>;
  refuse(refusals: readonly RefusalCount[]): Promise<void>;
  /** Drops the rows of requests that were admitted before that, as the retention does. */
  dropOldRows(beforeMs: number): Promise<void>;
  /** Runs a statement that names its tables as `{journal}`. */
  write(statement: string): Promise<void>;
  /** Everything that is stored, by table. */
  dump(): Promise<Readonly<Record<string, readonly unknown[]>>>;
  /** Throws unless balance, sums and journal agree. */
  assertSound(): Promise<void>;
}

export type OpenStage = (test: Cleanup) => Promise<Stage>;

/** Defines the same tests for a state file and for a database. */
export function onEachStore(define: (open: OpenStage) => void): void {
  describe('in a file:', () => define(async (test) => FileStage.open(test)));
  describe('in a database:', () => {
    let stage: DatabaseStage;
    before(async () => {
      stage = await DatabaseStage.connect(await createTables());
    });
    after(() => stage.close());
    define((test) => stage.emptiedFor(test));
  });
}

/** The name of a database with all tables, made once for all files of this process. */
let original: Promise<string> | undefined;

/** A database of its own, with all tables. */
async function createTables(): Promise<string> {
  const server = await PostgresServer.shared();
  original ??= server.createDatabase().then(async (url) => {
    await (await openState(locationOf(url), 'full')).close();
    return new URL(url).pathname.slice(1);
  });
  return server.createDatabase(await original);
}

/** The key after a change that must succeed. */
export function done(change: KeyChange): KeyRecord {
  assert.equal(change.kind, 'done');
  return (change as Extract<KeyChange, { kind: 'done' }>).key;
}

let made = 0;

/** Creates a key, later than the one before: ids are in order of time to the millisecond. */
export async function makeKey({ keys }: OpenState, settings: Partial<NewKey> = {}): Promise<KeyRecord> {
  const key = { ...NO_LIMITS, name: `key ${++made}`, ...settings };
  return done(await keys.create(mintKey(), key, NOON + made));
}

export async function makeGroup({ groups }: OpenState, settings: Partial<NewGroup> = {}): Promise<GroupRecord> {
  const change = await groups.create({ name: `group ${++made}`, ...settings }, NOON + made);
  assert.ok(change.kind === 'done', change.kind);
  return change.group;
}

/** A request of a key in flight. */
export function holdOf(keyId: string, changes: Partial<HoldRow> = {}): HoldRow {
  const tokens = { inputTokens: 10, outputTokens: 20 };
  const requestId = `req_${++made}`;
  return { requestId, keyId, model: 'mock/echo', admittedAtMs: NOON, ...tokens, holdNanos: 0n, ...changes };
}

const END: End = {
  outcome: 'ok',
  usage: { promptTokens: 6, cachedTokens: 0, completionTokens: 4 },
  source: 'reported',
  costNanos: 0n,
  completionId: undefined,
  firstByteMs: undefined,
};

/** Admits and ends a request. Returns its id. */
export async function enter(stage: Stage, hold: HoldRow, end: Partial<End> = {}, afterMs = 250): Promise<string> {
  await stage.hold(hold);
  await stage.settle(hold, { ...END, ...end }, hold.admittedAtMs + afterMs);
  return hold.requestId;
}

/** Enters a request that a crash left open: it is charged as held. */
export function enterHeld(stage: Stage, hold: HoldRow): Promise<string> {
  const usage = { promptTokens: hold.inputTokens, cachedTokens: 0, completionTokens: hold.outputTokens };
  return enter(stage, hold, { outcome: 'interrupted', source: 'held', usage, costNanos: hold.holdNanos });
}
