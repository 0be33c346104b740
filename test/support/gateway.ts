/**
 * A real gateway on a port of its own, with a state file in a directory of its own and a fake
 * upstream behind it.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { loadConfig } from '../../src/config/load.ts';
import { mintKey } from '../../src/core/api-key.ts';
import type { Explanation } from '../../src/core/explanation.ts';
import { parseUsd } from '../../src/core/money.ts';
import { type Gateway, startGateway } from '../../src/gateway/gateway.ts';
import type { GracePeriods } from '../../src/gateway/worker.ts';
import { openLog } from '../../src/observe/log.ts';
import type { BookAtOnce } from '../../src/state/book.ts';
import type { KeyState, OwnLimits } from '../../src/state/keys.ts';
import { type NewGroup, NO_LEVEL_TERMS, type UserRecord } from '../../src/state/levels.ts';
import { bookOf } from '../../src/state/sqlite/book.ts';
import { openDatabase, type Sqlite } from '../../src/state/sqlite/database.ts';
import { TokenCounter } from '../../src/tokens/counter.ts';
import { assertBooksBalance, countHolds } from './books.ts';
import { FakeUpstream } from './fake-upstream.ts';
import { RawConnection, rawCompletion } from './raw.ts';
import { type KeySettings, makeKey, onlyRowOf, type Row, rowsOf, type TestKey } from './state.ts';
import { until } from './wait.ts';
import { inFlightByThread, withNewThreads } from './workers.ts';

export type { Row, TestKey } from './state.ts';

/** Secrets of the operator. No client may receive them. */
export const UPSTREAM_KEY = 'upstream-secret-canary-4711';
export const UPSTREAM_HEADER = 'upstream-header-canary-0815';

/** What is held of the output of a request that declares no maximum, in tokens. */
export const DEFAULT_OUTPUT = 100;
const OUTPUT = { max_output: 1000, default_output: DEFAULT_OUTPUT };
/** An input token costs 1,000 nanodollars, a cached one 250, an output token 2,000. */
const MODELS = {
  echo: { upstream: 'vendor-echo-1', input: 1, cached_input: 0.25, output: 2, ...OUTPUT },
  free: { input: 0, output: 0 },
  'team/nested': { input: 1, output: 1 },
};

/**
 * A machine that is busy with other things must change no count: these gateways wait for theirs.
 */
export const COUNT_MS = 50_000;
/** Of all gateways in this process: each of its own would load the tokenizer again, which takes longer than most tests. */
export const counter = new TokenCounter(COUNT_MS);

export interface GatewayOptions {
  /** Fields that override those of the usual config. */
  readonly config?: Record<string, unknown>;
  /** Fields of the provider `fake`. */
  readonly provider?: Record<string, unknown>;
  /** All providers, in place of `fake`, by the upstream that they share. */
  readonly providersAt?: (upstream: FakeUpstream) => Record<string, unknown>;
  /** The path of its base URL, and the query. */
  readonly basePath?: string;
  /** The initial credit, in USD. */
  readonly credit?: string;
  readonly grace?: GracePeriods;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly bytes: Buffer;
  /** The error object, if the answer is an error. */
  readonly error: { readonly code: string; readonly message: string };
}

export interface Sending {
  readonly key?: TestKey;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  readonly signal?: AbortSignal;
}

/** The body of a valid request, overridden with these fields. */
export function chat(fields: Record<string, unknown> = {}): string {
  return JSON.stringify({ model: 'fake/echo', messages: [{ role: 'user', content: 'Hello!' }], ...fields });
}

export class TestGateway {
  readonly upstream: FakeUpstream;
  readonly port: number;
  readonly #gateway: Gateway;
  readonly #threads: readonly Worker[];
  readonly #folder: string;
  readonly #database: Sqlite;
  readonly #keys: BookAtOnce['keys'];
  #ended: Promise<number> | undefined;

  constructor(
    { result: gateway, threads }: { result: Gateway; threads: readonly Worker[] },
    upstream: FakeUpstream,
    folder: string,
    database: Sqlite,
  ) {
    this.upstream = upstream;
    this.port = gateway.address.port;
    this.#gateway = gateway;
    this.#threads = threads;
    this.#folder = folder;
    this.#database = database;
    this.#keys = bookOf(database).keys;
  }

  inFlight(): Promise<number> {
    return this.#gateway.inFlight();
  }

  /** The address of its metrics, if it has any. */
  get metricsUrl(): string {
    return `http://127.0.0.1:${this.#gateway.metricsAddress?.port}/metrics`;
  }

