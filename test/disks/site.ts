/** A `serve` whose state file a test damages, its clients, and a host that answers on command. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chunk, completion, DONE, USAGE, usageChunk } from '../support/answers.ts';
import { linesOf, PROGRAM, type Serving, Workplace } from '../support/cli.ts';
import { FakeUpstream, type UpstreamCall } from '../support/fake-upstream.ts';
import type { Scope } from '../support/run-scope.ts';
import { bounded, until } from '../support/wait.ts';

const PRELOAD = fileURLToPath(new URL('./orders.ts', import.meta.url));
const SERVE = ['--import', PRELOAD, PROGRAM, 'serve'];
export const RPM = 1_000;
export const TPM = 1_000_000;
const CREDIT_USD = 1_000;
export const CREDIT_NANOS = BigInt(CREDIT_USD) * 1_000_000_000n;
/** 10 input tokens at 1,000 and 5 output tokens at 2,000 USD per million. */
export const COST_NANOS = 20_000_000n;
export const TOKENS = USAGE.total_tokens;
/** The prompts of requests that are answered only when the test says so. */
const HELD = 'answer this one later';

/** Created once, since that takes a process. All sites share it. */
let template: Promise<{ readonly secret: string; readonly bytes: Buffer }> | undefined;

/** An answer, and how long it took. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly ms: number;
}

/** A request in flight. */
export class Running {
  readonly stream: boolean;
  readonly call: UpstreamCall;
  /** What its client has received so far. */
  text = '';
  status = 0;
  hasEnded = false;
  readonly #ended: Promise<void>;

  constructor(stream: boolean, call: UpstreamCall, response: Promise<Response>) {
    this.stream = stream;
    this.call = call;
    this.#ended = this.#read(response).finally(() => {
      this.hasEnded = true;
    });
    // A caller that waits for the end gets the error.
    this.#ended.catch(() => {});
  }

  get ended(): Promise<void> {
    return bounded(this.#ended, `the answer has ended after ${JSON.stringify(this.text)}`);
  }

  /** Lets the host send one more word, if the answer is a stream. */
  async goOn(word: string): Promise<void> {
    if (!this.stream) return;
    this.call.send(chunk(word));
    await until(() => this.text.includes(word));
  }

  /** Lets the host finish its answer. */
  finish(): void {
    if (!this.stream) return this.call.answer(200, completion('done'));
    this.call.send(chunk('', 'stop') + usageChunk() + DONE);
    this.call.end();
  }

  async #read(opening: Promise<Response>): Promise<void> {
    const response = await opening;
    this.status = response.status;
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) this.text += piece;
  }
}

export class Site {
  readonly place: Workplace;
  readonly upstream: FakeUpstream;
  /** The directory of the state file; another disk may be mounted at it. */
  readonly folder: string;
  readonly statePath: string;
  readonly #orders: string;
  #serving: Serving | undefined;
  #secret = '';

  private constructor(place: Workplace, upstream: FakeUpstream) {
    this.place = place;
    this.upstream = upstream;
    this.folder = join(place.directory, 'disk');
    mkdirSync(this.folder);
    this.statePath = join(this.folder, 'state.db');
    this.#orders = place.write('orders', '');
    place.environment.INF_GW_TEST_ORDERS = this.#orders;
    place.write('config.yaml', configFor(upstream.port));
  }

  /** At first nothing runs and there is no state file. */
  static async open(scope: Scope): Promise<Site> {
    const upstream = await FakeUpstream.start();
    const site = new Site(new Workplace(scope, null), upstream);
    scope.after(() => upstream.close());
    upstream.follow((call) => {
      const stream = call.body.includes('"stream":true');
      if (!call.body.includes(HELD)) return call.answer(200, completion('done'));
      if (!stream) return;
      call.stream();
      call.send(chunk('first'));
    });
    return site;
  }

