/**
 * The official Anthropic client against a real gateway: messages, streams, thinking, tools, typed
 * errors and retries, with hosts of its own dialect and through the translation to chat.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import Anthropic, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  type ClientOptions,
  InternalServerError,
  NotFoundError,
  PaymentRequiredError,
  PermissionDeniedError,
  RateLimitError,
} from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { z } from 'zod';
import type { TestKey } from '../support/gateway.ts';
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
  writing,
} from './dialect-hosts.ts';

const { gateway, root, scripted } = await startDialectHosts();

function clientOf(key: TestKey, options: ClientOptions = {}) {
  const { fetch, responses } = watchedFetch();
  const own = { baseURL: root, apiKey: key.secret, authToken: null, maxRetries: 0, fetch };
  return { client: new Anthropic({ ...own, ...options }), responses };
}

const user = (content: Anthropic.MessageParam['content']) => [{ role: 'user' as const, content }];
const TOOLS: Anthropic.Tool[] = [
  { name: 'read', input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } },
];
const THINKING = { thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 2_000 } as const;
const TEXT_EVENTS =
  'content_block_start content_block_delta content_block_delta content_block_delta content_block_stop';
const CITY = z.object({ city: z.string(), size: z.number() });

/** In this dialect the input leaves out what the cache has to do with. */
function usageOf({ usage }: { usage: Anthropic.Usage | Anthropic.Beta.BetaUsage }): ReadUsage {
  const cached = usage.cache_read_input_tokens ?? 0;
  const written = usage.cache_creation_input_tokens ?? 0;
  return { input: usage.input_tokens + cached + written, cached, written, output: usage.output_tokens };
}

