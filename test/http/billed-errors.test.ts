/** Errors of a host that has worked all the same: what they report is charged, in every dialect, whole or within a stream. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answering, chunk, event, streaming } from '../support/answers.ts';
import type { Script } from '../support/fake-upstream.ts';
import { type Row, sharedGateway } from '../support/gateway.ts';

const gateway = await sharedGateway({ provider: { dialects: ['chat', 'responses', 'messages', 'embeddings'] } });

type ClientDialect = 'chat' | 'responses' | 'messages' | 'embeddings';

const REQUESTS: Readonly<Record<ClientDialect, { readonly path: string; readonly fields: object }>> = {
  chat: { path: '/v1/chat/completions', fields: { messages: [{ role: 'user', content: 'Hello!' }] } },
  responses: { path: '/v1/responses', fields: { input: 'Hello!' } },
  messages: { path: '/v1/messages', fields: { max_tokens: 50, messages: [{ role: 'user', content: 'Hello!' }] } },
  embeddings: { path: '/v1/embeddings', fields: { input: 'Hello!' } },
};

/** Sends a request that fails, and returns its row. */
async function fail(dialect: ClientDialect, script: Script, stream = false): Promise<Row> {
  const { path, fields } = REQUESTS[dialect];
  const key = gateway.key();
  gateway.upstream.follow(script);
  const reply = await gateway.post(path, key, { model: 'fake/echo', ...fields, ...(stream && { stream }) });
  assert.ok(reply.status >= 400 || /"code":"upstream_error"/.test(reply.text), reply.text);
  const row = await gateway.row(key);
  assert.match(row.outcome, /^(?:upstream_error|invalid_request)$/);
  // A client that tried again would be billed again.
  if (reply.status === 502 && row.source === 'reported') assert.equal(reply.headers.get('x-should-retry'), 'false');
  return row;
}

const figuresOf = ({ source, prompt_tokens, completion_tokens, cost_nanos }: Row) => [
  source,
  prompt_tokens,
  completion_tokens,
  cost_nanos,
];

const ERROR = { message: 'The model has crashed.', type: 'server_error', code: null };
/** 200,000 of output, of which no client has seen anything. */
const CHAT_USAGE = { prompt_tokens: 1_000, completion_tokens: 200_000, total_tokens: 201_000 };
const NEW_USAGE = { input_tokens: 1_000, output_tokens: 200_000 };
const BILLED = ['reported', 1_000, 200_000, 1_000_000 + 400_000_000];
const FREE = ['counted', 0, 0, 0];

describe('a complete error that reports usage is charged by it:', () => {
  const BODIES: readonly (readonly [what: string, dialect: ClientDialect, body: unknown])[] = [
    ['beside the error', 'chat', { error: ERROR, usage: CHAT_USAGE }],
    ['within the error', 'chat', { error: { ...ERROR, usage: CHAT_USAGE } }],
    ['in an array', 'chat', [{ error: ERROR, usage: CHAT_USAGE }]],
    ['in a flat error', 'chat', { object: 'error', message: 'No.', usage: CHAT_USAGE }],
    ['in the names of another dialect', 'chat', { error: ERROR, usage: NEW_USAGE }],
    ['in the names of another dialect, the other way round', 'responses', { error: ERROR, usage: CHAT_USAGE }],
    ['in a response', 'responses', { status: 'failed', error: ERROR, output: [], usage: NEW_USAGE }],
    ['in a response within it', 'responses', { error: ERROR, response: { status: 'failed', usage: NEW_USAGE } }],
    ['in messages', 'messages', { type: 'error', error: ERROR, usage: NEW_USAGE }],
    ['within an error of messages', 'messages', { type: 'error', error: { ...ERROR, usage: NEW_USAGE } }],
  ];
  for (const [what, dialect, body] of BODIES) {
    test(`${what}, whatever its status`, async () => {
      // No answer is an array, whatever it holds.
      for (const status of [...(Array.isArray(body) ? [] : [200]), 400, 401, 422, 429, 500, 503]) {
        assert.deepEqual(figuresOf(await fail(dialect, answering(body, status))), BILLED, `status ${status}`);
        assert.deepEqual(figuresOf(await fail(dialect, answering(body, status), true)), BILLED, `stream ${status}`);
      }
    });
  }

  test('of input alone, without a token of output', async () => {
    const body = { error: ERROR, usage: { prompt_tokens: 30, completion_tokens: 0 } };
    assert.deepEqual(figuresOf(await fail('chat', answering(body, 500))), ['reported', 30, 0, 30_000]);
    const embedding = { error: ERROR, usage: { prompt_tokens: 30, total_tokens: 30 } };
    assert.deepEqual(figuresOf(await fail('embeddings', answering(embedding, 500))), ['reported', 30, 0, 30_000]);
  });

  test('and one that reports none, or nothing usable, is free', async () => {
    const none = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    for (const usage of [undefined, null, none, { prompt_tokens: -5, completion_tokens: 2 }, 'much']) {
      for (const status of [200, 400, 500]) {
        assert.deepEqual(figuresOf(await fail('chat', answering({ error: ERROR, usage }, status))), FREE);
      }
    }
  });
});

