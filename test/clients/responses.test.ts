/**
 * The official OpenAI client against a real gateway: responses and embeddings, with hosts of these
 * dialects and through the translations to chat and to messages.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import OpenAI, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  type ClientOptions,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from 'openai';
import { ResponsesToolRunner, runnerFunction } from 'openai/helpers/responses-tool-runner';
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod';
import { toResponseInputItems } from 'openai/lib/responses/ResponseInputItems';
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
  const own = { baseURL: `${root}/v1`, apiKey: key.secret, maxRetries: 0, fetch };
  return { client: new OpenAI({ ...own, ...options }), responses };
}

const PATH = z.object({ path: z.string() });
const PATCH = { type: 'custom' as const, name: 'patch', description: 'Applies a patch.' };
const TEXT_EVENTS = `created in_progress output_item.added content_part.added output_text.delta output_text.delta
  output_text.delta output_text.done content_part.done output_item.done completed`.split(/\s+/);

function usageOf({ usage }: { usage?: OpenAI.Responses.ResponseUsage | undefined }): ReadUsage {
  assert.ok(usage);
  const { cached_tokens: cached, cache_write_tokens: written } = usage.input_tokens_details;
  assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens);
  return { input: usage.input_tokens, cached, written, output: usage.output_tokens };
}

/** A tool that reads a file, and the paths it was called with. */
function reader() {
  const paths: string[] = [];
  const read = ({ path }: z.infer<typeof PATH>) => {
    paths.push(path);
    return `the content of ${path}`;
  };
  return { paths, read };
}

