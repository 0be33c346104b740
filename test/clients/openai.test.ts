/**
 * The official OpenAI client against a real gateway: completions, streams, tools, models, typed
 * errors and retries, with hosts of its own dialect and through the translation to messages.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
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
import { zodFunction } from 'openai/helpers/zod';
import { z } from 'zod';
import type { TestGateway, TestKey } from '../support/gateway.ts';
import {
  assertCharged,
  assertEnded,
  collected,
  HOSTS,
  REFUSED_KEYS,
  type ReadUsage,
  rejection,
  startDialectHosts,
  watchedFetch,
} from './dialect-hosts.ts';

const { gateway, root } = await startDialectHosts();

function clientOf(key: TestKey, options: ClientOptions = {}) {
  const { fetch, responses } = watchedFetch();
  const own = { baseURL: `${root}/v1`, apiKey: key.secret, maxRetries: 0, fetch };
  return { client: new OpenAI({ ...own, ...options }), responses };
}

const user = (content: OpenAI.ChatCompletionUserMessageParam['content']) => [{ role: 'user' as const, content }];
const TOOLS: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'look_up', parameters: { type: 'object', properties: {} } } },
];

const WITH_USAGE = { stream: true as const, stream_options: { include_usage: true } };

function usageOf({ usage }: { usage?: OpenAI.CompletionUsage | null | undefined }): ReadUsage {
  assert.ok(usage);
  const { cached_tokens: cached = 0, cache_write_tokens: written = 0 } = usage.prompt_tokens_details ?? {};
  return { input: usage.prompt_tokens, cached, written, output: usage.completion_tokens };
}

for (const host of HOSTS.chat) {
  const model = `${host}/echo`;
  const asking = (prompt: string) => ({ model, messages: user(prompt) });

  describe(`with a host of ${host} the client`, () => {
    test('reads a completion, which is charged as its usage says, and the request id', async () => {
      const key = gateway.key();
      const answer = await clientOf(key).client.chat.completions.create(asking('/words 3 /cache 4 /cache-write 2'));
      assert.deepEqual(texts(answer), ['word word word', 'stop']);
      const usage = usageOf(answer);
      assert.deepEqual([usage.cached, usage.written, usage.output], [4, 2, 3]);
      assertCharged(gateway, key, usage);
      assert.equal(answer._request_id, gateway.rows(key)[0]?.request_id);
    });

    test('reads a stream word by word, and its usage if it requests it', async () => {
      const { client } = clientOf(gateway.key());
      for (const include_usage of [true, false]) {
        const asked = { ...asking('/words 3'), ...WITH_USAGE, stream_options: { include_usage } };
        const chunks = await collected(await client.chat.completions.create(asked));
        const words = chunks.map(({ choices }) => choices[0]?.delta.content ?? '');
        assert.deepEqual(words.filter(Boolean), ['word', ' word', ' word']);
        assert.equal(chunks.filter(({ usage }) => usage != null).length, include_usage ? 1 : 0);
      }
    });

    test('reads what was reasoned, and assembles a stream with its own helper', async () => {
      const key = gateway.key();
      const { completions } = clientOf(key).client.chat;
      const asked = { ...asking('/think 2 /words 3'), reasoning_effort: 'low' as const };
      const whole = await completions.create(asked);
      const streamed = await completions.stream({ ...asked, ...WITH_USAGE }).finalChatCompletion();
      for (const answer of [whole, streamed]) {
        assert.deepEqual(texts(answer), ['word word word', 'stop']);
        const { completion_tokens: output, completion_tokens_details: details } = answer.usage ?? {};
        assert.deepEqual([output, details?.reasoning_tokens], [5, 2]);
      }
      assertCharged(gateway, key, usageOf(whole), usageOf(streamed));
    });

    test('gets a tool call, in a completion and in a stream', async () => {
      const { completions } = clientOf(gateway.key()).client.chat;
      const asked = { ...asking('/tool'), tools: TOOLS };
      for (const { choices } of [
        await completions.create(asked),
        await completions.stream(asked).finalChatCompletion(),
      ]) {
        assert.equal(choices[0]?.finish_reason, 'tool_calls');
        const [call] = choices[0]?.message.tool_calls ?? [];
        assert.equal(call?.type, 'function');
        const { name, arguments: text } = (call as OpenAI.ChatCompletionMessageFunctionToolCall).function;
        assert.deepEqual([name, text], ['look_up', '{}']);
      }
    });

    for (const stream of [false, true]) {
      test(`runs functions until the text${stream ? ' of a stream' : ''}`, async () => {
        const key = gateway.key();
        const paths: string[] = [];
        const read = ({ path }: { path: string }) => `the content of file ${paths.push(path)}`;
        const tools = [zodFunction({ name: 'read', parameters: z.object({ path: z.string() }), function: read })];
        const asked = { ...asking('/call read {"path": "a.txt"} /call read {"path": "b.txt"} /words 2'), tools };
        const { completions } = clientOf(key).client.chat;
        const runner = stream ? completions.runTools({ ...asked, ...WITH_USAGE }) : completions.runTools(asked);
        assert.equal(await runner.finalContent(), 'word word');
        assert.deepEqual(paths, ['a.txt', 'b.txt']);
        assertCharged(gateway, key, ...runner.allChatCompletions().map(usageOf));
      });
    }

    test('sends an image as a data URL, which is not counted by its bytes', async () => {
      const key = gateway.key();
      const url = `data:image/png;base64,${'A'.repeat(200_000)}`;
      const content = [
        { type: 'text' as const, text: '/words 3' },
        { type: 'image_url' as const, image_url: { url } },
      ];
      const answer = await clientOf(key).client.chat.completions.create({ model, messages: user(content) });
      assert.deepEqual(texts(answer), ['word word word', 'stop']);
      assert.ok((await gateway.row(key)).prompt_tokens < 2_000);
    });

    test('lists models, and finds one by its id', async () => {
      const { client } = clientOf(gateway.key({ allowlist: [model] }));
      assert.deepEqual(
        (await collected(client.models.list())).map(({ id }) => id),
        [model],
      );
      const found = await client.models.retrieve(model);
      assert.deepEqual([found.id, found.object, found.owned_by], [model, 'model', host]);
      await assert.rejects(client.models.retrieve('nobody/nothing'), NotFoundError);
    });

    test('throws a typed error for an upstream that fails, after as many attempts as configured', async () => {
      const { client, responses } = clientOf(gateway.key(), { maxRetries: 1 });
      const error = await rejection(client.chat.completions.create(asking('/error 503')), InternalServerError);
      assert.deepEqual([error.status, error.code, responses.length], [502, 'upstream_error', 2]);
      assert.match(error.requestID ?? '', /^req_/);
    });

    for (const directive of ['/fail 2', '/cut 2']) {
      test(`throws in the middle of a stream that ends with ${directive}, and does not retry`, async () => {
        const key = gateway.key();
        const { client, responses } = clientOf(key, { maxRetries: 2 });
        const asked = { ...asking(`/words 9 ${directive}`), stream: true as const };
        const stream = await client.chat.completions.create(asked);
        let text = '';
        const reading = async () => {
          for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
        };
        const error = await rejection(reading(), APIError);
        assert.deepEqual([error.code, text, responses.length], ['upstream_error', 'word word', 1]);
        await assertEnded(gateway, key, 'upstream_error');
      });
    }

    test('aborts a stream, and pays for what it received', async () => {
      const key = gateway.key();
      const asked = { ...asking('/words 9 /stall 2'), stream: true as const };
      const stream = await clientOf(key).client.chat.completions.create(asked);
      for await (const { choices } of stream) if (choices[0]?.delta.content === ' word') stream.controller.abort();
      await assertEnded(gateway, key, 'cancelled');
    });

    // Late enough that a client can leave before, on a busy machine too.
    test('aborts a completion that it waits for', async () => {
      const key = gateway.key();
      const controller = new AbortController();
      const { signal } = controller;
      const waiting = clientOf(key).client.chat.completions.create(asking('/delay 3s'), { signal });
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

/** What the first choice says, and how it ends. */
function texts({ choices: [choice] }: OpenAI.ChatCompletion) {
  return [choice?.message.content, choice?.finish_reason];
}