describe('a response that has failed with some output', () => {
  const output = [{ type: 'message', content: [{ type: 'output_text', text: 'many words '.repeat(200) }] }];
  const failed = { id: 'resp_1', status: 'failed', error: ERROR, output };

  test('is charged for what it has written where it reports nothing, or less', async () => {
    for (const usage of [null, { input_tokens: 10, output_tokens: 1 }]) {
      const row = await fail('responses', answering({ ...failed, usage }));
      assert.equal(row.source, 'counted');
      assert.ok(row.completion_tokens > 380 && row.completion_tokens < 420, `${row.completion_tokens}`);
    }
  });

  test('is charged by its report where that is more', async () => {
    assert.deepEqual(figuresOf(await fail('responses', answering({ ...failed, usage: NEW_USAGE }))), BILLED);
  });
});

const named = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const response = (fields: object) => ({ id: 'resp_1', object: 'response', created_at: 1, output: [], ...fields });
const CREATED = named('response.created', { response: response({ status: 'in_progress', usage: null }) });
const WORDS = 'many words '.repeat(200);
const WRITTEN: Readonly<Record<'chat' | 'responses' | 'messages', readonly string[]>> = {
  chat: [chunk(WORDS)],
  responses: [CREATED, named('response.output_text.delta', { delta: WORDS })],
  messages: [
    named('message_start', { message: { id: 'msg_1', content: [], usage: { input_tokens: 12, output_tokens: 1 } } }),
    named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: WORDS } }),
  ],
};
const START: typeof WRITTEN = {
  chat: [chunk('')],
  responses: [CREATED],
  messages: WRITTEN.messages.slice(0, 2),
};

