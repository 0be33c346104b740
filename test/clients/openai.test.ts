/**
 * The official OpenAI client against a real gateway: completions, streams, tools, models, typed
 * errors and retries.
 */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import OpenAI, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  type ClientOptions,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from 'openai';
import type { TestGateway, TestKey } from '../support/gateway.ts';
import { type Behaviour, collected, type Host, startHosts } from './hosts.ts';

const hosts = await startHosts();
const [{ gateway: plain, model: plainModel }] = hosts as [Host];

after(async () => {
  for (const { gateway } of hosts) await gateway.stop();
});
afterEach(async () => {
  for (const { gateway } of hosts) await gateway.assertSettled();
});

/** A client that counts the requests it sends. */
function clientOf(gateway: TestGateway, key: TestKey, options: ClientOptions = {}) {
  let sent = 0;
  const client = new OpenAI({
    baseURL: `http://127.0.0.1:${gateway.port}/v1`,
    apiKey: key.secret,
    maxRetries: 0,
    fetch: (url, init) => {
      sent++;
      return fetch(url, init);
    },
    ...options,
  });
  return { client, sent: () => sent };
}

const user = (content: OpenAI.ChatCompletionUserMessageParam['content']) => [{ role: 'user' as const, content }];
const TOOLS: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'look_up', parameters: { type: 'object', properties: {} } } },
];

for (const host of hosts) {
  const { gateway, model } = host;
  const asking = (behaviour: Behaviour) => ({ model, messages: user(host.prepare(behaviour)) });

  describe(`with ${host.what} the client`, () => {
    test('reads a completion, its usage and the request id', async () => {
      const { client } = clientOf(gateway, gateway.key());
      const answer = await client.chat.completions.create(asking('words'));
      assert.equal(answer.choices[0]?.message.content, 'word word word');
      assert.equal(answer.choices[0]?.finish_reason, 'stop');
      assert.ok((answer.usage?.prompt_tokens ?? 0) > 0);
      assert.match(answer._request_id ?? '', /^req_/);
    });

    test('reads a stream word by word, and its usage if it requests it', async () => {
      const { client } = clientOf(gateway, gateway.key());
      for (const include_usage of [true, false]) {
        const stream = await client.chat.completions.create({
          ...asking('words'),
          stream: true,
          stream_options: { include_usage },
        });
        const chunks = await collected(stream);
        const words = chunks.map(({ choices }) => choices[0]?.delta.content ?? '');
        assert.deepEqual(words.filter(Boolean), ['word', ' word', ' word']);
        assert.equal(chunks.filter(({ usage }) => usage != null).length, include_usage ? 1 : 0);
      }
    });

    test('assembles a stream with its own helper', async () => {
      const { client } = clientOf(gateway, gateway.key());
      const final = await client.chat.completions.stream(asking('words')).finalChatCompletion();
      assert.equal(final.choices[0]?.message.content, 'word word word');
    });

    test('gets a tool call, in a completion and in a stream', async () => {
      const { client } = clientOf(gateway, gateway.key());
      const whole = await client.chat.completions.create({ ...asking('tool'), tools: TOOLS });
      const streamed = await client.chat.completions.stream({ ...asking('tool'), tools: TOOLS }).finalChatCompletion();
      for (const { choices } of [whole, streamed]) {
        assert.equal(choices[0]?.finish_reason, 'tool_calls');
        const [call] = choices[0]?.message.tool_calls ?? [];
        assert.equal(call?.type, 'function');
        const { name, arguments: text } = (call as OpenAI.ChatCompletionMessageFunctionToolCall).function;
        assert.deepEqual([name, text], ['look_up', '{}']);
      }
    });

    test('sends an image as a data URL, which is not counted by its bytes', async () => {
      const key = gateway.key();
      const url = `data:image/png;base64,${'A'.repeat(200_000)}`;
      const content = [
        { type: 'text' as const, text: host.prepare('words') },
        { type: 'image_url' as const, image_url: { url } },
      ];
      const answer = await clientOf(gateway, key).client.chat.completions.create({ model, messages: user(content) });
      assert.equal(answer.choices[0]?.message.content, 'word word word');
      assert.ok((await gateway.row(key)).prompt_tokens < 2_000);
    });

    test('lists models, and finds one by its id', async () => {
      const { client } = clientOf(gateway, gateway.key());
      assert.deepEqual(
        (await collected(client.models.list())).map(({ id }) => id),
        [model],
      );
      const found = await client.models.retrieve(model);
      assert.deepEqual([found.id, found.object, found.owned_by], [model, 'model', model.split('/')[0]]);
      await assert.rejects(client.models.retrieve('nobody/nothing'), NotFoundError);
    });

    test('throws a typed error for an upstream that fails, after as many attempts as configured', async () => {
      const { client, sent } = clientOf(gateway, gateway.key(), { maxRetries: 1 });
      const error = await rejection(client.chat.completions.create(asking('error')), InternalServerError);
      assert.deepEqual([error.status, error.code, sent()], [502, 'upstream_error', 2]);
      assert.match(error.requestID ?? '', /^req_/);
    });

    for (const behaviour of ['failure', 'break'] as const) {
      test(`throws in the middle of a stream that ends in a ${behaviour}`, async () => {
        const { client, sent } = clientOf(gateway, gateway.key(), { maxRetries: 2 });
        const stream = await client.chat.completions.create({ ...asking(behaviour), stream: true });
        let text = '';
        const reading = async () => {
          for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
        };
        const error = await rejection(reading(), APIError);
        assert.deepEqual([error.code, text, sent()], ['upstream_error', 'word word', 1]);
      });
    }

    test('aborts a stream, and pays for what it received', async () => {
      const key = gateway.key();
      const stream = await clientOf(gateway, key).client.chat.completions.create({
        ...asking('silence'),
        stream: true,
      });
      for await (const { choices } of stream) if (choices[0]?.delta.content === ' word') stream.controller.abort();
      const row = await gateway.row(key);
      assert.deepEqual([row.outcome, row.source], ['cancelled', 'counted']);
      assert.ok(row.cost_nanos > 0);
    });

    test('aborts a completion that it waits for', async () => {
      const key = gateway.key();
      const controller = new AbortController();
      const { signal } = controller;
      const waiting = clientOf(gateway, key).client.chat.completions.create(asking('late'), { signal });
      const failed = assert.rejects(waiting, APIUserAbortError);
      const check = setInterval(() => {
        if (gateway.holds(key) > 0) controller.abort();
      }, 1);
      await failed;
      clearInterval(check);
      assert.equal((await gateway.row(key)).outcome, 'cancelled');
    });
  });
}

