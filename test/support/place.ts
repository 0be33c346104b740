/** A gateway with a folder of its own, in the process of the test or in its own: a fake upstream behind it, keys, and its control socket. */
import assert from 'node:assert/strict';
import { type IncomingMessage, request } from 'node:http';
import { encodeQuery, type Snapshot, socketPathOf } from '../../src/control/protocol.ts';
import { bookOf } from '../../src/state/sqlite/book.ts';
import { openDatabase, type Sqlite } from '../../src/state/sqlite/database.ts';
import { answering, completion } from './answers.ts';
import { assertBooksBalance, countHolds } from './books.ts';
import { type Serving, Workplace } from './cli.ts';
import { FakeUpstream } from './fake-upstream.ts';
import { rawCompletion } from './raw.ts';
import { type KeySettings, makeKey, type Row, rowsOf, type TestKey } from './state.ts';
import { bounded, until } from './wait.ts';

export type { TestKey } from './state.ts';

/** Secrets of the operator, which must not be shown. */
export const UPSTREAM_KEY = 'upstream-key-canary-4711';
export const UPSTREAM_HEADER = 'upstream-header-canary-0815';
/** An input token costs 0.001 USD, an output token 0.002 USD. */
export const MODEL = { input: 1000, output: 2000, max_output: 1000 };
export const CREDIT_NANOS = 1_000_000_000_000n;

export type Fields = Readonly<Record<string, unknown>>;

export interface ControlAnswer {
  readonly status: number;
  readonly text: string;
}

/** Creates a key in a state file. */
export function newKey(statePath: string): TestKey {
  const { database } = openDatabase(statePath);
  const key = makeKey(bookOf(database).keys);
  database.close();
  return key;
}

/** A valid request for a completion as bytes, for raw connections. */
export function rawChat(key: TestKey, fields: Fields = {}): string {
  const messages = [{ role: 'user', content: 'hello' }];
  return rawCompletion(key, JSON.stringify({ model: 'host/model', messages, ...fields }));
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

export class Place extends Workplace {
  readonly upstream: FakeUpstream;
  readonly database: Sqlite;
  readonly socketPath: string;
  serving!: Serving;

  private constructor(scope: Scope, upstream: FakeUpstream) {
    super(scope, null);
    this.upstream = upstream;
    const { database } = openDatabase(this.statePath);
    this.database = database;
    this.socketPath = socketPathOf({ state: { kind: 'file', path: this.statePath }, node: 'any' });
    scope.after(async () => {
      database.close();
      await upstream.close();
    });
  }

  /**
   * Starts a gateway. `fields` override those of its config. With `args`, which are those of Node, it has a process of its own;
   * otherwise it is in that of the test.
   */
  static async open(scope: Scope, fields: Fields = {}, args?: readonly string[]): Promise<Place> {
    const upstream = await FakeUpstream.start();
    const place = new Place(scope, upstream);
    upstream.follow(answering(completion('hi')));
    bookOf(place.database).account.enter(CREDIT_NANOS, 'to start with', Date.now());
    place.configure(fields);
    place.serving = await (args === undefined ? place.serveHere() : place.serve(args));
    return place;
  }

  /** Writes the config, overridden with these fields. JSON is valid YAML. */
  configure(fields: Fields = {}): void {
    // On a busy machine nothing may be refused for it.
    const overload = { loop_delay: 'off' };
    const providers = { host: this.host() };
    const config = { listen: '127.0.0.1:0', state: './state.db', overload, providers, ...fields };
    this.write('config.yaml', JSON.stringify(config));
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
  key(settings: KeySettings = {}): TestKey {
    return makeKey(bookOf(this.database).keys, settings);
  }

  get port(): number {
    return Number(new URL(this.serving.url).port);
  }

  chat(key: TestKey, fields: Fields = {}): Promise<Response> {
    return this.serving.chat(key.secret, { model: 'host/model', ...fields });
  }

  /** The status of a chat completion, and its error code if it failed. */
  outcome(key: TestKey, fields: Fields = {}): Promise<string> {
    return this.serving.chatOutcome(key.secret, { model: 'host/model', ...fields });
  }

  /** Opens a stream, and waits for its first event. */
  async stream(key: TestKey, fields: Fields = {}): Promise<ClientStream> {
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
  rows(key: TestKey): Row[] {
    return rowsOf(this.database, key);
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
