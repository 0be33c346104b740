/** The mock provider in the chat-completions dialect: its shapes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerTo, functionTool, type Json, play, streamOf } from './mock-script.ts';

const TOOLS = [functionTool('look_up')];
const CUSTOM = { type: 'custom', custom: { name: 'patch' } };

const choicesOf = ({ choices }: Json) => choices as Json[];
const messageOf = (answer: Json) => choicesOf(answer)[0]?.message as Json;

test('a whole answer has the fields of the format', () => {
  const { usage, ...answer } = answerTo('chat', '/words 2');
  assert.deepEqual(answer, {
    id: 'answer-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'mock/echo',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'word word', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
  });
  assert.deepEqual(Object.keys(usage as Json), ['prompt_tokens', 'completion_tokens', 'total_tokens']);
});

test('it has as many choices as requested, and their tokens in its usage', () => {
  const three = answerTo('chat', '/think 2 /words 5', { n: 3 });
  assert.deepEqual(
    choicesOf(three).map(({ index }) => index),
    [0, 1, 2],
  );
  const usage = three.usage as Json;
  assert.deepEqual([usage.completion_tokens, usage.completion_tokens_details], [21, { reasoning_tokens: 6 }]);
});

test('its usage shows the cache', () => {
  const { prompt_tokens_details: details } = answerTo('chat', '/cache 3 /cache-write 2').usage as Json;
  assert.deepEqual(details, { cached_tokens: 3, cache_write_tokens: 2 });
  const all = answerTo('chat', '/cache 999 /cache-write 9').usage as Json;
  assert.deepEqual(all.prompt_tokens_details, { cached_tokens: all.prompt_tokens, cache_write_tokens: 0 });
});

test('it calls tools', () => {
  const message = messageOf(answerTo('chat', '/tool', { tools: TOOLS }));
  const call = { id: 'call_answer-1', type: 'function', function: { name: 'look_up', arguments: '{}' } };
  assert.deepEqual([message.content, message.tool_calls], [null, [call]]);
  const custom = messageOf(answerTo('chat', '/call patch {"input": "a\\nb "}', { tools: [CUSTOM] }));
  assert.deepEqual(custom.tool_calls, [
    { id: 'call_answer-1', type: 'custom', custom: { name: 'patch', input: 'a\nb ' } },
  ]);
  const empty = messageOf(answerTo('chat', '/call patch {"input": ""}', { tools: [CUSTOM] }));
  assert.deepEqual((empty.tool_calls as Json[])[0]?.custom, { name: 'patch', input: '' });
  const same = messageOf(answerTo('chat', '/call look_up {"input": "a"}', { tools: TOOLS }));
  assert.deepEqual((same.tool_calls as Json[])[0]?.function, { name: 'look_up', arguments: '{"input": "a"}' });
  const other = messageOf(answerTo('chat', '/call patch {"x": 1}', { tools: [CUSTOM] }));
  assert.deepEqual((other.tool_calls as Json[])[0]?.custom, { name: 'patch', input: '{"x": 1}' });
});

test('/call calls one tool after the other, and answers with text once it has all results', () => {
  const prompt = { role: 'user', content: '/call look_up {"n": 1} /call look_up {"n": 2}' };
  const call = { role: 'assistant', content: null, tool_calls: [] };
  const result = { role: 'tool', tool_call_id: 'call_1', content: 'done' };
  const callIn = (...messages: Json[]) => {
    const [made] = (messageOf(answerTo('chat', '', { messages, tools: TOOLS })).tool_calls ?? []) as Json[];
    return (made?.function as Json | undefined)?.arguments;
  };
  assert.equal(callIn(prompt), '{"n": 1}');
  assert.equal(callIn(prompt, call, result), '{"n": 2}');
  assert.equal(callIn(prompt, call, result, call, result), undefined);
  // Asked again.
  assert.equal(callIn(prompt, call, result, call, result, prompt), '{"n": 1}');
});

test('it reads the last message of the user, and its text parts', () => {
  const parts = [
    { type: 'text', text: '/words 2' },
    { type: 'image_url', image_url: { url: 'x' } },
  ];
  const messages = [
    { role: 'user', content: '/words 9' },
    { role: 'user', content: parts },
    { role: 'assistant', content: 'x' },
  ];
  assert.equal(messageOf(answerTo('chat', '', { messages })).content, 'word word');
});

describe('a stream', () => {
  test('sends a role, then words, then a finish reason, then usage, then its end', () => {
    const events = streamOf('/think 1 /words 2').map(({ data }) => data);
    assert.deepEqual(
      events.map(({ choices }) => choices),
      [
        [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }],
        [{ index: 0, delta: { reasoning_content: 'thought' }, finish_reason: null }],
        [{ index: 0, delta: { content: 'word' }, finish_reason: null }],
        [{ index: 0, delta: { content: ' word' }, finish_reason: null }],
        [{ index: 0, delta: {}, finish_reason: 'stop' }],
        [],
      ],
    );
    const { usage, choices, ...head } = events.at(-1) ?? {};
    assert.deepEqual(head, {
      id: 'answer-1',
      object: 'chat.completion.chunk',
      created: 1_700_000_000,
      model: 'mock/echo',
    });
    assert.deepEqual(usage, answerTo('chat', '/think 1 /words 2').usage);
    assert.ok(play('chat', 'hello', { stream: true }).text.endsWith('data: [DONE]\n\n'));
  });

  test('sends a call in pieces', () => {
    const calls = streamOf('/call patch {"input": "a b"}', { tools: [CUSTOM] }).flatMap(({ data }) => {
      const delta = choicesOf(data)[0]?.delta as Json | undefined;
      return (delta?.tool_calls ?? []) as Json[];
    });
    assert.deepEqual(calls, [
      { index: 0, id: 'call_answer-1', type: 'custom', custom: { name: 'patch', input: '' } },
      { index: 0, custom: { input: 'a' } },
      { index: 0, custom: { input: ' b' } },
    ]);
  });

  test('fails with an error and no end', () => {
    const { text } = play('chat', '/words 9 /fail 1', { stream: true });
    assert.match(text, /\ndata: \{"error":\{"message":"[^"]+","type":"mock_error","param":null,"code":500\}\}\n\n$/);
  });
});