  /** Puts a state file with a key and credit in place. */
  async prepare(): Promise<void> {
    template ??= this.makeState().then(() => ({ secret: this.#secret, bytes: readFileSync(this.statePath) }));
    const { secret, bytes } = await template;
    this.#secret = secret;
    writeFileSync(this.statePath, bytes, { mode: 0o600 });
  }

  /** Creates a key and credit in the state file, and the file if there is none. */
  async makeState(): Promise<void> {
    const limits = ['--rpm', String(RPM), '--tpm', String(TPM)];
    const [made] = await this.place.runAll([
      ['keys', 'create', 'app', ...limits, '--json'],
      ['credit', 'add', String(CREDIT_USD)],
    ]);
    this.#secret = JSON.parse(made?.stdout ?? '').key;
  }

  async start(): Promise<Serving> {
    this.#serving = await this.place.serve(SERVE);
    return this.#serving;
  }

  /** Tries to start. Returns the lines of the error, or none if it serves. */
  async tryToStart(): Promise<{ readonly status: number | null | 'serves'; readonly errors: readonly string[] }> {
    const serving = this.place.launch(SERVE);
    const serves = serving.listening().then(
      () => 'serves' as const,
      () => serving.ended.then(({ status }) => status),
    );
    const status = await bounded(serves, 'the start has come to an end');
    if (status === 'serves') await serving.stop();
    return { status, errors: linesOf(serving.text).filter((line) => !line.startsWith('{')) };
  }

  /** The same without orders, in the process of the commands. */
  async startInVain(): Promise<{ readonly status: number | null; readonly errors: readonly string[] }> {
    const { status, stderr } = await this.place.serveInVain();
    return { status, errors: linesOf(stderr).filter((line) => !line.startsWith('{')) };
  }

  get serving(): Serving {
    if (this.#serving === undefined) throw new Error('nothing is served yet');
    return this.#serving;
  }

  /** The id of the process that serves. */
  get pid(): number {
    return Number(readFileSync(`${this.#orders}-pid`, 'utf8'));
  }

  /** Orders a fault in SQLite or of the disk, or its end. */
  order(fault: 'full' | 'read-only' | 'unsyncable' | 'slow' | 'none'): void {
    this.place.write('orders', fault === 'none' ? '' : fault);
  }

  /** A request that stays in flight; a stream has had its first event. */
  async hold(stream: boolean): Promise<Running> {
    const running = await this.begin(stream);
    if (stream) await until(() => running.text.includes('first'));
    return running;
  }

  /** A request that the host has; a stream has its first event sent. */
  async begin(stream: boolean): Promise<Running> {
    const response = this.#chat(HELD, stream);
    return new Running(stream, await this.upstream.call(this.upstream.calls.length + 1), response);
  }

  /** A request that the host answers at once. */
  async ask(): Promise<Answer> {
    return answered(() => this.#chat('hello', false));
  }

  async get(path: string): Promise<Answer> {
    const headers = { authorization: `Bearer ${this.#secret}` };
    return answered(() => fetch(`${this.serving.url}${path}`, { headers }));
  }

  /** The longest delay of the event loop of `serve` since the last call, in milliseconds. */
  async loopDelayMs(): Promise<number> {
    const path = `${this.#orders}-delay`;
    rmSync(path, { force: true });
    this.serving.signal('SIGUSR2');
    await until(() => existsSync(path));
    return Number(readFileSync(path, 'utf8'));
  }

  #chat(content: string, stream: boolean): Promise<Response> {
    return this.serving.chat(this.#secret, { model: 'host/model', messages: [{ role: 'user', content }], stream });
  }
}

async function answered(send: () => Promise<Response>): Promise<Answer> {
  const sentAtMs = performance.now();
  const response = await bounded(send(), 'an answer has come');
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, ms: performance.now() - sentAtMs };
}

function configFor(port: number): string {
  return `listen: 127.0.0.1:0
state: ./disk/state.db
overload: { loop_delay: off }
timeouts: { drain: 500ms }
providers:
  host:
    kind: openai
    base_url: http://127.0.0.1:${port}/v1
    models: { model: { input: 1000, output: 2000, max_output: 1000 } }
`;
}
