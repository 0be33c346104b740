/** A gateway, a fake upstream behind it, and its control socket. */
import assert from 'node:assert/strict';
import { type IncomingMessage, request } from 'node:http';
import { encodeQuery, type Snapshot, socketPathOf } from '../../src/control/protocol.ts';
import { mintKey } from '../../src/core/api-key.ts';
import { newId } from '../../src/core/ids.ts';
import type { OwnLimits } from '../../src/state/keys.ts';
import { bookOf } from '../../src/state/sqlite/book.ts';
import { openDatabase, type Sqlite } from '../../src/state/sqlite/database.ts';
import { answering, completion } from '../support/answers.ts';
import { assertBooksBalance, countHolds } from '../support/books.ts';
import { type Serving, Workplace } from '../support/cli.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { TESTED_SERVER } from '../support/tested-server.ts';
import { bounded, until } from '../support/wait.ts';

/** Secrets of the operator, which must not be shown. */
export const UPSTREAM_KEY = 'upstream-key-canary-4711';
export const UPSTREAM_HEADER = 'upstream-header-canary-0815';
/** An input token costs 0.001 USD, an output token 0.002 USD. */
export const MODEL = { input: 1000, output: 2000, max_output: 1000 };
export const CREDIT_NANOS = 1_000_000_000_000n;

export type Fields = Readonly<Record<string, unknown>>;

export interface SiteKey {
  readonly id: string;
  readonly secret: string;
}

/** A row of the journal, as far as these tests read it. */
export interface Row {
  readonly request_id: string;
  readonly key_id: string;
  readonly model: string;
  readonly outcome: string;
  readonly source: string;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cost_nanos: number;
  readonly failure_reason: string | null;
  readonly failure_message: string | null;
}

export interface ControlAnswer {
  readonly status: number;
  readonly text: string;
}

function makeKey(database: Sqlite, settings: Partial<OwnLimits>): SiteKey {
  const secret = mintKey();
  const none = { rpm: null, tpm: null, concurrency: null, spendLimitNanos: null, allowlist: null };
  const fields = { ...none, ...settings, name: newId('name', Date.now()) };
  const change = bookOf(database).keys.create(secret, fields, Date.now());
  assert.ok(change.kind === 'done');
  return { id: change.key.id, secret };
}

/** Creates a key in a state file. */
export function newKey(statePath: string): SiteKey {
  const { database } = openDatabase(statePath);
  const key = makeKey(database, {});
  database.close();
  return key;
}

/** A valid request for a completion as bytes, for raw connections. */
export function rawChat(key: SiteKey, fields: Fields = {}): string {
  const body = JSON.stringify({ model: 'host/model', messages: [{ role: 'user', content: 'hello' }], ...fields });
  return (
    `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key.secret}\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`
  );
}

/** Sends a request to a control socket. */
export async function askControl(socketPath: string, method: string, path: string): Promise<ControlAnswer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ socketPath, method, path, agent: false }, resolve).once('error', reject).end();
  });
  let text = '';
  for await (const piece of response.setEncoding('utf8')) text += piece;
  return { status: response.statusCode ?? 0, text };
}

type Scope = ConstructorParameters<typeof Workplace>[0];

export class Site {
  readonly place: Workplace;
  readonly upstream: FakeUpstream;
  readonly database: Sqlite;
  readonly socketPath: string;
  serving!: Serving;

  private constructor(scope: Scope, upstream: FakeUpstream) {
    this.upstream = upstream;
    this.place = new Workplace(scope, null);
    const { database } = openDatabase(this.place.statePath);
    this.database = database;
    this.socketPath = socketPathOf({ state: { kind: 'file', path: this.place.statePath }, node: 'any' });
    scope.after(async () => {
      database.close();
      await upstream.close();
    });
  }

  /**
   * Starts a gateway. `fields` override those of its config. With `args`, which are those of Node, it has a process of its own;
   * otherwise it is in that of the test.
   */
  static async open(scope: Scope, fields: Fields = {}, args?: readonly string[]): Promise<Site> {
    const upstream = await FakeUpstream.start();
    const site = new Site(scope, upstream);
    upstream.follow(answering(completion('hi')));
    bookOf(site.database).account.enter(CREDIT_NANOS, 'to start with', Date.now());
    site.configure(fields);
    site.serving = await (args === undefined ? site.place.serveHere() : site.place.serve(args));
    return site;
  }