for (const host of HOSTS.messages) {
  const model = `${host}/echo`;
  const asking = (prompt: string) => ({ model, max_tokens: 100, messages: user(prompt) });

  describe(`with a host of ${host} the client`, () => {
    test('reads a message, which is charged as its usage says', async () => {
      const key = gateway.key();
      const { client, responses } = clientOf(key);
      const message = await client.messages.create({
        ...asking('/words 3 /cache 4 /cache-write 2'),
        system: 'Be brief.',
        metadata: { user_id: 'user-1' },
        stop_sequences: ['END'],
      });
      assert.match(message.id, /^msg_/);
      // A host of messages names its own model.
      const shown = host === 'messages' ? 'mock/echo' : model;
      assert.deepEqual([message.type, message.role, message.model], ['message', 'assistant', shown]);
      assert.deepEqual(texts(message.content), ['word word word']);
      assert.deepEqual([message.stop_reason, message.stop_sequence], ['end_turn', null]);
      const usage = usageOf(message);
      assert.deepEqual([usage.cached, usage.written, usage.output], [4, 2, 3]);
      assertCharged(gateway, key, usage);
      assert.equal(responses[0]?.headers.get('x-request-id'), gateway.rows(key)[0]?.request_id);
    });

    test('reads a stream event by event, and assembles it', async () => {
      const key = gateway.key();
      const stream = clientOf(key).client.messages.stream(asking('/words 3 /cache 4'));
      const words: string[] = [];
      stream.on('text', (text) => words.push(text));
      const events = (await collected(stream)).map(({ type }) => type);
      assert.equal(events.join(' '), `message_start ${TEXT_EVENTS} message_delta message_stop`);
      assert.deepEqual(words, ['word', ' word', ' word']);
      const message = await stream.finalMessage();
      assert.deepEqual([texts(message.content), message.stop_reason], [['word word word'], 'end_turn']);
      assertCharged(gateway, key, usageOf(message));
    });

    test('is told that an answer was cut at its maximum, streamed or not', async () => {
      const { client } = clientOf(gateway.key());
      const asked = { ...asking('/words 9'), max_tokens: 3 };
      for (const message of [await client.messages.create(asked), await client.messages.stream(asked).finalMessage()]) {
        assert.deepEqual([texts(message.content), message.stop_reason], [['word word word'], 'max_tokens']);
      }
    });

    test('reads thinking before the text, streamed or not', async () => {
      const key = gateway.key();
      const { client } = clientOf(key);
      const asked = { ...asking('/think 3 /words 2'), ...THINKING };
      const whole = await client.messages.create(asked);
      const stream = client.messages.stream(asked);
      const thoughts: string[] = [];
      stream.on('thinking', (thought) => thoughts.push(thought));
      const streamed = await stream.finalMessage();
      for (const { content, usage } of [whole, streamed]) {
        const [thinking, text] = content;
        assert.ok(thinking?.type === 'thinking' && text?.type === 'text');
        assert.deepEqual([thinking.thinking, text.text], ['thought thought thought', 'word word']);
        assert.deepEqual([usage.output_tokens, usage.output_tokens_details?.thinking_tokens], [5, 3]);
      }
      assert.deepEqual(thoughts, ['thought', ' thought', ' thought']);
      assertCharged(gateway, key, usageOf(whole), usageOf(streamed));
    });

    test('gets a call of a tool, streamed or not', async () => {
      const { client } = clientOf(gateway.key());
      const asked = { ...asking('/call read {"path": "a b.txt"}'), tools: TOOLS };
      const stream = client.messages.stream(asked);
      const pieces: string[] = [];
      stream.on('inputJson', (piece) => pieces.push(piece));
      for (const { content, stop_reason } of [await client.messages.create(asked), await stream.finalMessage()]) {
        const [call] = content;
        assert.ok(call?.type === 'tool_use' && content.length === 1);
        assert.deepEqual([call.name, call.input, stop_reason], ['read', { path: 'a b.txt' }, 'tool_use']);
      }
      assert.ok(pieces.length > 1);
      assert.deepEqual(JSON.parse(pieces.join('')), { path: 'a b.txt' });
    });

    for (const stream of [false, true]) {
      test(`runs tools, one of which fails, until the text${stream ? ' of a stream' : ''}`, async () => {
        const key = gateway.key();
        const paths: string[] = [];
        const read = betaZodTool({
          name: 'read',
          description: 'Reads a file.',
          inputSchema: z.object({ path: z.string() }),
          run: ({ path }) => {
            paths.push(path);
            if (path === 'none.txt') throw new Error('no such file');
            return [{ type: 'text', text: `the content of ${path}` }];
          },
        });
        const prompt = '/think 2 /call read {"path": "a.txt"} /call read {"path": "none.txt"} /words 2';
        // Threads are state at the host.
        const asked = { ...asking(prompt), ...THINKING, tools: [read], stream, thread: false as const };
        const usages: ReadUsage[] = [];
        const answers: string[][] = [];
        for await (const turn of clientOf(key).client.beta.messages.toolRunner(asked)) {
          const message = 'finalMessage' in turn ? await turn.finalMessage() : turn;
          usages.push(usageOf(message));
          answers.push(texts(message.content));
        }
        assert.deepEqual(paths, ['a.txt', 'none.txt']);
        assert.deepEqual(answers, [[], [], ['word word']]);
        assertCharged(gateway, key, ...usages);
      });
    }

    test('parses an answer that follows a schema', async () => {
      const key = gateway.key();
      const asked = { ...asking('Which city?'), model: `scripted-${model}` };
      scripted.follow(writing('{"city": "Rome", "size": 3}'));
      const format = zodOutputFormat(CITY);
      const { parsed_output } = await clientOf(key).client.messages.parse({ ...asked, output_config: { format } });
      assert.deepEqual(parsed_output, { city: 'Rome', size: 3 });
      const body = JSON.parse((await scripted.call()).body);
      const { schema } = body.response_format?.json_schema ?? body.output_config.format;
      assert.deepEqual(schema, format.schema);
      assertCharged(gateway, key, { input: 10, cached: 0, written: 0, output: 5 });
    });

    test('sends an image, which is not counted by its bytes', async () => {
      const key = gateway.key();
      const source = { type: 'base64' as const, media_type: 'image/png' as const, data: 'A'.repeat(200_000) };
      const messages = user([
        { type: 'image', source },
        { type: 'text', text: '/words 1' },
      ]);
      const message = await clientOf(key).client.messages.create({ model, max_tokens: 10, messages });
      assert.deepEqual(texts(message.content), ['word']);
      assert.ok((await gateway.row(key)).prompt_tokens < 2_000);
    });

    for (const [what, directive] of [
      ['fails', '/fail 2'],
      ['breaks off', '/cut 2'],
    ] as const) {
      test(`throws in the middle of a stream that ${what}, and does not retry`, async () => {
        const key = gateway.key();
        const { client, responses } = clientOf(key, { maxRetries: 2 });
        const stream = client.messages.stream(asking(`/words 9 ${directive}`));
        let text = '';
        stream.on('text', (piece) => {
          text += piece;
        });
        const error = await rejection(stream.finalMessage(), APIError);
        assert.deepEqual([error.type, codeOf(error), text], ['api_error', 'upstream_error', 'word word']);
        assert.equal(responses.length, 1);
        await assertEnded(gateway, key, 'upstream_error');
      });
    }

    test('aborts a stream, and pays for what it received', async () => {
      const key = gateway.key();
      const stream = clientOf(key).client.messages.stream(asking('/words 9 /stall 2'));
      stream.on('text', (text) => {
        if (text === ' word') stream.abort();
      });
      await rejection(stream.finalMessage(), APIUserAbortError);
      await assertEnded(gateway, key, 'cancelled');
    });
  });
}

