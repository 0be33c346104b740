/**
 * A gateway's ledger in small: the code of the ledger thread with its engine, behind the channels of two workers, one of them in
 * its thread, on a clock that only the test moves and a disk that fails and ends where told. What clients see of it goes to a witness.
 */
import assert from 'node:assert/strict';
import { type EventEmitter, once } from 'node:events';
import { cpSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { audit } from '../../src/audit/audit.ts';
import { hashKey, mintKey } from '../../src/core/api-key.ts';
import { Port } from '../../src/core/port.ts';
import { LedgerClient, RemoteLedger } from '../../src/ledger/calls.ts';
import type { LedgerSettings } from '../../src/ledger/ledger.ts';
import { LedgerThread } from '../../src/ledger/ledger-thread.ts';
import { LocalEngine } from '../../src/ledger/local/local-engine.ts';
import type { Askable, CommandPort, Tellable, Told as ToldByLedger } from '../../src/ledger/protocol.ts';
import { NO_TERMS, type UserLimits } from '../../src/state/keys.ts';
import { NO_USER_LIMITS, userId } from '../../src/state/levels.ts';
import { openState } from '../../src/state/open.ts';
import { openDatabase, type Sqlite } from '../../src/state/sqlite/database.ts';
import { LedgerStore } from '../../src/state/sqlite/ledger-store.ts';
import type { OpenState } from '../../src/state/state.ts';
import { daysAgo, drawPast, writePast } from '../support/past.ts';
import { HandClock, NOON } from '../unit/ledger/bench.ts';
import { Disk, type HandSync, type Point } from './disk.ts';
import { type Seen, type Terms, type Told, Witness } from './witness.ts';

/** More than a history has credit for. */
const AMPLE_NANOS = 1_000_000n;
const OF_KEY: Terms = { state: 'enabled', rpm: 4, concurrency: 3, allowlist: null, totalNanos: AMPLE_NANOS };
const OF_GROUP: Terms = { ...OF_KEY, rpm: 6, concurrency: 5, totalNanos: 80n };
const OF_USER: Terms = { ...OF_KEY, rpm: 3, concurrency: 2, totalNanos: 30n };
/** What all requests are for, and what they are not. */
export const MODEL = 'mock/a';
export const OTHER_MODEL = 'mock/b';
export const KEYS = 2;
/** The owners of terms are the keys, the group that these are in, and all of its end users together. */
export const GROUP = KEYS;
export const ALL_USERS = KEYS + 1;
export const USERS = ['alice', 'bob'] as const;
export const WORKERS = 2;
const RETENTION_MS = 86_400_000;
const TOTAL = 'total';
const SETTINGS: LedgerSettings = {
  rpm: 600,
  concurrency: 60,
  tpm: 2_000_000,
  modelsRpm: 6_000,
  creditEnforced: true,
  journalRetentionMs: RETENTION_MS,
};
const TERMS_OF_KEY = { ...NO_TERMS, ...limitsOf(OF_KEY) };
const ALL_USAGE = { by: 'key' as const, keyId: undefined, model: undefined, sinceMs: undefined, untilMs: undefined };
/** More turns than a ledger takes to close, even if it tries in vain. */
const CLOSING_TURNS = 1_000;
/** Between two attempts of the ledger at a disk that fails. */
export const RETRY_MS = 100;
/** More attempts than it takes to notice that it fails no longer. */
const MENDING_TURNS = 20;
/** What the hold of a request covers, and what it grows by. */
const OUTPUT_TOKENS = 20;

/** A state with keys and nothing else, which each world copies. */
let empty: Promise<{ readonly folder: string; readonly keys: readonly Key[]; readonly groupId: string }> | undefined;

interface Key {
  readonly id: string;
  readonly hash: string;
}

async function makeEmpty() {
  const folder = mkdtempSync(join(tmpdir(), 'inf-gw-world-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const state = await openState({ kind: 'file', path: join(folder, 'state.db') }, 'full');
  const userLimits = { ...NO_USER_LIMITS, ...limitsOf(OF_USER) };
  const made = await state.groups.create({ ...limitsOf(OF_GROUP), name: 'dev', userLimits }, NOON);
  assert.ok(made.kind === 'done');
  const groupId = made.group.id;
  const keys: Key[] = [];
  for (let index = 0; index < KEYS; index++) {
    const secret = mintKey();
    const change = await state.keys.create(secret, { ...TERMS_OF_KEY, groupId, name: `key ${index}` }, NOON);
    assert.equal(change.kind, 'done');
    if (change.kind === 'done') keys.push({ id: change.key.id, hash: hashKey(secret) });
  }
  await state.close();
  return { folder, keys, groupId };
}

function limitsOf({ rpm, concurrency, totalNanos }: Terms) {
  return { rpm, concurrency, budgets: [{ period: TOTAL, limitNanos: totalNanos }] };
}

export class World {
  readonly clock = new HandClock();
  readonly witness = new Witness(OF_KEY, KEYS, OF_GROUP, OF_USER);
  readonly #root = mkdtempSync(join(tmpdir(), 'inf-gw-world-'));
  readonly #keys: readonly Key[];
  readonly #groupId: string;
  #processes = 0;
  #requests = 0;
  #process!: Process;

  private constructor(keys: readonly Key[], groupId: string) {
    this.#keys = keys;
    this.#groupId = groupId;
  }

  /** With that many requests of the first key in the journal, all older than it is kept. */
  static async open(past = 0): Promise<World> {
    empty ??= makeEmpty();
    const { folder, keys, groupId } = await empty;
    const world = new World(keys, groupId);
    const files = join(world.#root, 'empty');
    cpSync(folder, files, { recursive: true });
    if (past > 0) world.#writePast(join(files, 'state.db'), past);
    await world.#start(files);
    return world;
  }

  #writePast(path: string, count: number): void {
    const requests = drawPast([this.#keys[0]?.id as string], count, daysAgo(90, NOON), daysAgo(2, NOON));
    const { database } = openDatabase(path);
    writePast(database, requests);
    database.close();
    this.witness.hasPast(requests.map(({ costNanos }) => costNanos));
  }

  /** The rows of the journal. */
  rows(): number {
    const database = new Database(this.disk.path, { readonly: true });
    const { count } = database.prepare('SELECT count(*) AS count FROM journal').get() as { count: number };
    database.close();
    return count;
  }

  get disk(): Disk {
    return this.#process.disk;
  }

  /** A worker asks for a request to be admitted. */
  ask(worker: number, key: number, holdNanos: bigint, stream: boolean, user?: string): void {
    const client = this.#client(worker);
    const requestId = `req_${String(++this.#requests).padStart(4, '0')}`;
    const [model, outputTokens] = [MODEL, OUTPUT_TOKENS];
    const request = { id: requestId, worker, key, user, model, outputTokens };
    const seen = this.witness.ask(request, holdNanos, this.clock.wallMs());
    const tokens = { reservedTokens: 10, inputTokens: 10, outputTokens };
    const { hash: keyHash } = this.#keys[key] as Key;
    const [process, disk, isInPlace] = [this.#process, this.disk, this.disk.isInPlace];
    client.admit({ requestId, keyHash, user, model, ...tokens, holdNanos, stream }).then(
      async (admission) => {
        const nowMs = this.clock.wallMs();
        if (!admission.admitted) return process.tell(() => this.witness.refused(seen, admission.refusal, nowMs));
        process.tell(() => {
          assert.ok(isInPlace || disk.isInPlace, `${seen.id} is admitted in a file that was moved away`);
          this.witness.admitted(seen, nowMs);
        });
        // As a worker does before the first byte of an answer goes out.
        await client.flushed(client.commit);
        seen.isSafe = true;
      },
      (error: Error) => {
        seen.isRefused = true;
        process.tell(() => assert.ok(process.fault, `${seen.id} fails though all can be written: ${error.message}`));
      },
    );
  }

  settle(seen: Seen, costNanos: bigint): void {
    seen.cost = costNanos;
    const usage = { promptTokens: 6, cachedTokens: 0, completionTokens: 4 };
    const end = { outcome: 'ok', source: 'reported', completionId: undefined, firstByteMs: undefined } as const;
    void this.#client(seen.worker)
      .settle({ requestId: seen.id, ...end, usage, costNanos })
      .then(() => {
        seen.isSettled = true;
      });
  }

  grow(seen: Seen, moreNanos: bigint): void {
    const before = seen.mostNanos;
    seen.mostNanos = before + moreNanos;
    void this.#client(seen.worker)
      .grow({ requestId: seen.id, outputTokens: seen.outputTokens + OUTPUT_TOKENS, holdNanos: seen.mostNanos })
      .then((grant) => {
        seen.mostNanos = grant.granted ? grant.holdNanos : before;
        seen.leastNanos = seen.mostNanos;
        // Of the tokens, those that are paid for.
        seen.outputTokens += Number((BigInt(OUTPUT_TOKENS) * (seen.mostNanos - before)) / moreNanos);
      });
  }

  freeSlot(seen: Seen): void {
    seen.hasSlot = false;
    this.#client(seen.worker).freeSlot(seen.id);
  }

  addCredit(nanos: bigint): Promise<void> {
    return this.#command(async ({ account }) => {
      await account.enter(nanos, 'test', this.clock.wallMs());
      this.witness.creditNanos += nanos;
    });
  }

  edit(owner: number, change: Partial<Terms>): Promise<void> {
    return this.#command(async ({ keys, groups }) => {
      const book = owner < GROUP ? keys : groups;
      const id = this.#keys[owner]?.id ?? this.#groupId;
      const { state, allowlist, totalNanos, ...rates } = change;
      const budgets = totalNanos === undefined ? undefined : [{ period: TOTAL, limitNanos: totalNanos }];
      const nowMs = this.clock.wallMs();
      if (state !== undefined) await book.setState(id, state);
      else if (allowlist !== undefined) await book.editAllowlist(id, () => allowlist);
      else if (owner === ALL_USERS) {
        const edit = (now: UserLimits | null) => ({
          ...(now ?? NO_USER_LIMITS),
          ...rates,
          ...(budgets && { budgets }),
        });
        await book.setLimits(id, { userLimits: edit }, nowMs);
      } else await book.setLimits(id, { ...rates, ...(budgets && { budgets: () => budgets }) }, nowMs);
      this.witness.edited(owner, change);
    });
  }

  /** An operator's command, in another process. It syncs what the ledger has committed with what is its own. */
  async #command(work: (state: OpenState) => Promise<void>): Promise<void> {
    if (this.disk.trouble !== undefined) return;
    while (this.#process.sync.isRunning && !this.disk.hasEnded) {
      this.sync();
      await this.quiet();
    }
    if (this.disk.hasEnded) return;
    await work(this.#process.operator);
    this.disk.noteSynced();
  }

  /** The sync that is running ends. */
  sync(): void {
    this.#process.sync.finish();
  }

  advance(milliseconds: number): void {
    this.clock.advance(milliseconds);
    mock.timers.tick(Math.max(1, Math.round(milliseconds)));
  }

  /** Resolves when the ledger has decided what it can, or its process has ended. Throws what the witness has found wrong. */
  async quiet(): Promise<void> {
    await this.#process.quiet(this.#keys[0]?.hash as string);
    this.#process.assertRight();
  }

  /** The disk is mended. Unless it ends, the process notices, and what was sent to it is answered. */
  async mend(): Promise<void> {
    this.disk.trouble = undefined;
    const isWell = () => this.#process.fault === undefined && this.witness.unsettled.length === 0;
    for (let turn = 0; !this.disk.hasEnded && !isWell(); turn++) {
      const left = `${this.#process.fault ?? 'no fault'}, ${this.witness.unsettled.length} ends are not settled`;
      assert.ok(turn < MENDING_TURNS, `though the disk is mended: ${left}`);
      this.advance(RETRY_MS);
      this.sync();
      await this.quiet();
    }
  }

  /**
   * Kills the process, unless it has ended, and starts the next one on what is left; that is killed as well if it comes to
   * `again` before it has recovered. Throws if anything is wrong.
   */
  async restart(downMs: number, again?: Point): Promise<void> {
    const { how, remains } = this.disk.end('kill');
    await this.#process.discard();
    this.clock.advance(downMs);
    this.clock.monotonic = 77_000;
    if (!(await this.#start(remains, again))) await this.#start(this.disk.end('kill').remains);
    const { requests, keys, usage, account, levels } = this.#process.operator;
    const rows = new Map<string, Told>();
    for (const id of this.witness.undecided) {
      const { end } = (await requests.find(id)) ?? {};
      if (end === undefined) continue;
      const { costNanos, source, completionTokens } = end;
      rows.set(id, { costNanos, outputTokens: completionTokens, isHeld: source === 'held' });
    }
    this.witness.recovered(how, rows, this.clock.wallMs(), this.clock.wallMs() - RETENTION_MS);
    const [records, { rows: sums }] = [await keys.list({ withDeleted: true }), await usage.report(ALL_USAGE)];
    for (const [index, { id }] of this.#keys.entries()) {
      const ofKey = (each: { readonly keyId: string | undefined }) => each.keyId === id;
      this.witness.listed(
        index,
        records.find((record) => record.id === id),
        sums.find(ofKey),
      );
    }
    for (const user of [undefined, ...USERS]) {
      const id = user === undefined ? this.#groupId : userId(this.#groupId, user);
      const spent = await levels.spentBy([{ id, budgets: limitsOf(OF_GROUP).budgets }], this.clock.wallMs());
      this.witness.charged(user === undefined ? GROUP : ALL_USERS, user, spent.get(id)?.[0]?.chargedNanos ?? 0n);
    }
    const { balanceNanos, heldNanos } = await account.balance();
    assert.deepEqual(
      [balanceNanos, heldNanos],
      [this.witness.creditNanos - this.witness.spentNanos, 0n],
      'balance and holds',
    );
  }

  /** The process ends in an orderly way. */
  async stop(): Promise<void> {
    await this.#process.close();
  }

  async close(): Promise<void> {
    this.disk.end('kill');
    await this.#process.discard();
    rmSync(this.#root, { recursive: true });
  }

  #client(worker: number): LedgerClient {
    return this.#process.clients[worker] as LedgerClient;
  }

  /** Starts a process on these files. Returns false if it has ended before it served. */
  async #start(files: string, endAt?: Point): Promise<boolean> {
    const folder = join(this.#root, `process-${++this.#processes}`);
    renameSync(files, folder);
    if (this.#processes > 1) assert.deepEqual(differencesIn(join(folder, 'state.db')), [], 'the audit of what is left');
    const { next, isServing } = await Process.start(folder, this.clock, endAt);
    this.#process = next;
    return isServing;
  }
}

/** A client that hears nothing more once its process has ended. */
class Survivor extends LedgerClient {
  readonly #disk: Disk;

  constructor(disk: Disk, ledger: CommandPort, onTold: (told: ToldByLedger) => void) {
    super(ledger, onTold);
    this.#disk = disk;
  }

  override answer(...given: Parameters<LedgerClient['answer']>): void {
    if (!this.#disk.hasEnded) super.answer(...given);
  }

  override deliver(...given: Parameters<LedgerClient['deliver']>): void {
    if (!this.#disk.hasEnded) super.deliver(...given);
  }

  override tell(...told: ToldByLedger): void {
    if (!this.#disk.hasEnded) super.tell(...told);
  }
}

/** One process of the gateway. */
class Process {
  readonly disk: Disk;
  readonly operator: OpenState;
  readonly sync: HandSync;
  clients: readonly LedgerClient[] = [];
  readonly #database: Sqlite;
  #channels: readonly MessagePort[] = [];
  #thread: LedgerThread | undefined;
  /** An internal error ends the thread. */
  readonly #died = Promise.withResolvers<never>();
  /** What the ledger says is wrong with its disk. */
  fault: string | undefined;
  #wrong: unknown;
  #discarded: Promise<void> | undefined;

  private constructor(disk: Disk, operator: OpenState, sync: HandSync, database: Sqlite) {
    this.disk = disk;
    this.operator = operator;
    this.sync = sync;
    this.#database = database;
    this.#died.promise.catch(() => {});
  }

  /** The first worker is in the ledger's thread, the others are behind ports. */
  #serve(engine: LocalEngine): void {
    const thread = new LedgerThread({ orphans: () => {}, forwarded: () => {} }, engine, this.#died.reject);
    this.#thread = thread;
    const noteFault = (told: ToldByLedger) => {
      if (told[0] !== 'replies') this.fault = told[1];
    };
    const main = new Survivor(this.disk, thread, noteFault);
    thread.start(main);
    const channels = Array.from({ length: WORKERS - 1 }, () => new MessageChannel());
    this.#channels = channels.map(({ port1 }) => port1);
    const others = this.#channels.map((channel) => {
      const port = new Port<Tellable, Askable>(channel, 'the ledger');
      const client = new Survivor(this.disk, new RemoteLedger(port), noteFault);
      port.serve({ told: (...told) => client.tell(...told) });
      return client;
    });
    for (const { port2 } of channels) thread.connect(port2);
    this.clients = [main, ...others];
  }

  static async start(
    folder: string,
    clock: HandClock,
    endAt?: Point,
  ): Promise<{ readonly next: Process; readonly isServing: boolean }> {
    const disk = new Disk(folder);
    mock.timers.enable({ apis: ['setTimeout'] });
    const now = performance.now.bind(performance);
    mock.method(performance, 'now', () => now() + disk.waitedMs);
    const { database, created } = openDatabase(disk.path);
    const sync = disk.watch(database);
    const store = new LedgerStore(database, created, sync);
    const engine = new LocalEngine(store, SETTINGS, clock);
    const operator = await openState({ kind: 'file', path: disk.path }, 'full');
    const next = new Process(disk, operator, sync, database);
    if (endAt !== undefined) disk.endAt('kill', endAt);
    try {
      await engine.recover();
    } catch (error) {
      if (!disk.hasEnded) throw error;
      await next.discard();
      return { next, isServing: false };
    }
    next.#serve(engine);
    return { next, isServing: true };
  }

  /** Runs a check of something that was received. */
  tell(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#wrong ??= error;
    }
  }

  assertRight(): void {
    if (this.#wrong !== undefined) throw this.#wrong;
  }

  /** What is asked last is answered after all that can be decided, and in this thread before what was decided is flushed. */
  async quiet(keyHash: string): Promise<void> {
    // A ledger in trouble tries its disk where it has nothing else to do.
    await setImmediate();
    const answers = this.clients.map((client) => client.identify(keyHash).catch(() => {}));
    await Promise.race([Promise.all(answers), this.disk.ended, this.#died.promise]);
    await setImmediate();
  }

  async close(): Promise<void> {
    let isClosed = false;
    void this.#thread?.close().then(() => {
      isClosed = true;
    });
    for (let turn = 0; !isClosed && !this.disk.hasEnded; turn++) {
      assert.ok(turn < CLOSING_TURNS, 'the ledger does not close');
      await Promise.race([setImmediate(), this.#died.promise]);
      this.sync.finish();
      mock.timers.tick(100);
    }
  }

  /** Forgets the process, which has ended. */
  discard(): Promise<void> {
    this.#discarded ??= this.#discard();
    return this.#discarded;
  }

  /** It must be quiet before its file is closed. */
  async #discard(): Promise<void> {
    const closed = this.#channels.map((channel) => once(channel as unknown as EventEmitter, 'close'));
    for (const channel of this.#channels) channel.close();
    await Promise.all(closed);
    for (let turn = 0; turn < 3; turn++) await setImmediate();
    mock.timers.reset();
    mock.restoreAll();
    await this.operator.close();
    if (this.#database.open) this.#database.close();
  }
}

function differencesIn(path: string): readonly string[] {
  return audit(path, { onProgress: () => {} }).flatMap(({ differences }) => differences);
}