interface Refusal {
  readonly code: string;
  readonly status: number;
  readonly type: new (...args: never[]) => APIError;
  readonly key?: (gateway: TestGateway) => TestKey;
  readonly fields?: object;
  readonly options?: ClientOptions;
}

const REFUSALS: readonly Refusal[] = [
  { code: 'invalid_request', status: 400, type: BadRequestError, fields: { temperature: 3 } },
  {
    code: 'unauthorized',
    status: 401,
    type: AuthenticationError,
    options: { defaultHeaders: { Authorization: 'Basic x' } },
  },
  { code: 'invalid_api_key', status: 401, type: AuthenticationError, key: REFUSED_KEYS.invalid_api_key },
  {
    code: 'insufficient_credit',
    status: 402,
    type: APIError,
    fields: { max_tokens: 5_000_000, n: 128 },
    key: (gateway) => gateway.key({ tpm: 1_000_000_000 }),
  },
  { code: 'spend_limit_reached', status: 402, type: APIError, key: REFUSED_KEYS.spend_limit_reached },
  { code: 'api_key_disabled', status: 403, type: PermissionDeniedError, key: REFUSED_KEYS.api_key_disabled },
  {
    code: 'model_not_allowed',
    status: 403,
    type: PermissionDeniedError,
    key: REFUSED_KEYS.model_not_allowed,
  },
  { code: 'model_not_found', status: 404, type: NotFoundError, fields: { model: 'gpt-4o' } },
];

