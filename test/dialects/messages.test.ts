/** `POST /v1/messages` at a host that speaks it: the bytes of both ways, the money, and the ends. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { streaming } from '../support/answers.ts';
import { sharedGateway, type TestKey, UPSTREAM_KEY } from '../support/gateway.ts';

/** Input costs 1,000 nanodollars a token, and every other price is another. */
const MODEL = {
  input: 1,
  cached_input: 0.1,
  output: 5,
  cache_write: 1.25,
  cache_write_1h: 2,
  tools: { web_search: 0.01 },
};
const gateway = await sharedGateway({
  provider: {
    kind: 'anthropic',
    models: { claude: { ...MODEL, upstream: 'claude-x-1' }, free: { ...MODEL, input: 0, output: 0 } },
  },
});

const BODY = { model: 'fake/claude', max_tokens: 100, messages: [{ role: 'user', content: 'Hello!' }] };
const USAGE = { input_tokens: 10, output_tokens: 4 };
const message = (fields: object = {}) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-x-1',
  content: [{ type: 'text', text: 'Hi.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: USAGE,
  ...fields,
});
const event = (fields: { readonly type: string }) => `event: ${fields.type}\ndata: ${JSON.stringify(fields)}\n\n`;

const START = event({
  type: 'message_start',
  message: message({ content: [], usage: { input_tokens: 10, output_tokens: 1 } }),
} as never);
const BLOCK = [
  event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as never),
  event({ type: 'ping' }),
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi.' } } as never),
  event({ type: 'content_block_stop', index: 0 } as never),
];
const DELTA = event({
  type: 'message_delta',
  delta: { stop_reason: 'end_turn' },
  usage: { output_tokens: 4 },
} as never);
const STOP = event({ type: 'message_stop' });

function post(key: TestKey, fields: object = {}, headers: Record<string, string> = {}, path = '/v1/messages') {
  return gateway.post(path, key, { ...BODY, ...fields }, { headers });
}

