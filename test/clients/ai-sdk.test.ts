/**
 * The AI SDK against a real gateway, in the dialects of its providers for Anthropic, for OpenAI and for hosts of chat:
 * texts, streams, reasoning, tools in several steps and embeddings, with every kind of host.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError,
  embed,
  embedMany,
  generateText,
  isStepCount,
  jsonSchema,
  type LanguageModelUsage,
  type ModelMessage,
  Output,
  streamText,
  type ToolSet,
} from 'ai';
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
  writing,
} from './dialect-hosts.ts';

const { gateway, root, scripted } = await startDialectHosts();
// It warns of what it does for hosts that it does not know.
globalThis.AI_SDK_LOG_WARNINGS = false;

const settingsOf = (key: TestKey) => ({ baseURL: `${root}/v1`, apiKey: key.secret });
/** The providers of the SDK, and the hosts for each. OpenAI's speaks responses unless told otherwise. */
const PROVIDERS = {
  '@ai-sdk/anthropic': {
    modelOf: (key: TestKey, id: string) => createAnthropic(settingsOf(key))(id),
    hosts: HOSTS.messages,
    cacheWrites: 2,
  },
  '@ai-sdk/openai': {
    modelOf: (key: TestKey, id: string) => createOpenAI(settingsOf(key))(id),
    // The other translation is driven by OpenAI's own client.
    hosts: ['all', 'chat'] as const,
    cacheWrites: 2,
  },
  '@ai-sdk/openai-compatible': {
    modelOf: (key: TestKey, id: string) =>
      createOpenAICompatible({
        ...settingsOf(key),
        name: 'gateway',
        includeUsage: true,
        supportsStructuredOutputs: true,
      }).chatModel(id),
    hosts: HOSTS.chat,
    // It does not read them.
    cacheWrites: 0,
  },
};

/** Without `store: false` OpenAI's provider refers to items that its host has kept. */
const STATELESS = { openai: { store: false } };
const REASONING = {
  anthropic: { thinking: { type: 'enabled' as const, budgetTokens: 1_024 } },
  openai: { store: false, reasoningEffort: 'low', reasoningSummary: 'auto', forceReasoning: true },
  gateway: { reasoningEffort: 'low' },
};

function usageOf({
  inputTokens: input,
  outputTokens: output,
  inputTokenDetails: details,
}: LanguageModelUsage): ReadUsage {
  assert.ok(input !== undefined && output !== undefined);
  return { input, cached: details.cacheReadTokens ?? 0, written: details.cacheWriteTokens ?? 0, output };
}

/** A tool that reads a file, and the paths it was called with. */
function reader() {
  const paths: string[] = [];
  const inputSchema = jsonSchema<{ path: string }>({
    type: 'object',
    properties: { path: { type: 'string' } },
    required: ['path'],
    additionalProperties: false,
  });
  const execute = async ({ path }: { path: string }) => {
    paths.push(path);
    return `the content of ${path}`;
  };
  // The SDK's own tool helper does not type-check with exactOptionalPropertyTypes.
  return { paths, tools: { read: { description: 'Reads a file.', inputSchema, execute } } as ToolSet };
}