describe('a refusal that waiting does not fix is a typed error, and not retried:', () => {
  for (const { code, status, type, key, fields, options } of REFUSALS) {
    test(code, async () => {
      const { client, responses } = clientOf(key?.(gateway) ?? gateway.key(), { maxRetries: 2, ...options });
      const request = client.chat.completions.create({ model: 'chat/echo', messages: user('hi'), ...fields });
      const error = await rejection(request, type);
      assert.deepEqual([error.code, error.status, responses.length], [code, status, 1]);
      assert.match(error.requestID ?? '', /^req_/);
    });
  }

  test('rate_limited, for a request that is larger than the limit', async () => {
    const { client, responses } = clientOf(gateway.key({ tpm: 100 }), { maxRetries: 2 });
    const request = client.chat.completions.create({ model: 'chat/echo', messages: user('hi'), max_tokens: 100 });
    const error = await rejection(request, RateLimitError);
    assert.deepEqual([error.code, error.status, responses.length], ['rate_limited', 429, 1]);
    assert.deepEqual([error.headers.get('retry-after'), error.headers.get('x-should-retry')], ['60', 'false']);
  });
});

describe('a refusal that waiting fixes', () => {
  test('is retried after the time that the gateway names, and then succeeds', async () => {
    const key = gateway.key({ concurrency: 1 });
    const other = clientOf(key).client;
    const open = await other.chat.completions.create({
      model: 'chat/echo',
      messages: user('/words 9 /stall 2'),
      stream: true,
    });
    const answers: [status: number, retryAfter: string | null][] = [];
    const { client } = clientOf(key, {
      maxRetries: 1,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        answers.push([response.status, response.headers.get('retry-after')]);
        open.controller.abort();
        return response;
      },
    });
    const answer = await client.chat.completions.create({ model: 'chat/echo', messages: user('/words 1') });
    assert.equal(answer.choices[0]?.message.content, 'word');
    assert.deepEqual(answers, [
      [429, '1'],
      [200, null],
    ]);
  });

  test('is a typed error if the client does not retry', async () => {
    const key = gateway.key({ rpm: 1 });
    const { client } = clientOf(key);
    const asked = { model: 'chat/echo', messages: user('hi') };
    await client.chat.completions.create(asked);
    const error = await rejection(client.chat.completions.create(asked), RateLimitError);
    assert.deepEqual([error.code, error.status], ['rate_limited', 429]);
    assert.match(error.headers.get('retry-after') ?? '', /^(59|60)$/);
    assert.equal(error.headers.get('x-ratelimit-remaining-requests'), '0');
  });
});
