/**
 * The hosts for tests of clients of several dialects, all behind one gateway: hosts of every dialect, and of chat, messages or
 * Google's alone; and a scripted host in the same ways. All but the mock itself are a second gateway before its own mock, which
 * speaks every dialect.
 */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { FakeUpstream, type Script } from '../support/fake-upstream.ts';
import { sharedGateway, type TestGateway, type TestKey } from '../support/gateway.ts';

export interface DialectHosts {
  readonly gateway: TestGateway;
  /** The base URL of clients that add `/v1` to it themselves. */
  readonly root: string;
  /** What answers for the models whose names begin with `scripted-`. */
  readonly scripted: FakeUpstream;
}

const DIALECTS = {
  all: ['chat', 'responses', 'messages', 'embeddings'],
  chat: ['chat'],
  messages: ['messages'],
  gemini: ['gemini'],
};
/** The mock hosts for clients of a dialect, the first one of their own. Their models are `<name>/echo`. */
export const HOSTS = {
  chat: ['chat', 'messages'],
  messages: ['messages', 'chat'],
  responses: ['all', 'chat', 'messages'],
  gemini: ['gemini', 'chat', 'messages'],
} as const;

/** In nanodollars a token. All prices differ. */
const PRICES = { input: 1_000, cached: 100, written: 1_250, output: 5_000 };
const MODEL = { input: 1, cached_input: 0.1, cache_write: 1.25, cache_write_1h: 2, output: 5, default_output: 100 };

/** For all tests of a file: each leaves the gateway settled. */
export async function startDialectHosts(): Promise<DialectHosts> {
  const scripted = await FakeUpstream.start();
  const host = await sharedGateway({
    config: {
      providers: { mock: { kind: 'mock', models: { echo: { input: 0, output: 0 } } } },
      aliases: { echo: 'mock/echo' },
    },
  });
  const mock = { kind: 'openai', base_url: `http://127.0.0.1:${host.port}/v1`, api_key: host.key().secret };
  const models = { echo: MODEL };
  const base_url = `http://127.0.0.1:${scripted.port}/v1`;
  const providers = Object.entries(DIALECTS).flatMap(([name, dialects]) => [
    [name, name === 'chat' ? { kind: 'mock', dialects, models } : { ...mock, dialects, models }],
    [`scripted-${name}`, { kind: 'openai', base_url, dialects, models }],
  ]);
  const gateway = await sharedGateway({ config: { providers: Object.fromEntries(providers) } });
  after(() => scripted.close());
  return { gateway, root: `http://127.0.0.1:${gateway.port}`, scripted };
}

/** What a client reads of the usage of one answer. */
export interface ReadUsage {
  /** All of it, with what was read from the cache and written to it. */
  readonly input: number;
  readonly cached: number;
  readonly written: number;
  readonly output: number;
}

/** Asserts that the requests of a key are in the journal with the usage that its client has read, and at its price. */
export function assertCharged(gateway: TestGateway, key: TestKey, ...usages: readonly ReadUsage[]): void {
  const rows = gateway.rows(key).map((row) => ({
    outcome: row.outcome,
    source: row.source,
    input: row.prompt_tokens,
    cached: row.cached_tokens,
    written: row.cache_write_tokens,
    output: row.completion_tokens,
    nanos: row.cost_nanos,
  }));
  assert.deepEqual(
    rows,
    usages.map((usage) => ({ outcome: 'ok', source: 'reported', ...usage, nanos: priceOf(usage) })),
  );
}

function priceOf({ input, cached, written, output }: ReadUsage): number {
  const plain = input - cached - written;
  return plain * PRICES.input + cached * PRICES.cached + written * PRICES.written + output * PRICES.output;
}

/** Asserts how the only request of a key ended, and that what it wrote is charged. */
export async function assertEnded(gateway: TestGateway, key: TestKey, outcome: string): Promise<void> {
  const row = await gateway.row(key);
  assert.deepEqual([row.outcome, row.source], [outcome, 'counted']);
  assert.ok(row.completion_tokens > 0 && row.cost_nanos > 0, `${row.completion_tokens} tokens, ${row.cost_nanos}`);
}

/** Collects everything from an asynchronous sequence. */
export async function collected<T>(sequence: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of sequence) items.push(item);
  return items;
}

/** A fetch that keeps the responses it got. */
export function watchedFetch() {
  const responses: Response[] = [];
  const watched = async (url: string | URL | Request, init?: RequestInit) => {
    const response = await fetch(url, init);
    responses.push(response);
    return response;
  };
  return { fetch: watched, responses };
}

/** What a promise rejects with, as an error of this class. */
export async function rejection<T>(promise: PromiseLike<unknown>, type: new (...args: never[]) => T): Promise<T> {
  const error = await promise.then(
    () => assert.fail('it was fulfilled'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof type, String(error));
  return error;
}

/** Answers with this text, in the dialect of the path. */
export function writing(text: string): Script {
  return (call) => {
    const last = call.path.split('/').at(-1);
    if (last === 'messages') call.answer(200, message(text));
    else if (last === 'responses') call.answer(200, response(text));
    else call.answer(200, completion(text));
  };
}

const message = (text: string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'echo',
  content: [{ type: 'text', text }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5 },
});

const response = (text: string) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'echo',
  output: [
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text, annotations: [] }],
    },
  ],
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
});

const completion = (text: string) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'echo',
  choices: [{ index: 0, message: { role: 'assistant', content: text, refusal: null }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});

/** The keys that are refused, and why. */
export const REFUSED_KEYS = {
  spend_limit_reached: (gateway: TestGateway) => gateway.key({ spendLimitNanos: 0n }),
  api_key_disabled: (gateway: TestGateway) => {
    const key = gateway.key();
    gateway.setState(key, 'disabled');
    return key;
  },
  model_not_allowed: (gateway: TestGateway) => gateway.key({ allowlist: [] }),
  invalid_api_key: () => ({ id: '', secret: 'sk-inf-mistyped' }),
} satisfies Record<string, (gateway: TestGateway) => TestKey>;