for (const host of ['all', 'messages'] as const) {
  test(`with a host of ${host} the client counts tokens for nothing`, async () => {
    const key = gateway.key();
    const asked = { model: `${host}/echo`, system: 'Be brief.', messages: user('Hello!'), tools: TOOLS };
    const { input_tokens: tokens } = await clientOf(key).client.messages.countTokens(asked);
    assert.ok(tokens > 10 && tokens < 100, `${tokens} tokens`);
    assert.deepEqual(gateway.rows(key), []);
  });
}

for (const [status, attempts, seen, type] of [
  [503, 2, 502, InternalServerError],
  [401, 1, 424, APIError],
] as const) {
  test(`status ${status} of a host is a typed error, after ${attempts} of 2 attempts`, async () => {
    const { client, responses } = clientOf(gateway.key(), { maxRetries: 1 });
    const asked = { model: 'chat/echo', max_tokens: 10, messages: user(`/error ${status}`) };
    const error = await rejection<APIError>(client.messages.create(asked), type as new (...args: never[]) => APIError);
    assert.deepEqual([error.status, error.type, codeOf(error)], [seen, 'api_error', 'upstream_error']);
    assert.equal(responses.length, attempts);
  });
}

describe('a refusal is a typed error, and not retried:', () => {
  type Errors = new (...args: never[]) => APIError;
  const refusals: readonly { code: string; type: Errors; name: string; fields?: object }[] = [
    { code: 'invalid_request', type: BadRequestError, name: 'invalid_request_error', fields: { temperature: 2 } },
    { code: 'invalid_api_key', type: AuthenticationError, name: 'authentication_error' },
    { code: 'spend_limit_reached', type: PaymentRequiredError, name: 'billing_error' },
    { code: 'api_key_disabled', type: PermissionDeniedError, name: 'permission_error' },
    { code: 'model_not_allowed', type: PermissionDeniedError, name: 'permission_error' },
    { code: 'model_not_found', type: NotFoundError, name: 'not_found_error', fields: { model: 'claude' } },
    { code: 'rate_limited', type: RateLimitError, name: 'rate_limit_error', fields: { max_tokens: 3_000_000 } },
  ];
  for (const { code, type, name, fields } of refusals) {
    test(code, async () => {
      const key = code in REFUSED_KEYS ? REFUSED_KEYS[code as keyof typeof REFUSED_KEYS](gateway) : gateway.key();
      const { client, responses } = clientOf(key, { maxRetries: 2 });
      const asked = { model: 'all/echo', max_tokens: 10, messages: user('hi'), ...fields, stream: true as const };
      const error = await rejection(client.messages.create(asked), type);
      assert.deepEqual([error.type, codeOf(error), responses.length], [name, code, 1]);
      const { request_id } = error.error as { request_id: string };
      assert.equal(request_id, error.headers?.get('x-request-id'));
    });
  }
});

test('a refusal that waiting fixes is retried after the time that the gateway names', async () => {
  const key = gateway.key({ concurrency: 1 });
  const asking = (prompt: string) => ({ model: 'chat/echo', max_tokens: 50, messages: user(prompt) });
  const open = clientOf(key).client.messages.stream(asking('/words 9 /stall 2'));
  open.on('error', () => {});
  await open.emitted('text');
  const { fetch, responses } = watchedFetch();
  const { client } = clientOf(key, {
    maxRetries: 1,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      open.abort();
      return response;
    },
  });
  const message = await client.messages.create(asking('/words 1'));
  assert.deepEqual(texts(message.content), ['word']);
  assert.deepEqual(
    responses.map(({ status, headers }) => [status, headers.get('retry-after')]),
    [
      [429, '1'],
      [200, null],
    ],
  );
});

test('the client lists models, and finds one, with its key in either header', async () => {
  const key = gateway.key({ allowlist: ['chat/echo', 'messages/echo'] });
  for (const options of [{}, { apiKey: null, authToken: key.secret }]) {
    const { client } = clientOf(key, options);
    const ids = (await collected(client.models.list())).map(({ id }) => id);
    assert.deepEqual(ids, ['chat/echo', 'messages/echo']);
    const found = await client.models.retrieve('chat/echo');
    assert.deepEqual([found.type, found.display_name], ['model', 'chat/echo']);
    await rejection(client.models.retrieve('all/echo'), NotFoundError);
  }
});

function texts(content: readonly { readonly type: string; readonly text?: unknown }[]): string[] {
  return content.flatMap((block) => (block.type === 'text' ? [String(block.text)] : []));
}

/** The gateway's own code. */
function codeOf({ error }: APIError): string {
  return (error as { error: { code: string } }).error.code;
}