describe('a message', () => {
  test('reaches the host as it was written, but for its model, and its answer the client', async () => {
    const answer = `{ "content": [ ],\n "usage": {"input_tokens": 10,"output_tokens":4}, "stop_reason":"end_turn", "new": 1.50 }`;
    gateway.upstream.follow((call) => call.answer(200, answer));
    const text = `{"max_tokens":1e2, "model":"fake/claude","messages":[{"role":"user","content":"caf\\u00e9"}],"thinking":{"type":"adaptive"},"new":{"a":1.0}}`;
    const headers = { 'anthropic-beta': 'a-2026,b-2026', 'anthropic-version': '2024-01-01', 'x-other': 'no' };
    const reply = await gateway.post('/v1/messages?beta=true', gateway.key(), text, { headers });
    assert.equal(reply.text, answer);
    const call = await gateway.upstream.call();
    assert.equal(call.body, text.replace('fake/claude', 'claude-x-1'));
    assert.equal(call.path, '/base/v1/messages');
    assert.deepEqual(
      ['x-api-key', 'authorization', 'anthropic-beta', 'anthropic-version', 'x-other'].map((name) => call.header(name)),
      [UPSTREAM_KEY, undefined, 'a-2026,b-2026', '2024-01-01', undefined],
    );
  });

  test('has its request id where its client looks for it', async () => {
    gateway.upstream.follow((call) => call.answer(200, message()));
    const { headers } = await post(gateway.key(), {}, { 'anthropic-version': '2023-06-01' });
    assert.ok(headers.get('request-id'));
    assert.equal(headers.get('request-id'), headers.get('x-request-id'));
  });

  test('gets the version that hosts need where its client sends none', async () => {
    gateway.upstream.follow((call) => call.answer(200, message()));
    await post(gateway.key());
    assert.equal((await gateway.upstream.call()).header('anthropic-version'), '2023-06-01');
  });

  const lifetimes = { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 };
  for (const [what, usage, tokens, nanos] of [
    ['input and output', USAGE, [10, 0, 4], 10_000 + 20_000],
    ['input that was read from the cache', { ...USAGE, cache_read_input_tokens: 50 }, [60, 50, 4], 30_000 + 5_000],
    [
      'input that was written to the cache',
      { ...USAGE, cache_creation_input_tokens: 100 },
      [110, 0, 4],
      30_000 + 125_000,
    ],
    [
      'input that was written for an hour',
      { ...USAGE, cache_creation_input_tokens: 300, cache_creation: lifetimes },
      [310, 0, 4],
      30_000 + 125_000 + 400_000,
    ],
    ['calls of tools', { ...USAGE, server_tool_use: { web_search_requests: 2 } }, [10, 0, 4], 30_000 + 20_000_000],
    [
      'several iterations',
      {
        ...USAGE,
        iterations: [
          { type: 'compaction', input_tokens: 1_000, output_tokens: 10 },
          { type: 'message', ...USAGE },
        ],
      },
      [1_010, 0, 14],
      1_010_000 + 70_000,
    ],
  ] as const) {
    test(`is charged for ${what}, streamed or not`, async () => {
      const key = gateway.key();
      const tools = 'server_tool_use' in usage ? { tools: [{ type: 'web_search_20250305', name: 'web_search' }] } : {};
      gateway.upstream.follow((call) => call.answer(200, message({ usage })));
      await post(key, tools);
      const start = event({
        type: 'message_start',
        message: message({ content: [], usage: { ...usage, output_tokens: 1 } }),
      } as never);
      gateway.upstream.follow(streaming(start, ...BLOCK, DELTA, STOP));
      if (!('iterations' in usage)) await post(key, { ...tools, stream: true });
      for (const row of gateway.rows(key)) {
        assert.deepEqual([row.prompt_tokens, row.cached_tokens, row.completion_tokens], tokens);
        assert.deepEqual([row.cost_nanos, row.source], [nanos, 'reported']);
        const written = 'cache_creation_input_tokens' in usage ? usage.cache_creation_input_tokens : 0;
        assert.equal(row.cache_write_tokens, written);
      }
    });
  }

  test('is charged for what it wrote after the report of its start, if its host ends it without another', async () => {
    const key = gateway.key();
    const text = 'A dozen words or so. '.repeat(50);
    const delta = event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } } as never);
    gateway.upstream.follow(streaming(START, ...BLOCK.slice(0, 1), delta, ...BLOCK.slice(-1), STOP));
    const { text: stream } = await post(key, { stream: true });
    assert.ok(stream.endsWith(STOP));
    const row = await gateway.row(key);
    assert.deepEqual([row.source, row.outcome, row.prompt_tokens], ['counted', 'ok', 10]);
    assert.ok(row.completion_tokens > 200, `${row.completion_tokens} tokens`);
  });

  test('that asks for a cache is held at the price of writing to it', async () => {
    const key = gateway.key();
    const held: bigint[] = [];
    gateway.upstream.follow((call) => {
      held.push(gateway.heldNanos(key));
      call.answer(200, message());
    });
    for (const control of [{ other: {} }, { cache_control: { type: 'ephemeral' } }, { Cache_control: { ttl: '1h' } }]) {
      await post(key, { system: [{ type: 'text', text: 'Many words. '.repeat(500), ...control }] });
    }
    const [none, short, long] = held.map((nanos) => Number(nanos) - 500_000) as [number, number, number];
    assert.ok(Math.abs(short / none - 1.25) < 0.01 && Math.abs(long / none - 2) < 0.01, `${none}, ${short}, ${long}`);
  });

  test('is not sent where a tool of the host has no price', async () => {
    const reply = await post(gateway.key(), { tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] });
    assert.deepEqual([reply.status, reply.error.code], [400, 'invalid_request']);
    assert.match(reply.error.message, /^tools\[0\]: .*code_execution/);
  });
});

