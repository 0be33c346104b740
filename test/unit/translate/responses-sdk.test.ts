/** The official client library reads translated answers, streams and errors. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import OpenAI from 'openai';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { CONTEXT, HOSTS, type Host, responseTo, streamed } from './responses-support.ts';

function clientOf(body: string, type: string): OpenAI {
  const fetch = async () => new Response(body, { headers: { 'content-type': type } });
  return new OpenAI({ apiKey: 'none', maxRetries: 0, fetch });
}

const LOOK = {
  type: 'function' as const,
  name: 'look',
  strict: true,
  parameters: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'], additionalProperties: false },
};
const REQUEST = {
  model: 'host/model',
  input: 'Hi',
  tools: [LOOK, { type: 'custom' as const, name: 'patch' }],
  text: { format: { type: 'json_schema' as const, name: 'n', schema: { type: 'object', properties: {} } } },
};

const call = (index: number, id: string, name: string, json: string) => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: json },
});
const MESSAGE = { role: 'assistant', reasoning_content: 'Hm.', content: '{"ok":true}' };
const CALLS = [call(0, 'c1', 'look', '{"a":1}'), call(1, 'c2', 'patch', '{"input":"a\\nb"}')];
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const block = (index: number, content: Fields, ...deltas: readonly Fields[]) => [
  { type: 'content_block_start', index, content_block: content },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];

const ANSWERS: Readonly<Record<Host, Fields>> = {
  chat: { choices: [{ message: { ...MESSAGE, tool_calls: CALLS }, finish_reason: 'tool_calls' }], usage: USAGE },
  messages: {
    content: [
      { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
      { type: 'text', text: '{"ok":true}' },
      { type: 'tool_use', id: 'c1', name: 'look', input: { a: 1 } },
      { type: 'tool_use', id: 'c2', name: 'patch', input: { input: 'a\nb' } },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 10, output_tokens: 5 },
  },
};
const chunk = (delta: Fields, reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: reason }],
});
const STREAMS: Readonly<Record<Host, readonly Fields[]>> = {
  chat: [
    chunk({ reasoning_content: 'Hm.' }),
    chunk({ content: '{"ok":' }),
    chunk({ content: 'true}' }),
    chunk({ tool_calls: [call(0, 'c1', 'look', '{"a"')] }),
    chunk({ tool_calls: [call(1, 'c2', 'patch', '{"input":"a\\n')] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
    chunk({ tool_calls: [{ index: 1, function: { arguments: 'b"}' } }] }),
    chunk({}, 'tool_calls'),
    { choices: [], usage: USAGE },
  ],
  messages: [
    { type: 'message_start', message: { content: [], usage: { input_tokens: 10, output_tokens: 1 } } },
    ...block(0, { type: 'thinking', thinking: '' }, { type: 'thinking_delta', thinking: 'Hm.' }),
    ...block(1, { type: 'text', text: '' }, { type: 'text_delta', text: '{"ok":true}' }),
    ...block(
      2,
      { type: 'tool_use', id: 'c1', name: 'look', input: {} },
      { type: 'input_json_delta', partial_json: '{"a":1}' },
    ),
    ...block(
      3,
      { type: 'tool_use', id: 'c2', name: 'patch', input: {} },
      { type: 'input_json_delta', partial_json: '{"input":"a\\nb"}' },
    ),
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } },
  ],
};

function assertRead(response: OpenAI.Responses.Response): void {
  assert.equal(response.id, 'resp_1');
  assert.equal(response.status, 'completed');
  assert.equal(response.output_text, '{"ok":true}');
  const [thought, message, look, patch, ...others] = response.output;
  assert.deepEqual(others, []);
  assert.ok(thought?.type === 'reasoning' && thought.summary[0]?.text === 'Hm.');
  assert.ok(message?.type === 'message' && message.role === 'assistant');
  assert.ok(look?.type === 'function_call' && look.arguments === '{"a":1}' && look.call_id === 'c1');
  assert.ok(patch?.type === 'custom_tool_call' && patch.input === 'a\nb' && patch.call_id === 'c2');
  assert.deepEqual([response.usage?.input_tokens, response.usage?.output_tokens], [10, 5]);
}

for (const host of HOSTS) {
  describe(`the library, with a ${host} host`, () => {
    const body = JSON.stringify(responseTo(host, REQUEST).answer(ANSWERS[host], CONTEXT));
    const stream = streamed(host, STREAMS[host], { ...REQUEST, stream: true });

    test('reads an answer', async () => {
      assertRead(await clientOf(body, 'application/json').responses.create(REQUEST));
    });

    test('parses an answer, and the arguments of a strict function', async () => {
      const response = await clientOf(body, 'application/json').responses.parse(REQUEST);
      assertRead(response);
      assert.deepEqual(response.output_parsed, { ok: true });
      const look = response.output.find((item) => item.type === 'function_call');
      assert.deepEqual(look?.parsed_arguments, { a: 1 });
    });

    test('reads the events of a stream', async () => {
      const events = await clientOf(stream, 'text/event-stream').responses.create({ ...REQUEST, stream: true });
      const types = new Set<string>();
      for await (const event of events) {
        types.add(event.type);
        if (event.type === 'response.completed') assertRead({ ...event.response, output_text: '{"ok":true}' });
      }
      assert.ok(types.has('response.completed'));
    });

    test('puts a stream together with its helper', async () => {
      const helper = clientOf(stream, 'text/event-stream').responses.stream(REQUEST);
      const deltas: string[] = [];
      helper.on('response.output_text.delta', ({ delta }) => deltas.push(delta));
      const response = await helper.finalResponse();
      assertRead(response);
      assert.deepEqual(response.output_parsed, { ok: true });
      assert.equal(deltas.join(''), '{"ok":true}');
    });

    test('puts a stream together that is cut short anywhere', async () => {
      for (let length = 1; length <= STREAMS[host].length; length++) {
        const cut = streamed(host, STREAMS[host].slice(0, length), { ...REQUEST, stream: true });
        // What is cut cannot be parsed.
        const { model, input } = REQUEST;
        const response = await clientOf(cut, 'text/event-stream').responses.stream({ model, input }).finalResponse();
        assert.equal(response.status, 'completed');
      }
    });

    test('reads that a stream has failed', async () => {
      const failing = responseTo(host, REQUEST).stream(CONTEXT);
      const failed =
        failing.push(STREAMS[host][1] as Fields) + failing.failure({ code: 'upstream_error', message: 'Broken.' });
      const response = await clientOf(failed, 'text/event-stream').responses.stream(REQUEST).finalResponse();
      assert.deepEqual([response.status, response.error], ['failed', { code: 'upstream_error', message: 'Broken.' }]);
    });

    test('reads that an answer is incomplete', async () => {
      const reason =
        host === 'chat' ? chunk({}, 'length') : { type: 'message_delta', delta: { stop_reason: 'max_tokens' } };
      const events = [...STREAMS[host].slice(0, 4), reason];
      const cut = streamed(host, events, { ...REQUEST, stream: true });
      const response = await clientOf(cut, 'text/event-stream').responses.stream(REQUEST).finalResponse();
      assert.deepEqual([response.status, response.incomplete_details?.reason], ['incomplete', 'max_output_tokens']);
    });
  });
}
