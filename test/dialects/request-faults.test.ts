/** An input beyond the context window of a model: every client learns it in the words of its dialect, from every host. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { event } from '../support/answers.ts';
import type { Script } from '../support/fake-upstream.ts';
import { startTestGateway } from '../support/gateway.ts';

const PRICES = { input: 1, output: 2, cache_write: 1, cache_write_1h: 1, max_output: 1_000 };
const HOSTS = {
  openai: await startTestGateway({ provider: { dialects: ['chat'], models: { echo: PRICES } } }),
  responses: await startTestGateway({ provider: { dialects: ['responses'], models: { echo: PRICES } } }),
  anthropic: await startTestGateway({ provider: { kind: 'anthropic', models: { echo: PRICES } } }),
  gemini: await startTestGateway({ provider: { kind: 'gemini', models: { echo: PRICES } } }),
};
after(() => Promise.all(Object.values(HOSTS).map((gateway) => gateway.stop())));
afterEach(() => Promise.all(Object.values(HOSTS).map((gateway) => gateway.assertSettled())));

const WORDS = {
  openai: {
    error: {
      message: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
    },
  },
  anthropic: {
    type: 'error',
    error: { type: 'invalid_request_error', message: 'prompt is too long: 9000 tokens > 8192 maximum' },
  },
  gemini: {
    error: {
      code: 400,
      message: 'The input token count (9000) exceeds the maximum number of tokens allowed (8192).',
      status: 'INVALID_ARGUMENT',
    },
  },
};

const MESSAGES = [{ role: 'user', content: 'Hello!' }];
interface Seen {
  readonly code?: unknown;
  readonly message: string;
  readonly status?: unknown;
  readonly type?: unknown;
}
const CLIENTS: readonly (readonly [dialect: string, path: string, body: object, assertSays: (error: Seen) => void])[] =
  [
    [
      'chat',
      '/v1/chat/completions',
      { messages: MESSAGES },
      ({ code, message }) => {
        assert.equal(code, 'invalid_request');
        assert.match(message, /context_length_exceeded/);
      },
    ],
    [
      'messages',
      '/v1/messages',
      { messages: MESSAGES, max_tokens: 10 },
      ({ type, message }) => {
        assert.equal(type, 'invalid_request_error');
        assert.equal(message, 'prompt is too long: 9000 tokens > 8192 maximum');
      },
    ],
    ['responses', '/v1/responses', { input: 'Hello!' }, ({ code }) => assert.equal(code, 'context_length_exceeded')],
    [
      'gemini',
      '/v1beta/models/fake/echo:generateContent',
      { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] },
      ({ status, message }) => {
        assert.equal(status, 'INVALID_ARGUMENT');
        assert.equal(message, 'The input token count (9000) exceeds the maximum number of tokens allowed (8192).');
      },
    ],
  ];

for (const host of ['openai', 'anthropic', 'gemini'] as const) {
  describe(`a host of ${host}`, () => {
    for (const [dialect, path, body, assertSays] of CLIENTS) {
      test(`tells a client of ${dialect}, and it costs nothing`, async () => {
        const gateway = HOSTS[host];
        const key = gateway.key();
        gateway.upstream.follow((call) => call.answer(400, WORDS[host]));
        const reply = await gateway.post(path, key, { model: 'fake/echo', ...body });
        assert.equal(reply.status, 400, reply.text);
        assertSays(JSON.parse(reply.text).error);
        assert.equal((await gateway.row(key)).cost_nanos, 0);
      });
    }
  });
}

describe('a stream of responses that fails', () => {
  const created = event({
    type: 'response.created',
    sequence_number: 0,
    response: { id: 'resp_1', status: 'in_progress' },
  });
  const failing =
    (code: string, before = ''): Script =>
    (call) => {
      const response = { id: 'resp_1', status: 'failed', error: { code, message: 'It does not fit.' } };
      call.stream();
      call.send(created + before + event({ type: 'response.failed', sequence_number: 9, response }));
      call.end();
    };
  const send = async (script: Script) => {
    const gateway = HOSTS.responses;
    const key = gateway.key();
    gateway.upstream.follow(script);
    const { text } = await gateway.post('/v1/responses', key, { model: 'fake/echo', input: 'Hello!', stream: true });
    const last = JSON.parse(text.trim().split('data: ').at(-1) ?? '');
    return { last, row: await gateway.row(key) };
  };

  for (const code of ['context_length_exceeded', 'invalid_prompt']) {
    test(`with ${code} before any output keeps the code and costs nothing`, async () => {
      const { last, row } = await send(failing(code));
      assert.deepEqual([last.type, last.response.error.code], ['response.failed', code]);
      assert.deepEqual([row.outcome, row.cost_nanos], ['invalid_request', 0]);
    });
  }

  test('after output is charged, also with such a code', async () => {
    const delta = event({
      type: 'response.output_text.delta',
      sequence_number: 1,
      output_index: 0,
      item_id: 'm',
      content_index: 0,
      delta: 'Some words.',
    });
    const { row } = await send(failing('context_length_exceeded', delta));
    assert.ok(row.cost_nanos > 0);
  });

  test('with a fault of the host is charged as before, and keeps the code of the gateway', async () => {
    const { last, row } = await send(failing('server_error'));
    assert.equal(last.response.error.code, 'upstream_error');
    assert.ok(row.cost_nanos > 0);
  });
});