describe('a stream of a message', () => {
  test('reaches the client event by event, and ends only when it is settled', async () => {
    const key = gateway.key();
    gateway.upstream.follow(streaming(START, ...BLOCK, DELTA, STOP));
    const reply = await post(key, { stream: true });
    assert.equal(reply.text, [START, ...BLOCK, DELTA, STOP].join(''));
    assert.equal(gateway.rows(key)[0]?.cost_nanos, 30_000);
  });

  test('that lacks its last event gets it', async () => {
    gateway.upstream.follow(streaming(START, ...BLOCK, DELTA));
    const reply = await post(gateway.key(), { stream: true });
    assert.equal(reply.text, [START, ...BLOCK, DELTA, STOP].join(''));
  });

  test('that breaks off ends with an error event', async () => {
    const key = gateway.key();
    gateway.upstream.follow(streaming(START, ...BLOCK));
    const reply = await post(key, { stream: true });
    const last = JSON.parse(reply.text.split('data: ').at(-1) ?? '');
    assert.deepEqual([last.type, last.error.type, last.error.code], ['error', 'api_error', 'upstream_error']);
    assert.equal(last.request_id, reply.headers.get('x-request-id'));
    assert.match(reply.text, /event: error\ndata: [^\n]*\n\n$/);
    assert.deepEqual(
      [gateway.rows(key)[0]?.outcome, (gateway.rows(key)[0]?.cost_nanos ?? 0) > 0],
      ['upstream_error', true],
    );
  });

  test('whose report came with its beginning is charged for what was written', async () => {
    const key = gateway.key();
    const text = {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: 'many words '.repeat(300) },
    };
    const delta = event({ type: 'message_delta', delta: { stop_reason: 'end_turn' } } as never);
    gateway.upstream.follow(streaming(START, event(text as never), delta, STOP));
    await post(key, { stream: true, max_tokens: 2_000 });
    const [row] = gateway.rows(key);
    assert.ok(
      row !== undefined && row.completion_tokens > 550 && row.completion_tokens < 650,
      `${row?.completion_tokens}`,
    );
  });

  test('that begins with a ping and an error is an ordinary error, and free', async () => {
    const key = gateway.key();
    const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    gateway.upstream.follow(streaming(event({ type: 'ping' }), event(overloaded)));
    assert.equal((await post(key, { stream: true })).status, 502);
    assert.equal(gateway.rows(key)[0]?.cost_nanos, 0);
  });

  test('that begins with an error is an ordinary one', async () => {
    const key = gateway.key();
    const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    gateway.upstream.follow(streaming(event(overloaded)));
    const reply = await post(key, { stream: true });
    assert.equal(reply.status, 502);
    const { type, error, request_id } = JSON.parse(reply.text);
    assert.deepEqual([type, error.type, error.code], ['error', 'api_error', 'upstream_error']);
    assert.equal(request_id, reply.headers.get('x-request-id'));
    assert.equal(gateway.rows(key)[0]?.cost_nanos, 0);
  });
});

describe('a key', () => {
  test('may come as x-api-key', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, message()));
    const sending = { method: 'POST', body: JSON.stringify(BODY), headers: { 'x-api-key': key.secret } };
    assert.equal((await gateway.request('/v1/messages', sending)).status, 200);
  });

  test('must be the same in all headers', async () => {
    const reply = await post(gateway.key(), {}, { 'x-api-key': 'sk-inf-wrong' });
    assert.deepEqual([reply.status, reply.error.code], [400, 'invalid_request']);
  });
});

test('a model is not found, nor listed, where no client of the dialect can reach it', async () => {
  const key = gateway.key();
  const reply = await gateway.post('/v1/embeddings', key, { model: 'fake/claude', input: 'x' });
  assert.deepEqual([reply.status, reply.error.code], [404, 'model_not_found']);
  assert.match(
    reply.error.message,
    /^The model "fake\/claude" does not exist for embeddings: its provider speaks messages\.$/,
  );
  const other = gateway.key({ allowlist: ['fake/free'] });
  const unseen = await gateway.post('/v1/embeddings', other, { model: 'fake/claude', input: 'x' });
  assert.doesNotMatch(unseen.error.message, /messages/);
});
