/** The AI SDK against a real gateway: texts, streams, tools, images and errors. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateText, jsonSchema, streamText, type ToolSet } from 'ai';
import type { TestGateway, TestKey } from '../support/gateway.ts';
import { collected, startHosts } from './hosts.ts';

const hosts = await startHosts();

after(async () => {
  for (const { gateway } of hosts) await gateway.stop();
});
afterEach(async () => {
  for (const { gateway } of hosts) await gateway.assertSettled();
});

function modelOf(gateway: TestGateway, key: TestKey, id: string, includeUsage = true) {
  const baseURL = `http://127.0.0.1:${gateway.port}/v1`;
  return createOpenAICompatible({ name: 'gateway', baseURL, apiKey: key.secret, includeUsage }).chatModel(id);
}

// The SDK's own tool helper does not type-check with exactOptionalPropertyTypes.
const TOOLS: ToolSet = { look_up: { inputSchema: jsonSchema({ type: 'object', properties: {} }) } };

for (const host of hosts) {
  const { gateway } = host;
  const model = (key = gateway.key()) => modelOf(gateway, key, host.model);

  describe(`with ${host.what} the AI SDK`, () => {
    test('generates a text, and reads its usage', async () => {
      const result = await generateText({ model: model(), prompt: host.prepare('words') });
      assert.equal(result.text, 'word word word');
      assert.equal(result.finishReason, 'stop');
      assert.ok((result.usage.inputTokens ?? 0) > 0);
    });

    test('streams a text word by word, and reads its usage', async () => {
      const result = streamText({ model: model(), prompt: host.prepare('words') });
      assert.deepEqual(await collected(result.textStream), ['word', ' word', ' word']);
      assert.equal(await result.finishReason, 'stop');
      assert.ok(((await result.usage).outputTokens ?? 0) > 0);
    });

    test('gets a tool call, in a completion and in a stream', async () => {
      const whole = await generateText({ model: model(), prompt: host.prepare('tool'), tools: TOOLS });
      const streamed = streamText({ model: model(), prompt: host.prepare('tool'), tools: TOOLS });
      for (const calls of [whole.toolCalls, await streamed.toolCalls]) {
        assert.deepEqual(
          calls.map(({ toolName, input }) => [toolName, input]),
          [['look_up', {}]],
        );
      }
    });

    test('sends an image', async () => {
      const key = gateway.key();
      const image = new Uint8Array(100_000);
      const content = [
        { type: 'text' as const, text: host.prepare('words') },
        { type: 'file' as const, data: image, mediaType: 'image/png' },
      ];
      const { text } = await generateText({ model: model(key), messages: [{ role: 'user', content }] });
      assert.equal(text, 'word word word');
      assert.ok((await gateway.row(key)).prompt_tokens < 2_000);
    });

    test('throws a retryable error for an upstream that fails', async () => {
      const asking = generateText({ model: model(), prompt: host.prepare('error'), maxRetries: 0 });
      const error = await asking.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      assert.ok(APICallError.isInstance(error), String(error));
      assert.deepEqual([error.statusCode, error.isRetryable], [502, true]);
      assert.match(error.responseBody ?? '', /"upstream_error"/);
    });

    for (const behaviour of ['failure', 'break'] as const) {
      test(`reports a stream that ends in a ${behaviour}`, async () => {
        const errors: unknown[] = [];
        const prompt = host.prepare(behaviour);
        const result = streamText({ model: model(), prompt, onError: ({ error }) => void errors.push(error) });
        const parts = await collected(result.fullStream);
        const words = parts.map((part) => (part.type === 'text-delta' ? part.text : ''));
        assert.equal(words.join(''), 'word word');
        assert.ok(parts.some(({ type }) => type === 'error'));
        assert.match(String(errors[0]), / provider was lost|The provider reported/);
        assert.equal(errors.length, 1);
      });
    }

    test('aborts a stream, and pays for what it received', async () => {
      const key = gateway.key();
      const controller = new AbortController();
      const prompt = host.prepare('silence');
      const result = streamText({ model: model(key), prompt, abortSignal: controller.signal });
      for await (const text of result.textStream) if (text === ' word') controller.abort();
      const row = await gateway.row(key);
      assert.equal(row.outcome, 'cancelled');
      assert.ok(row.cost_nanos > 0);
    });

    test('reads the reason of a refusal, and does not retry', async () => {
      const key = gateway.key({ spendLimitNanos: 0n });
      const asking = generateText({ model: model(key), prompt: 'hi' });
      const error = await asking.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      assert.ok(APICallError.isInstance(error), String(error));
      assert.deepEqual([error.statusCode, error.isRetryable], [402, false]);
      assert.match(error.message, /monthly spend limit/);
    });
  });
}
