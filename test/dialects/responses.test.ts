/** `POST /v1/responses` and `POST /v1/embeddings` at a host that speaks them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { streaming } from '../support/answers.ts';
import { sharedGateway, type TestKey } from '../support/gateway.ts';

const gateway = await sharedGateway();

const USAGE = { input_tokens: 10, input_tokens_details: { cached_tokens: 4 }, output_tokens: 6, total_tokens: 16 };
/** 6 input tokens at 1,000 nanodollars, 4 cached ones at 250, 6 output tokens at 2,000. */
const NANOS = 6_000 + 1_000 + 12_000;
const response = (fields: object = {}) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'vendor-echo-1',
  output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hi.' }] }],
  usage: USAGE,
  ...fields,
});
let number = 0;
const event = (type: string, fields: object = {}) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number++, ...fields })}\n\n`;
const CREATED = event('response.created', { response: response({ status: 'in_progress', output: [], usage: null }) });
const TEXT = event('response.output_text.delta', { item_id: 'm', output_index: 0, content_index: 0, delta: 'Hi.' });
function post(key: TestKey, fields: object = {}, path = '/v1/responses') {
  return gateway.post(path, key, { model: 'fake/echo', input: 'Hello!', ...fields });
}

describe('a response', () => {
  test('is relayed as it is and charged, and its request says that the host must not keep it', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, response()));
    const reply = await post(key, { new: [1] });
    assert.deepEqual(JSON.parse(reply.text), response());
    const call = await gateway.upstream.call();
    assert.equal(call.path, '/base/v1/responses');
    assert.deepEqual(JSON.parse(call.body), { store: false, model: 'vendor-echo-1', input: 'Hello!', new: [1] });
    assert.equal(gateway.rows(key)[0]?.cost_nanos, NANOS);
  });

  for (const [field, value] of [
    ['store', true],
    ['background', true],
    ['previous_response_id', 'resp_0'],
    ['conversation', 'conv_1'],
    ['prompt', { id: 'pmpt_1' }],
    ['input', [{ type: 'item_reference', id: 'msg_1' }]],
    ['input', [{ id: 'msg_1' }]],
    ['max_tokens', 5],
    ['n', undefined],
  ] as const) {
    if (value === undefined) continue;
    test(`is refused with ${field}: ${JSON.stringify(value)}`, async () => {
      const reply = await post(gateway.key(), { [field]: value });
      assert.deepEqual([reply.status, reply.error.code], [400, 'invalid_request']);
      assert.match(reply.error.message, new RegExp(`^${field}`));
    });
  }
});

describe('a stream of a response', () => {
  for (const [status, type] of [
    ['completed', 'response.completed'],
    ['incomplete', 'response.incomplete'],
  ] as const) {
    test(`ends with ${type}, once it is settled`, async () => {
      const key = gateway.key();
      const last = event(type, { response: response({ status }) });
      gateway.upstream.follow(streaming(CREATED, TEXT, last));
      const reply = await post(key, { stream: true });
      assert.equal(reply.text, CREATED + TEXT + last);
      assert.equal(gateway.rows(key)[0]?.cost_nanos, NANOS);
    });
  }

  test('may repeat long instructions in its events', async () => {
    const key = gateway.key();
    const instructions = 'x'.repeat(1_200_000);
    const last = event('response.completed', { response: response({ instructions }) });
    gateway.upstream.follow(streaming(CREATED, TEXT, last));
    const reply = await post(key, { stream: true });
    assert.equal(reply.text, CREATED + TEXT + last);
    assert.equal(gateway.rows(key)[0]?.cost_nanos, NANOS);
  });

  test('without usage is charged for what was written, once', async () => {
    const key = gateway.key();
    const words = 'many words '.repeat(200);
    const delta = event('response.output_text.delta', { delta: words });
    const output = [{ type: 'message', content: [{ type: 'output_text', text: words }] }];
    const last = event('response.completed', { response: response({ usage: null, output }) });
    gateway.upstream.follow(streaming(CREATED, delta, last));
    await post(key, { stream: true });
    const [row] = gateway.rows(key);
    assert.ok(
      row !== undefined && row.completion_tokens > 380 && row.completion_tokens < 420,
      `${row?.completion_tokens}`,
    );
  });

  test('that breaks off is charged at least for what an event before its end reports', async () => {
    const key = gateway.key();
    const stopped = event('response.cancelled', { response: response({ status: 'cancelled', output: [] }) });
    gateway.upstream.follow(streaming(CREATED, TEXT, stopped));
    await post(key, { stream: true });
    assert.equal(gateway.rows(key)[0]?.cost_nanos, NANOS);
  });

  for (const [what, ...rest] of [
    ['breaks off'],
    [
      'fails',
      event('response.failed', {
        response: response({ status: 'failed', error: { code: 'server_error', message: 'x' } }),
      }),
    ],
    ['has an error', event('error', { code: 'server_error', message: 'x' })],
  ] as const) {
    test(`that ${what} ends with response.failed`, async () => {
      const key = gateway.key();
      gateway.upstream.follow(streaming(CREATED, TEXT, ...rest));
      const reply = await post(key, { stream: true });
      assert.ok(reply.text.startsWith(CREATED + TEXT));
      const last = JSON.parse(reply.text.split('data: ').at(-1) ?? '');
      assert.deepEqual([last.type, last.response.id, last.response.status], ['response.failed', 'resp_1', 'failed']);
      assert.equal(last.response.error.code, 'upstream_error');
      assert.equal(gateway.rows(key)[0]?.outcome, 'upstream_error');
    });
  }
});

describe('embeddings', () => {
  const answer = {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
    usage: { prompt_tokens: 7, total_tokens: 7 },
  };

  test('are relayed and charged by their input', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, answer));
    const reply = await post(key, { input: ['a', 'b'] }, '/v1/embeddings');
    assert.deepEqual(JSON.parse(reply.text), answer);
    assert.equal((await gateway.upstream.call()).path, '/base/v1/embeddings');
    const [row] = gateway.rows(key);
    assert.deepEqual([row?.prompt_tokens, row?.completion_tokens, row?.cost_nanos], [7, 0, 7_000]);
  });

  test('are charged by a total alone', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, { ...answer, usage: { total_tokens: 70 } }));
    await post(key, { input: 'a' }, '/v1/embeddings');
    const [row] = gateway.rows(key);
    assert.deepEqual([row?.prompt_tokens, row?.completion_tokens, row?.source], [70, 0, 'reported']);
  });

  for (const input of [undefined, [], {}, [['a']], [1, 'a']]) {
    test(`are refused with input ${JSON.stringify(input)}`, async () => {
      const reply = await post(gateway.key(), { input }, '/v1/embeddings');
      assert.match(reply.error.message, /^input: expected/);
    });
  }

  for (const status of [403, 404]) {
    test(`of a model for chat, which hosts answer with ${status}, say what is wrong, and none of the host's words`, async () => {
      gateway.upstream.follow((call) => call.answer(status, { error: { message: 'not for our account' } }));
      const reply = await post(gateway.key(), { input: 'a' }, '/v1/embeddings');
      assert.deepEqual([reply.status, reply.error.code], [424, 'upstream_error']);
      assert.match(reply.error.message, /Embeddings need a model for embeddings/);
      assert.doesNotMatch(reply.error.message, /account/);
    });
  }

  test('are counted where the host reports no usage', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, { ...answer, usage: undefined }));
    await post(
      key,
      {
        input: [
          [1, 2, 3],
          [4, 5],
        ],
      },
      '/v1/embeddings',
    );
    assert.equal(gateway.rows(key)[0]?.prompt_tokens, 5);
  });
});