for (const [name, { modelOf, hosts, cacheWrites }] of Object.entries(PROVIDERS)) {
  for (const host of hosts) {
    const asking = (key: TestKey, prompt: string) => ({
      model: modelOf(key, `${host}/echo`),
      prompt,
      maxOutputTokens: 2_000,
      maxRetries: 0,
    });

    describe(`with a host of ${host} ${name}`, () => {
      test('generates a text, which is charged as its usage says', async () => {
        const key = gateway.key();
        const prompt = `/words 3 /cache 4 /cache-write ${cacheWrites}`;
        const asked = { ...asking(key, prompt), system: 'Be brief.', temperature: 0.5 };
        const { text, finishReason, usage, warnings } = await generateText(asked);
        assert.deepEqual([text, finishReason, warnings], ['word word word', 'stop', []]);
        const { cached, written, output } = usageOf(usage);
        assert.deepEqual([cached, written, output], [4, cacheWrites, 3]);
        assertCharged(gateway, key, usageOf(usage));
      });

      test('streams a text word by word, which is charged as its usage says', async () => {
        const key = gateway.key();
        const result = streamText(asking(key, '/words 3'));
        assert.deepEqual(await collected(result.textStream), ['word', ' word', ' word']);
        assert.equal(await result.finishReason, 'stop');
        assertCharged(gateway, key, usageOf(await result.usage));
      });

      test('is told that a text was cut at its maximum', async () => {
        const { text, finishReason } = await generateText({
          ...asking(gateway.key(), '/words 30'),
          maxOutputTokens: 16,
        });
        assert.deepEqual([text.split(' ').length, finishReason], [16, 'length']);
      });

      test('reads reasoning, streamed or not', async () => {
        const key = gateway.key();
        const asked = { ...asking(key, '/think 3 /words 2'), providerOptions: REASONING };
        const whole = await generateText(asked);
        const streamed = streamText(asked);
        assert.deepEqual([whole.reasoningText, whole.text], ['thought thought thought', 'word word']);
        assert.deepEqual([await streamed.reasoningText, await streamed.text], [whole.reasoningText, whole.text]);
        const usages = [whole.usage, await streamed.usage];
        for (const { outputTokenDetails } of usages) assert.equal(outputTokenDetails.reasoningTokens, 3);
        assertCharged(gateway, key, ...usages.map(usageOf));
      });

      for (const isStream of [false, true]) {
        test(`runs tools in several steps, with reasoning${isStream ? ', in streams' : ''}`, async () => {
          const key = gateway.key();
          const { paths, tools } = reader();
          const prompt = '/think 2 /call read {"path": "a b.txt"} /call read {"path": "c.txt"} /words 2';
          const providerOptions = REASONING;
          const asked = { ...asking(key, prompt), tools, stopWhen: isStepCount(5), providerOptions };
          const result = isStream ? streamText(asked) : await generateText(asked);
          assert.equal(await result.text, 'word word');
          assert.deepEqual(paths, ['a b.txt', 'c.txt']);
          const steps = await result.steps;
          assert.deepEqual(
            steps.map(({ finishReason }) => finishReason),
            ['tool-calls', 'tool-calls', 'stop'],
          );
          assertCharged(gateway, key, ...steps.map(({ usage }) => usageOf(usage)));
        });
      }

      test('goes on with a conversation', async () => {
        const key = gateway.key();
        const { prompt, ...asked } = asking(key, '/words 2');
        const messages: ModelMessage[] = [{ role: 'user', content: prompt }];
        const first = await generateText({ ...asked, messages, providerOptions: STATELESS });
        messages.push(...first.response.messages, { role: 'user', content: 'Again.' });
        const { text } = await generateText({ ...asked, messages, providerOptions: STATELESS });
        assert.match(text, /^You said: Again\.\n.*received 3 messages/);
      });

      test('generates an object that follows a schema', async () => {
        const key = gateway.key();
        const schema = jsonSchema<{ city: string }>({
          type: 'object',
          properties: { city: { type: 'string' } },
          required: ['city'],
          additionalProperties: false,
        });
        scripted.follow(writing('{"city": "Rome"}'));
        const model = modelOf(key, `scripted-${host}/echo`);
        // Anthropic's provider offers a tool instead to models that it does not know.
        const providerOptions = { anthropic: { structuredOutputMode: 'outputFormat' as const } };
        const asked = { ...asking(key, 'Which city?'), model, providerOptions };
        const { output } = await generateText({ ...asked, output: Output.object({ schema }) });
        assert.deepEqual(output, { city: 'Rome' });
        assert.match((await scripted.call()).body, /"required":\["city"\]/);
        assertCharged(gateway, key, { input: 10, cached: 0, written: 0, output: 5 });
      });

      test('sends an image, which is not counted by its bytes', async () => {
        const key = gateway.key();
        const { prompt: _, ...asked } = asking(key, '');
        const content = [
          { type: 'text' as const, text: '/words 1' },
          { type: 'file' as const, data: new Uint8Array(100_000), mediaType: 'image/png' },
        ];
        const { text } = await generateText({ ...asked, messages: [{ role: 'user', content }] });
        assert.equal(text, 'word');
        assert.ok((await gateway.row(key)).prompt_tokens < 2_000);
      });

      for (const directive of ['/fail 2', '/cut 2']) {
        test(`reports a stream that ends with ${directive}`, async () => {
          const key = gateway.key();
          const errors: unknown[] = [];
          const asked = asking(key, `/words 9 ${directive}`);
          const result = streamText({ ...asked, onError: ({ error }) => void errors.push(error) });
          const parts = await collected(result.fullStream);
          const words = parts.map((part) => (part.type === 'text-delta' ? part.text : ''));
          assert.deepEqual([words.join(''), parts.at(-1)?.type], ['word word', 'finish']);
          assert.match(errors.join('\n'), /^[^\n]*(?:The provider reported an error|provider was lost)[^\n]*$/);
          await assertEnded(gateway, key, 'upstream_error');
        });
      }

      test('aborts a stream, and pays for what it received', async () => {
        const key = gateway.key();
        const controller = new AbortController();
        const result = streamText({ ...asking(key, '/words 9 /stall 2'), abortSignal: controller.signal });
        for await (const text of result.textStream) if (text === ' word') controller.abort();
        await assertEnded(gateway, key, 'cancelled');
      });
    });
  }

  describe(`errors that ${name} throws:`, () => {
    const failing = async (key: TestKey, prompt: string) =>
      rejection(generateText({ model: modelOf(key, 'chat/echo'), prompt, maxOutputTokens: 9, maxRetries: 0 }), Error);

    test('a retryable one for an upstream that fails', async () => {
      const error = await failing(gateway.key(), '/error 503');
      assert.ok(APICallError.isInstance(error));
      assert.deepEqual([error.statusCode, error.isRetryable], [502, true]);
      assert.match(error.responseBody ?? '', /"upstream_error"/);
    });

    for (const [code, makeKey] of Object.entries(REFUSED_KEYS)) {
      test(code, async () => {
        const error = await failing(makeKey(gateway), 'hi');
        assert.ok(APICallError.isInstance(error));
        const { error: body } = JSON.parse(error.responseBody ?? '');
        assert.deepEqual([body.code, error.message, error.isRetryable], [code, body.message, false]);
      });
    }
  });
}