/** What a promise rejects with, as an error of this class. */
async function rejection<T>(promise: Promise<unknown>, type: new (...args: never[]) => T): Promise<T> {
  const error = await promise.then(
    () => assert.fail('it was fulfilled'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof type, String(error));
  return error;
}

interface Refusal {
  readonly code: string;
  readonly status: number;
  readonly type: new (...args: never[]) => APIError;
  readonly key?: (gateway: TestGateway) => TestKey;
  readonly fields?: object;
  readonly options?: ClientOptions;
}

const disabled = (gateway: TestGateway) => {
  const key = gateway.key();
  gateway.setState(key, 'disabled');
  return key;
};

const REFUSALS: readonly Refusal[] = [
  { code: 'invalid_request', status: 400, type: BadRequestError, fields: { temperature: 3 } },
  {
    code: 'unauthorized',
    status: 401,
    type: AuthenticationError,
    options: { defaultHeaders: { Authorization: 'Basic x' } },
  },
  { code: 'invalid_api_key', status: 401, type: AuthenticationError, options: { apiKey: 'sk-inf-mistyped' } },
  {
    code: 'insufficient_credit',
    status: 402,
    type: APIError,
    fields: { max_tokens: 5_000_000, n: 128 },
    key: (gateway) => gateway.key({ tpm: 1_000_000_000 }),
  },
  { code: 'spend_limit_reached', status: 402, type: APIError, key: (gateway) => gateway.key({ spendLimitNanos: 0n }) },
  { code: 'api_key_disabled', status: 403, type: PermissionDeniedError, key: disabled },
  {
    code: 'model_not_allowed',
    status: 403,
    type: PermissionDeniedError,
    key: (gateway) => gateway.key({ allowlist: [] }),
  },
  { code: 'model_not_found', status: 404, type: NotFoundError, fields: { model: 'gpt-4o' } },
];

describe('a refusal that waiting does not fix is a typed error, and not retried:', () => {
  for (const { code, status, type, key, fields, options } of REFUSALS) {
    test(code, async () => {
      const { client, sent } = clientOf(plain, key?.(plain) ?? plain.key(), { maxRetries: 2, ...options });
      const request = client.chat.completions.create({ model: plainModel, messages: user('hi'), ...fields });
      const error = await rejection(request, type);
      assert.deepEqual([error.code, error.status, sent()], [code, status, 1]);
      assert.match(error.requestID ?? '', /^req_/);
    });
  }

  test('rate_limited, for a request that is larger than the limit', async () => {
    const { client, sent } = clientOf(plain, plain.key({ tpm: 100 }), { maxRetries: 2 });
    const request = client.chat.completions.create({ model: plainModel, messages: user('hi'), max_tokens: 100 });
    const error = await rejection(request, RateLimitError);
    assert.deepEqual([error.code, error.status, sent()], ['rate_limited', 429, 1]);
    assert.deepEqual([error.headers.get('retry-after'), error.headers.get('x-should-retry')], ['60', 'false']);
  });
});

describe('a refusal that waiting fixes', () => {
  test('is retried after the time that the gateway names, and then succeeds', async () => {
    const key = plain.key({ concurrency: 1 });
    const other = clientOf(plain, key).client;
    const open = await other.chat.completions.create({
      model: plainModel,
      messages: user('/words 9 /stall 2'),
      stream: true,
    });
    const answers: [status: number, retryAfter: string | null][] = [];
    const { client } = clientOf(plain, key, {
      maxRetries: 1,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        answers.push([response.status, response.headers.get('retry-after')]);
        open.controller.abort();
        return response;
      },
    });
    const answer = await client.chat.completions.create({ model: plainModel, messages: user('/words 1') });
    assert.equal(answer.choices[0]?.message.content, 'word');
    assert.deepEqual(answers, [
      [429, '1'],
      [200, null],
    ]);
  });

  test('is a typed error if the client does not retry', async () => {
    const key = plain.key({ rpm: 1 });
    const { client } = clientOf(plain, key);
    const asked = { model: plainModel, messages: user('hi') };
    await client.chat.completions.create(asked);
    const error = await rejection(client.chat.completions.create(asked), RateLimitError);
    assert.deepEqual([error.code, error.status], ['rate_limited', 429]);
    assert.match(error.headers.get('retry-after') ?? '', /^(59|60)$/);
    assert.equal(error.headers.get('x-ratelimit-remaining-requests'), '0');
  });
});