describe('an error in a stream that reports usage', () => {
  const EVENTS: readonly (readonly [what: string, dialect: keyof typeof WRITTEN, (usage: object) => string])[] = [
    ['response.failed', 'responses', (usage) => named('response.failed', { response: failedWith(usage) })],
    ['an error event', 'responses', (usage) => named('error', { ...ERROR, usage })],
    ['an error chunk', 'chat', (usage) => event({ error: ERROR, usage })],
    [
      'an error chunk with a choice that ends',
      'chat',
      (usage) =>
        event({ error: ERROR, usage, choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }] }),
    ],
    ['an error event', 'messages', (usage) => named('error', { error: ERROR, usage })],
    ['an error event with it inside', 'messages', (usage) => named('error', { error: { ...ERROR, usage } })],
  ];
  const failedWith = (usage: object) => response({ status: 'failed', error: ERROR, usage });
  const usageOf = (dialect: string, input: number, output: number) =>
    dialect === 'chat'
      ? { prompt_tokens: input, completion_tokens: output }
      : { input_tokens: input, output_tokens: output };

  for (const [what, dialect, errorWith] of EVENTS) {
    const all = errorWith(usageOf(dialect, 1_000, 200_000));
    test(`${what} of ${dialect}, is charged by it, as the first event or later`, async () => {
      for (const before of [[], START[dialect], WRITTEN[dialect]]) {
        const row = await fail(dialect, streaming(...before, all), true);
        assert.deepEqual(figuresOf(row), BILLED, `after ${before.length} events`);
      }
    });

    test(`${what} of ${dialect}, is charged for what was written where that is more`, async () => {
      const little = errorWith(usageOf(dialect, 1_000, 2));
      const row = await fail(dialect, streaming(...WRITTEN[dialect], little), true);
      assert.deepEqual([row.source, row.prompt_tokens], ['counted', 1_000]);
      assert.ok(row.completion_tokens > 380 && row.completion_tokens < 420, `${row.completion_tokens}`);
    });

    test(`${what} of ${dialect}, may report input alone where nothing was written`, async () => {
      const row = await fail(dialect, streaming(...START[dialect], errorWith(usageOf(dialect, 30, 0))), true);
      assert.deepEqual(figuresOf(row), ['reported', 30, 0, 30_000]);
    });
  }

  test('of messages, may report what its start has not: output alone', async () => {
    const error = named('error', { error: ERROR, usage: { output_tokens: 200_000 } });
    const row = await fail('messages', streaming(...WRITTEN.messages, error), true);
    assert.deepEqual(figuresOf(row), ['reported', 12, 200_000, 12_000 + 400_000_000]);
  });

  test('of responses, is charged for the output that it brings itself', async () => {
    const output = [{ type: 'message', content: [{ type: 'output_text', text: WORDS }] }];
    const failed = response({ status: 'failed', error: ERROR, output, usage: null });
    const row = await fail('responses', streaming(named('response.failed', { response: failed })), true);
    assert.equal(row.source, 'counted');
    assert.ok(row.completion_tokens > 380 && row.completion_tokens < 420, `${row.completion_tokens}`);
  });
});

describe('a prompt that Azure has read and filtered', () => {
  const words = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.";
  const content_filter_result = { violence: { filtered: true, severity: 'high' } };
  const inner = { code: 'ResponsibleAIPolicyViolation', content_filter_result };
  const FILTERED: readonly object[] = [
    { message: words, type: null, param: 'prompt', code: 'content_filter', status: 400, innererror: inner },
    { message: words, code: 'content_filter' },
    { message: words, innererror: { code: 'ResponsibleAIPolicyViolation' } },
    { message: words, innererror: { content_filter_result } },
  ];

  for (const [index, error] of FILTERED.entries()) {
    test(`is charged for its counted input and no output, by mark ${index + 1}`, async () => {
      for (const [stream, script] of [
        [false, answering({ error }, 400)],
        [true, answering({ error }, 400)],
        [true, streaming(event({ error }))],
      ] as const) {
        const row = await fail('chat', script, stream);
        assert.deepEqual([row.source, row.completion_tokens], ['counted', 0]);
        assert.ok(row.prompt_tokens >= 4 && row.prompt_tokens <= 8, `${row.prompt_tokens}`);
        assert.equal(row.cost_nanos, row.prompt_tokens * 1_000);
      }
    });
  }

  test('is charged as reported, where usage is reported', async () => {
    const row = await fail('chat', answering({ error: FILTERED[0], usage: CHAT_USAGE }, 400));
    assert.deepEqual(figuresOf(row), BILLED);
  });

  test('is told apart from other invalid requests, which are free', async () => {
    for (const code of ['context_length_exceeded', 'invalid_prompt', 'content_policy_violation', null]) {
      assert.deepEqual(figuresOf(await fail('chat', answering({ error: { message: words, code } }, 400))), FREE);
    }
  });
});