for (const host of HOSTS.responses) {
  const model = `${host}/echo`;

  describe(`with a host of ${host} the client`, () => {
    test('reads a response, which is charged as its usage says', async () => {
      const key = gateway.key();
      const response = await clientOf(key).client.responses.create({
        model,
        input: '/words 3 /cache 4 /cache-write 2',
        instructions: 'Be brief.',
        max_output_tokens: 50,
        temperature: 0.5,
        store: false,
      });
      assert.deepEqual([response.status, response.output_text], ['completed', 'word word word']);
      // A host of responses names its own model.
      assert.deepEqual([response.model, response.error], [host === 'all' ? 'mock/echo' : model, null]);
      assert.ok('store' in response && response.store === false);
      const usage = usageOf(response);
      assert.deepEqual([usage.cached, usage.written, usage.output], [4, 2, 3]);
      assertCharged(gateway, key, usage);
      assert.equal(response._request_id, gateway.rows(key)[0]?.request_id);
    });

    test('reads a stream event by event, and assembles it', async () => {
      const key = gateway.key();
      const stream = clientOf(key).client.responses.stream({ model, input: '/words 3 /cache 4' });
      const events = await collected(stream);
      assert.deepEqual(
        events.map(({ type }) => type),
        TEXT_EVENTS.map((name) => `response.${name}`),
      );
      assert.deepEqual(
        events.map(({ sequence_number: number }) => number),
        events.map((_, position) => position),
      );
      const words = events.flatMap((event) => (event.type === 'response.output_text.delta' ? [event.delta] : []));
      assert.deepEqual(words, ['word', ' word', ' word']);
      const final = await stream.finalResponse();
      assert.deepEqual([final.status, final.output_text], ['completed', 'word word word']);
      assertCharged(gateway, key, usageOf(final));
    });

    test('is told that an answer was cut at its maximum, streamed or not', async () => {
      const { client } = clientOf(gateway.key());
      const asked = { model, input: '/words 30', max_output_tokens: 16 };
      const streamed = await client.responses.stream(asked).finalResponse();
      for (const response of [await client.responses.create(asked), streamed]) {
        assert.deepEqual([response.status, response.incomplete_details?.reason], ['incomplete', 'max_output_tokens']);
        assert.equal(response.output_text.split(' ').length, 16);
      }
    });

    test('reads reasoning before the text, and gives it back', async () => {
      const key = gateway.key();
      const { client } = clientOf(key);
      const include = ['reasoning.encrypted_content' as const];
      const asked = { model, reasoning: { effort: 'low', summary: 'auto' } as const, include, store: false };
      const whole = await client.responses.create({ ...asked, input: '/think 3 /words 2' });
      const input = [...toResponseInputItems(whole.output), { role: 'user' as const, content: '/think 3 /words 2' }];
      const streamed = await client.responses.stream({ ...asked, input }).finalResponse();
      for (const { output, output_text: text, usage } of [whole, streamed]) {
        const [reasoning] = output;
        assert.ok(reasoning?.type === 'reasoning' && output.length === 2);
        assert.deepEqual([reasoning.summary[0]?.text, text], ['thought thought thought', 'word word']);
        assert.deepEqual([usage?.output_tokens, usage?.output_tokens_details.reasoning_tokens], [5, 3]);
      }
      assertCharged(gateway, key, usageOf(whole), usageOf(streamed));
    });

    for (const stream of [false, true]) {
      test(`calls a function and a custom tool${stream ? ' in streams' : ''}, and reads the text`, async () => {
        const key = gateway.key();
        const { client } = clientOf(key);
        const tools = [zodResponsesFunction({ name: 'read', parameters: PATH }), PATCH];
        const patch = '*** Begin\n+ é "x" \\';
        const prompt = `/call read {"path": "a b"} /call patch ${JSON.stringify({ input: patch })} /words 2`;
        const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: prompt }];
        const turns: OpenAI.Responses.Response[] = [];
        for (const expected of [['read', { path: 'a b' }], ['patch', patch], undefined] as const) {
          const asked = { model, input, tools, store: false };
          const turn = stream
            ? await client.responses.stream(asked).finalResponse()
            : await client.responses.parse(asked);
          turns.push(turn);
          input.push(...toResponseInputItems(turn.output));
          const [item] = turn.output;
          if (item?.type === 'function_call') {
            assert.deepEqual([item.name, JSON.parse(item.arguments)], expected);
            input.push({ type: 'function_call_output', call_id: item.call_id, output: 'the content' });
          } else if (item?.type === 'custom_tool_call') {
            assert.deepEqual([item.name, item.input], expected);
            input.push({ type: 'custom_tool_call_output', call_id: item.call_id, output: 'done' });
          } else assert.deepEqual([turn.output_text, expected], ['word word', undefined]);
        }
        assertCharged(gateway, key, ...turns.map(usageOf));
      });

      test(`runs functions until the text${stream ? ' of a stream' : ''}`, async () => {
        const key = gateway.key();
        const { paths, read } = reader();
        const tool = zodResponsesFunction({ name: 'read', parameters: PATH, function: read });
        const runner = new ResponsesToolRunner({ functions: [runnerFunction(tool)] });
        const input = '/call read {"path": "a.txt"} /call read {"path": "b.txt"} /words 2';
        const turns: OpenAI.Responses.Response[] = [];
        const asked = { model, input, store: false };
        for await (const { response } of runner.iterate(clientOf(key).client, asked, { stream })) turns.push(response);
        assert.deepEqual([paths, turns.at(-1)?.output_text], [['a.txt', 'b.txt'], 'word word']);
        assertCharged(gateway, key, ...turns.map(usageOf));
      });
    }

    test('parses an answer that follows a schema', async () => {
      const key = gateway.key();
      scripted.follow(writing('{"city": "Rome", "size": 3}'));
      const format = zodTextFormat(z.object({ city: z.string(), size: z.number() }), 'city');
      const asked = { model: `scripted-${model}`, input: 'Which city?', text: { format } };
      const { output_parsed } = await clientOf(key).client.responses.parse(asked);
      assert.deepEqual(output_parsed, { city: 'Rome', size: 3 });
      const { text, response_format, output_config } = JSON.parse((await scripted.call()).body);
      const { schema } = text?.format ?? response_format?.json_schema ?? output_config.format;
      assert.deepEqual([schema.required, schema.additionalProperties], [['city', 'size'], false]);
      assertCharged(gateway, key, { input: 10, cached: 0, written: 0, output: 5 });
    });

    for (const directive of ['/fail 2', '/cut 2']) {
      test(`reads a stream that ends with ${directive} as a failed response, and does not retry`, async () => {
        const key = gateway.key();
        const { client, responses } = clientOf(key, { maxRetries: 2 });
        const stream = client.responses.stream({ model, input: `/words 9 ${directive}` });
        let text = '';
        stream.on('response.output_text.delta', ({ delta }) => {
          text += delta;
        });
        const { status, error } = await stream.finalResponse();
        assert.deepEqual([status, error?.code, text], ['failed', 'upstream_error', 'word word']);
        assert.equal(responses.length, 1);
        await assertEnded(gateway, key, 'upstream_error');
      });
    }

    test('aborts a stream, and pays for what it received', async () => {
      const key = gateway.key();
      const stream = clientOf(key).client.responses.stream({ model, input: '/words 9 /stall 2' });
      stream.on('response.output_text.delta', ({ delta }) => {
        if (delta === ' word') stream.abort();
      });
      await rejection(stream.finalResponse(), APIUserAbortError);
      await assertEnded(gateway, key, 'cancelled');
    });
  });
}