  /** The address of its health checks, if they have one of their own. */
  get healthUrl(): string {
    return `http://127.0.0.1:${this.#gateway.healthAddress?.port}`;
  }

  /** Requests in flight in each of its threads, if it has several. */
  inFlightByThread(): Promise<readonly number[]> {
    return inFlightByThread(this.#threads, () => this.inFlight());
  }

  /** Creates a group, as another process would. Returns its id. */
  group(settings: NewGroup): string {
    const change = bookOf(this.#database).groups.create(settings, Date.now());
    assert.ok(change.kind === 'done');
    return change.group.id;
  }

  /** Blocks an end user of a key, or sets limits for them, as another process would. */
  setUser(key: TestKey, name: string, settings: Partial<UserRecord>): void {
    bookOf(this.#database).groups.setUser({ ...NO_LEVEL_TERMS, state: 'enabled', ...settings, ownerId: key.id, name });
  }

  /** How many keys of this one are stored, deleted ones included. */
  childrenOf({ id }: TestKey): number {
    return this.#keys.list({ withDeleted: true, parentId: id }).length;
  }

  get statePath(): string {
    return this.#database.name;
  }

  /** What would happen to a body. */
  explain(key: TestKey, body: string | Buffer, path?: string): Promise<Explanation> {
    return this.#gateway.explain({ keyId: key.id, path, user: undefined, body: Buffer.from(body) });
  }

  /** Creates a key, as another process would. */
  key(settings: KeySettings = {}, secret = mintKey()): TestKey {
    return makeKey(this.#keys, settings, secret);
  }

  setState(key: TestKey, state: KeyState): void {
    assert.equal(this.#keys.setState(key.id, state).kind, 'done');
  }

  setLimits(key: TestKey, limits: Partial<OwnLimits>): void {
    assert.equal(this.#keys.setLimits(key.id, limits).kind, 'done');
  }

  setAllowlist(key: TestKey, models: readonly string[]): void {
    assert.equal(this.#keys.editAllowlist(key.id, () => models).kind, 'done');
  }

  addCredit(nanos: bigint): void {
    assert.ok(bookOf(this.#database).account.enter(nanos, 'test', Date.now()));
  }

  get balanceNanos(): bigint {
    return bookOf(this.#database).account.balance().balanceNanos;
  }

  /** The journal rows of a key, the oldest first. */
  rows(key: TestKey): Row[] {
    return rowsOf(this.#database, key);
  }

  /** Waits for the only journal row of a key, and until the key holds nothing. */
  row(key: TestKey): Promise<Row> {
    return onlyRowOf(this.#database, key);
  }

  /** How many requests hold money. */
  holds(key: TestKey): number {
    return countHolds(this.#database, key.id);
  }

  /** The holds of the requests of a key, in nanodollars. */
  heldNanos(key: TestKey): bigint {
    const sum = this.#database.prepare('SELECT coalesce(sum(hold_nanos), 0) FROM holds WHERE key_id = ?').pluck();
    return sum.safeIntegers().get(key.id) as bigint;
  }

  /** Sends a request, and reads the complete answer. */
  async request(path: string, sending: Sending = {}): Promise<Reply> {
    const response = await this.open(path, sending);
    const bytes = Buffer.from(await response.arrayBuffer());
    const text = bytes.toString('utf8');
    return {
      status: response.status,
      headers: response.headers,
      bytes,
      text,
      get error() {
        return JSON.parse(text).error;
      },
    };
  }

  /** Posts a body, or an object as JSON, and reads the complete answer. */
  post(path: string, key: TestKey, body: string | object, sending: Sending = {}): Promise<Reply> {
    const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    return this.request(path, { method: 'POST', key, body: text, ...sending });
  }

  /** Requests a completion. */
  complete(key: TestKey, body: string | Buffer = chat(), sending: Sending = {}): Promise<Reply> {
    return this.post('/v1/chat/completions', key, body, sending);
  }

  /** Sends a request. The caller reads its answer. */
  open(path: string, { key, method = 'GET', headers = {}, body, signal }: Sending = {}): Promise<Response> {
    const own: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    if (key !== undefined) own.authorization = `Bearer ${key.secret}`;
    return fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers: { ...own, ...headers },
      body: body ?? null,
      signal: signal ?? null,
      redirect: 'manual',
    });
  }

  /** A raw connection on which these bytes were sent. */
  sending(bytes: string | Buffer): Promise<RawConnection> {
    return RawConnection.sending(this.port, bytes);
  }

  /** A raw connection on which a request for a completion was sent. */
  asking(key: TestKey, body: string = chat(), headers?: Readonly<Record<string, string>>): Promise<RawConnection> {
    return this.sending(rawCompletion(key, body, headers));
  }

  /** A request for a completion as bytes, for raw connections. */
  rawCompletion(key: TestKey, body: string, headers?: Readonly<Record<string, string>>): string {
    return rawCompletion(key, body, headers);
  }

  /** Stops a request in flight, as its operator does. */
  async stopRequest(id: string): Promise<void> {
    assert.ok(await this.#gateway.stopRequest(id), `${id} is in flight`);
  }

  /** The ids of the requests of a key that hold money. */
  heldIds(key: TestKey): string[] {
    const held = this.#database.prepare('SELECT request_id FROM holds WHERE key_id = ?').pluck();
    return held.all(key.id) as string[];
  }

  /** Waits until everything is settled. Then nothing may be held, and all sums must be right. */
  async assertSettled(): Promise<void> {
    await until(() => countHolds(this.#database) === 0);
    assertBooksBalance(this.#database);
  }

  /** Stops only the gateway: requests in flight have that long to finish. */
  drain(milliseconds: number): Promise<number> {
    this.#ended ??= this.#gateway.stop(milliseconds);
    return this.#ended;
  }

  /** Stops everything, and audits the state file one last time. */
  async stop(): Promise<void> {
    try {
      await this.drain(0);
      assert.equal(countHolds(this.#database), 0, 'a hold is left after the gateway has stopped');
      assertBooksBalance(this.#database);
    } finally {
      this.#database.close();
      await this.upstream.close();
      await rm(this.#folder, { recursive: true });
    }
  }
}

export async function startTestGateway(options: GatewayOptions = {}): Promise<TestGateway> {
  const credit = parseUsd(options.credit ?? '1000');
  assert.ok(credit !== undefined);
  const folder = await mkdtemp(join(tmpdir(), 'inf-gw-test-'));
  const upstream = await FakeUpstream.start();
  const path = join(folder, 'config.yaml');
  // JSON is valid YAML.
  await writeFile(path, JSON.stringify(configFor(upstream, options)));
  const config = await orElse(
    () => loadConfig({ path, directory: folder, environment: {} }),
    () => upstream.close(),
  );
  const log = await openLog('silent', 'json');
  const { database } = openDatabase(config.statePath);
  if (credit > 0n) bookOf(database).account.enter(credit, 'to start with', Date.now());
  const grace = { countMs: COUNT_MS, ...options.grace };
  const onFatal = (error: Error) => {
    throw error;
  };
  const started = await withNewThreads(() => startGateway(config, log, { onFatal }, { grace, counter }));
  return new TestGateway(started, upstream, folder, database);
}

/** The result; where there is none, cleans up what would keep the process alive. */
async function orElse<Result>(work: () => Result, cleanUp: () => Promise<void>): Promise<Result> {
  try {
    return work();
  } catch (error) {
    await cleanUp();
    throw error;
  }
}

/** A gateway for all tests of a file: each leaves it settled, and it stops after the last. */
export async function sharedGateway(options: GatewayOptions = {}): Promise<TestGateway> {
  const gateway = await startTestGateway(options);
  after(() => gateway.stop());
  afterEach(() => gateway.assertSettled());
  return gateway;
}

/** Runs a test on a gateway of its own. */
export async function withGateway(
  options: GatewayOptions,
  run: (gateway: TestGateway) => Promise<void>,
): Promise<void> {
  const gateway = await startTestGateway(options);
  try {
    await run(gateway);
  } finally {
    await gateway.stop();
  }
}

function configFor(
  upstream: FakeUpstream,
  { config, provider, providersAt, basePath = '/base/v1' }: GatewayOptions,
): Record<string, unknown> {
  const fake = {
    kind: 'openai',
    base_url: `http://127.0.0.1:${upstream.port}${basePath}`,
    api_key: UPSTREAM_KEY,
    headers: { 'X-Operator': UPSTREAM_HEADER },
    models: MODELS,
    ...provider,
  };
  // On a busy machine no timeout may fire, and nothing may be refused for it.
  const overload = { loop_delay: 'off' };
  const timeouts = { connect: '2m', first_byte: '2m', idle: '2m', request: '2m', drain: '2m' };
  return {
    listen: '127.0.0.1:0',
    state: './state.db',
    log: { level: 'silent' },
    timeouts,
    overload,
    providers: providersAt?.(upstream) ?? { fake },
    ...config,
  };
}
