/**
 * Official clients as they are by default, with a host that keeps responses: conversations over several turns that refer
 * to what was answered before.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, type ModelMessage, streamText } from 'ai';
import OpenAI, { NotFoundError } from 'openai';
import { KeepingHost } from '../hostile-dialects/keeping-host.ts';
import { sharedGateway, type TestKey } from '../support/gateway.ts';

const gateway = await sharedGateway({
  provider: {
    responses_state: 'per_key',
    models: { echo: { input: 1, output: 2, max_output: 1_000, default_output: 100 } },
  },
});
globalThis.AI_SDK_LOG_WARNINGS = false;

const baseURL = `http://127.0.0.1:${gateway.port}/v1`;
const MODEL = 'fake/echo';

function begin(): { host: KeepingHost; key: TestKey } {
  const host = new KeepingHost();
  gateway.upstream.follow(host.follow);
  return { host, key: gateway.key() };
}

/** What came of every turn is charged as the host has billed it. */
function assertBilled(key: TestKey, { bills }: KeepingHost): void {
  const rows = gateway.rows(key).map(({ prompt_tokens: input, completion_tokens: output }) => ({ input, output }));
  assert.deepEqual(rows, bills);
}

/** The items that the last request has named in the place of what they say. */
function namedLast(): readonly string[] {
  const { input } = JSON.parse(gateway.upstream.calls.at(-1)?.body ?? '') as {
    input: { type?: string; id?: string }[];
  };
  return input.filter(({ type }) => type === 'item_reference').map(({ id }) => String(id));
}

describe("the AI SDK's default provider", () => {
  for (const isStream of [false, true]) {
    test(`has a conversation of three turns, and names what was said${isStream ? ', in streams' : ''}`, async () => {
      const { host, key } = begin();
      const model = createOpenAI({ baseURL, apiKey: key.secret })(MODEL);
      const messages: ModelMessage[] = [];
      for (const prompt of ['Hello!', 'And then?', 'And after that?']) {
        messages.push({ role: 'user', content: prompt });
        const asked = { model, messages, maxRetries: 0 };
        if (isStream) {
          const result = streamText(asked);
          assert.equal(await result.text, 'Words. Words. Words.');
          messages.push(...(await result.response).messages);
        } else {
          const result = await generateText(asked);
          assert.equal(result.text, 'Words. Words. Words.');
          messages.push(...result.response.messages);
        }
      }
      assert.ok(namedLast().length >= 2, 'the SDK names no items any more: this test is about them');
      assert.equal(host.bills.length, 3);
      assertBilled(key, host);
    });
  }

  test('with another key does not find them, and is told so as by the host', async () => {
    const { key } = begin();
    const first = await generateText({ model: createOpenAI({ baseURL, apiKey: key.secret })(MODEL), prompt: 'Hello!' });
    const thief = createOpenAI({ baseURL, apiKey: gateway.key().secret })(MODEL);
    const messages: ModelMessage[] = [
      { role: 'user', content: 'Hello!' },
      ...first.response.messages,
      { role: 'user', content: 'And then?' },
    ];
    await assert.rejects(generateText({ model: thief, messages, maxRetries: 0 }), /Item with id '\w+' not found\./);
  });
});

describe("OpenAI's client", () => {
  const clientOf = (key: TestKey) => new OpenAI({ baseURL, apiKey: key.secret, maxRetries: 0 });

  test('goes on from the id of a response, streamed or not, and reads and deletes it', async () => {
    const { host, key } = begin();
    const client = clientOf(key);
    const first = await client.responses.create({ model: MODEL, input: 'Hello!' });
    const second = await client.responses.create({ model: MODEL, input: 'And then?', previous_response_id: first.id });
    const stream = client.responses.stream({ model: MODEL, input: 'And after that?', previous_response_id: second.id });
    const third = await stream.finalResponse();
    assert.equal(third.output_text, 'Words. Words. Words.');
    assertBilled(key, host);
    const read = await client.responses.retrieve(second.id);
    assert.deepEqual([read.id, read.output_text], [second.id, second.output_text]);
    await client.responses.delete(second.id);
    await assert.rejects(client.responses.retrieve(second.id), NotFoundError);
    assert.equal(gateway.rows(key).length, 3);
  });

  test('of another key finds nothing', async () => {
    const { key } = begin();
    const { id } = await clientOf(key).responses.create({ model: MODEL, input: 'Hello!' });
    const thief = clientOf(gateway.key());
    const asked = { model: MODEL, input: 'And then?', previous_response_id: id };
    await assert.rejects(thief.responses.create(asked), NotFoundError);
    await assert.rejects(thief.responses.retrieve(id), NotFoundError);
    await assert.rejects(thief.responses.delete(id), NotFoundError);
    assert.equal((await clientOf(key).responses.retrieve(id)).id, id);
  });
});
