/** Answers of hosts of the messages dialect, for clients of the chat dialect. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CHAT } from '../../../src/dialects/chat/chat.ts';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { MESSAGES } from '../../../src/dialects/messages/messages.ts';
import { CONTEXT, functionTool, text, translated } from './chat-messages.ts';
import { MODEL } from './hosted.ts';
import { answerOf, THINKING } from './messages-host.ts';

const TOOLS = { tools: [functionTool('f'), { type: 'custom', custom: { name: 'c' } }] };
const FUNCTIONS = { functions: [{ name: 'f' }] };
const use = (id: string, name: string, input: unknown): Fields => ({ type: 'tool_use', id, name, input });
const REDACTED = { type: 'redacted_thinking', data: 'xyz' };

/** The first choice of the translated answer. */
function choiceOf(answer: Fields, body: Fields = TOOLS): Fields {
  const translation = translated(body).response.answer(answerOf(answer), CONTEXT);
  return (translation.choices as Fields[])[0] as Fields;
}

const CONTENTS: readonly (readonly [what: string, content: readonly unknown[], message: Fields, body?: Fields])[] = [
  ['texts', [text('One'), text(' two')], { content: 'One two' }],
  ['nothing', [], { content: '' }],
  [
    'thinking',
    [THINKING, REDACTED, { type: 'thinking', thinking: ' So.', signature: 's2' }, text('Yes')],
    {
      content: 'Yes',
      reasoning_content: 'Hm. So.',
      thinking_blocks: [THINKING, REDACTED, { type: 'thinking', thinking: ' So.', signature: 's2' }],
    },
  ],
  [
    'calls',
    [text('Let me see.'), use('t1', 'f', { x: [1, 'ü'] }), use('t2', 'f', {}), use('t3', 'c', { input: 'a\n"b"' })],
    {
      content: 'Let me see.',
      tool_calls: [
        { id: 't1', type: 'function', function: { name: 'f', arguments: '{"x":[1,"ü"]}' } },
        { id: 't2', type: 'function', function: { name: 'f', arguments: '{}' } },
        { id: 't3', type: 'custom', custom: { name: 'c', input: 'a\n"b"' } },
      ],
    },
  ],
  [
    'a call of a custom tool with other arguments',
    [use('t1', 'c', { patch: 1 })],
    { content: null, tool_calls: [{ id: 't1', type: 'custom', custom: { name: 'c', input: '{"patch":1}' } }] },
  ],
  [
    'a call of a deprecated function',
    [use('t1', 'f', { x: 1 }), use('t2', 'f', {})],
    { content: null, function_call: { name: 'f', arguments: '{"x":1}' } },
    FUNCTIONS,
  ],
  ['unknown blocks', [null, 'x', { type: 'new', text: 'No' }, text('Yes'), { type: 'text' }], { content: 'Yes' }],
];

describe('the message of an answer', () => {
  for (const [what, content, message, body] of CONTENTS) {
    test(what, () => {
      assert.deepEqual(choiceOf({ content }, body).message, { role: 'assistant', refusal: null, ...message });
    });
  }

  test('a refusal is explained', () => {
    const details = { type: 'refusal', category: 'bio', explanation: 'Not this.' };
    const { message, finish_reason: reason } = choiceOf({ content: [], stop_reason: 'refusal', stop_details: details });
    assert.deepEqual(message, { role: 'assistant', content: null, refusal: 'Not this.' });
    assert.equal(reason, 'content_filter');
  });

  test('its thinking blocks and calls can be given back as they are', () => {
    const content = [THINKING, REDACTED, text('So'), use('t1', 'f', { x: 1 }), use('t2', 'c', { input: 'y' })];
    const message = choiceOf({ content }).message as Fields;
    const { fields, ignored } = translated({ messages: [message, { role: 'tool', tool_call_id: 't1', content: '1' }] });
    assert.deepEqual((fields.messages as Fields[])[0], { role: 'assistant', content });
    assert.deepEqual(ignored, []);
  });
});

const FINISH_REASONS: readonly (readonly [stop: unknown, chat: string, deprecated?: string])[] = [
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['tool_use', 'tool_calls', 'function_call'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
  ['new_reason', 'stop'],
  [null, 'stop'],
];

describe('finish reasons', () => {
  for (const [stop, chat, deprecated = chat] of FINISH_REASONS) {
    test(`${stop} is ${chat}`, () => {
      assert.equal(choiceOf({ stop_reason: stop }).finish_reason, chat);
      assert.equal(choiceOf({ stop_reason: stop }, FUNCTIONS).finish_reason, deprecated);
    });
  }
});

const USAGES: readonly (readonly [what: string, usage: unknown, chat: Fields | undefined])[] = [
  [
    'with the cache',
    {
      input_tokens: 10,
      output_tokens: 4,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 30,
      cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
    },
    {
      prompt_tokens: 140,
      completion_tokens: 4,
      total_tokens: 144,
      prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 30 },
    },
  ],
  [
    'with thinking',
    {
      input_tokens: 10,
      output_tokens: 4,
      cache_read_input_tokens: null,
      output_tokens_details: { thinking_tokens: 3 },
    },
    {
      prompt_tokens: 10,
      completion_tokens: 4,
      total_tokens: 14,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 3 },
    },
  ],
  ['that is unusable', { input_tokens: 'x', output_tokens: 4 }, undefined],
  ['that is absent', undefined, undefined],
];

describe('usage', () => {
  for (const [what, usage, expected] of USAGES) {
    test(what, () => {
      const answer = translated({}).response.answer(answerOf({ usage }), CONTEXT);
      assert.deepEqual(answer.usage, expected);
      // The gateway reads the same figures on both sides.
      const ours = CHAT.readAnswer(answer).usage;
      const { promptTokens, cachedTokens, completionTokens } = MESSAGES.readAnswer(answerOf({ usage })).usage ?? {};
      assert.deepEqual(
        [ours?.promptTokens, ours?.cachedTokens, ours?.completionTokens],
        [promptTokens, cachedTokens, completionTokens],
      );
    });
  }
});

describe('an answer', () => {
  test('is a completion with the id and the model of the host', () => {
    const usage = { input_tokens: 1, output_tokens: 2, service_tier: 'standard' };
    const answer = answerOf({ content: [text('Hi')], usage, stop_sequence: null, container: null });
    assert.deepEqual(translated({}).response.answer(answer, CONTEXT), {
      id: 'msg_1',
      object: 'chat.completion',
      created: CONTEXT.nowS,
      model: 'claude-x',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      service_tier: 'default',
      usage: {
        prompt_tokens: 1,
        completion_tokens: 2,
        total_tokens: 3,
        prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      },
    });
  });

  test('that names neither has those of the request', () => {
    const { id, model } = translated({}).response.answer({ content: 'x' }, CONTEXT);
    assert.deepEqual([id, model], [CONTEXT.requestId, MODEL]);
  });
});