test('@ai-sdk/openai is refused where it refers to items that a host would have kept', async () => {
  const key = gateway.key();
  const model = createOpenAI(settingsOf(key))('all/echo');
  const { response } = await generateText({ model, prompt: '/words 2' });
  const messages: ModelMessage[] = [{ role: 'user', content: '/words 2' }, ...response.messages];
  messages.push({ role: 'user', content: 'Again.' });
  const error = await rejection(generateText({ model, messages }), Error);
  assert.ok(APICallError.isInstance(error));
  assert.deepEqual([error.statusCode, error.isRetryable], [400, false]);
  assert.match(error.message, /^input\[1\]: .*item_reference/);
});

test('@ai-sdk/openai embeds one text, and several', async () => {
  const key = gateway.key();
  const model = createOpenAI(settingsOf(key)).embedding('all/echo');
  const one = await embed({ model, value: 'hello' });
  const providerOptions = { openai: { dimensions: 3 } };
  const several = await embedMany({ model, values: ['one', 'two', 'one'], providerOptions });
  assert.equal(one.embedding.length, 8);
  assert.deepEqual([several.embeddings.length, several.embeddings[0]], [3, several.embeddings[2]]);
  const usages = [one.usage, several.usage].map(({ tokens }) => ({ input: tokens, cached: 0, written: 0, output: 0 }));
  assertCharged(gateway, key, ...usages);
});