describe('a refusal is a typed error, and not retried:', () => {
  type Errors = new (...args: never[]) => APIError;
  const refusals: readonly { code: string; type: Errors; fields?: object }[] = [
    ...[{ store: true }, { background: true }, { previous_response_id: 'resp_1' }, { conversation: 'conv_1' }].map(
      (fields) => ({ code: 'invalid_request', type: BadRequestError, fields }),
    ),
    { code: 'invalid_api_key', type: AuthenticationError },
    { code: 'spend_limit_reached', type: APIError },
    { code: 'api_key_disabled', type: PermissionDeniedError },
    { code: 'model_not_allowed', type: PermissionDeniedError },
    { code: 'model_not_found', type: NotFoundError, fields: { model: 'gpt-5' } },
    { code: 'rate_limited', type: RateLimitError, fields: { max_output_tokens: 3_000_000 } },
  ];
  for (const { code, type, fields = {} } of refusals) {
    test(`${code} ${Object.keys(fields)}`, async () => {
      const key = code in REFUSED_KEYS ? REFUSED_KEYS[code as keyof typeof REFUSED_KEYS](gateway) : gateway.key();
      const { client, responses } = clientOf(key, { maxRetries: 2 });
      const error = await rejection(client.responses.create({ model: 'all/echo', input: 'hi', ...fields }), type);
      assert.deepEqual([error.code, responses.length], [code, 1]);
      assert.match(error.requestID ?? '', /^req_/);
    });
  }
});

describe('embeddings', () => {
  for (const encoding_format of [undefined, 'float', 'base64'] as const) {
    test(`of several texts are read and charged, in the encoding ${encoding_format ?? 'of the client'}`, async () => {
      const key = gateway.key();
      const asked = { model: 'all/echo', input: ['one', 'two', 'one'], dimensions: 3 };
      const format = encoding_format === undefined ? {} : { encoding_format };
      const { data, usage } = await clientOf(key).client.embeddings.create({ ...asked, ...format });
      const vectors = data.map(({ embedding }) => numbersIn(embedding));
      assert.deepEqual(vectors[0], vectors[2]);
      assert.ok(vectors.every((vector) => vector.length === 3 && Math.abs(Math.hypot(...vector) - 1) < 1e-6));
      assert.ok(Math.abs((vectors[0]?.[0] ?? 0) - (vectors[1]?.[0] ?? 0)) > 1e-6);
      assertCharged(gateway, key, { input: usage.prompt_tokens, cached: 0, written: 0, output: 0 });
    });
  }

  test('of a model that has none are a typed error', async () => {
    const { client } = clientOf(gateway.key());
    await rejection(client.embeddings.create({ model: 'chat/echo', input: 'one' }), NotFoundError);
  });
});

/** Who asks for base64 gets it as it is. */
function numbersIn(embedding: readonly number[] | string): readonly number[] {
  if (typeof embedding !== 'string') return embedding;
  return [...new Float32Array(Uint8Array.from(Buffer.from(embedding, 'base64')).buffer)];
}