  /** Writes the config, overridden with these fields. JSON is valid YAML. */
  configure(fields: Fields = {}): void {
    // On a busy machine nothing may be refused for it.
    const overload = { loop_delay: 'off' };
    const providers = { host: this.host() };
    const config = { listen: '127.0.0.1:0', http: TESTED_SERVER, state: './state.db', overload, providers, ...fields };
    this.place.write('config.yaml', JSON.stringify(config));
  }

  /** The config of the provider for the fake upstream. */
  host(fields: Fields = {}): Fields {
    return {
      kind: 'openai',
      base_url: `http://127.0.0.1:${this.upstream.port}/v1`,
      api_key: UPSTREAM_KEY,
      headers: { 'X-Operator': UPSTREAM_HEADER },
      models: { model: MODEL },
      ...fields,
    };
  }

  /** Creates a key, as another process would. */
  key(settings: Partial<OwnLimits> = {}): SiteKey {
    return makeKey(this.database, settings);
  }

  get port(): number {
    return Number(new URL(this.serving.url).port);
  }

  chat(key: SiteKey, fields: Fields = {}): Promise<Response> {
    return this.serving.chat(key.secret, { model: 'host/model', ...fields });
  }

  /** The status of a chat completion, and its error code if it failed. */
  outcome(key: SiteKey, fields: Fields = {}): Promise<string> {
    return this.serving.chatOutcome(key.secret, { model: 'host/model', ...fields });
  }

  /** Opens a stream, and waits for its first event. */
  async stream(key: SiteKey, fields: Fields = {}): Promise<ClientStream> {
    const stream = new ClientStream(await this.chat(key, { stream: true, ...fields }));
    await stream.read();
    return stream;
  }

  ask(method: string, path: string): Promise<ControlAnswer> {
    return bounded(askControl(this.socketPath, method, path), `an answer to ${method} ${path}`);
  }

  async snapshot(keyIds: readonly string[] = []): Promise<Snapshot> {
    // Not by the client of the commands, which stops waiting after ten seconds.
    const { status, text } = await this.ask('GET', `/snapshot?${encodeQuery({ keyIds })}`);
    assert.equal(status, 200, text);
    return JSON.parse(text) as Snapshot;
  }

  /** Reloads a config, which must be valid. */
  async reload(fields: Fields = {}): Promise<void> {
    this.configure(fields);
    const { status, text } = await this.ask('POST', '/reload');
    assert.equal(status, 200, text);
  }

  /** Journal rows, the oldest first. */
  rows(key: SiteKey): Row[] {
    return this.database.prepare('SELECT * FROM journal WHERE key_id = ? ORDER BY id').all(key.id) as Row[];
  }

  /** The row of a request, once it is settled. */
  async row(requestId: string): Promise<Row> {
    const read = () => this.database.prepare('SELECT * FROM journal WHERE request_id = ?').get(requestId);
    await until(() => read() !== undefined);
    return read() as Row;
  }

  /** Stops the gateway. Everything must be settled, and all sums must be right. */
  async stop(): Promise<void> {
    assert.equal(await bounded(this.serving.stop(), 'the gateway exits'), 0, this.serving.text);
    this.assertSettled();
  }

  assertSettled(): void {
    assert.equal(countHolds(this.database), 0);
    assertBooksBalance(this.database);
  }
}

/** A stream as its client reads it. */
export class ClientStream {
  readonly id: string;
  readonly #reader: ReadableStreamDefaultReader<string>;
  text = '';

  constructor(response: Response) {
    this.id = response.headers.get('x-request-id') ?? '';
    const body = response.body as ReadableStream<Uint8Array<ArrayBuffer>>;
    this.#reader = body.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Reads the next chunk. False at the end. */
  async read(): Promise<boolean> {
    const { done, value } = await bounded(this.#reader.read(), 'the next chunk of a stream');
    this.text += value ?? '';
    return !done;
  }

  /** Reads everything up to the end. */
  async rest(): Promise<string> {
    while (await this.read());
    return this.text;
  }
}
