/** Chat completions as messages: content, stop reasons and usage. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { MESSAGES } from '../../../src/dialects/messages/messages.ts';
import { CONTEXT } from './hosted.ts';
import { text } from './messages-chat-content.ts';
import { responseTo } from './messages-chat-support.ts';

function completion(message: Fields, others: Fields = {}): Fields {
  const choice = { index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' };
  return { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'gpt', choices: [choice], ...others };
}

function answerTo(answer: Fields, request?: Fields): Fields {
  return responseTo(request).answer(answer, CONTEXT);
}

function call(args: unknown, others: Fields = {}): Fields {
  return { id: 'call_1', type: 'function', function: { name: 'weather', arguments: args }, ...others };
}

function use(input: Fields, id = 'call_1'): Fields {
  return { type: 'tool_use', id, name: 'weather', input };
}

const thought = (signature: string) => ({ type: 'thinking', thinking: 'Hm.', signature });
const OF_CONTENT = thought('chat.reasoning_content');
const OF_REASONING = thought('chat.reasoning');

const MESSAGES_OF_HOSTS: readonly (readonly [what: string, message: Fields, content: readonly Fields[]])[] = [
  ['text', { content: 'Hi' }, [text('Hi')]],
  ['nothing', { content: null }, []],
  ['an empty text', { content: '' }, []],
  ['text in parts', { content: [text('H'), text('i')] }, [text('Hi')]],
  ['a refusal', { content: null, refusal: 'No.' }, [text('No.')]],
  ['reasoning_content', { content: 'Hi', reasoning_content: 'Hm.' }, [OF_CONTENT, text('Hi')]],
  ['reasoning', { content: 'Hi', reasoning: 'Hm.' }, [OF_REASONING, text('Hi')]],
  ['reasoning, twice', { content: 'Hi', reasoning_content: 'Hm.', reasoning: 'Hm.' }, [OF_CONTENT, text('Hi')]],
  [
    'reasoning in parts',
    { content: [{ type: 'thinking', thinking: [text('Hm.')] }, text('Hi')] },
    [thought(''), text('Hi')],
  ],
  ['a call', { content: null, tool_calls: [call('{"city":"Bonn"}')] }, [use({ city: 'Bonn' })]],
  [
    'all of them',
    { content: 'Hi', reasoning: 'Hm.', tool_calls: [call('{"a":1}'), call('{"b":[{}]}', { id: 'call_2' })] },
    [OF_REASONING, text('Hi'), use({ a: 1 }), use({ b: [{}] }, 'call_2')],
  ],
  ['a call without arguments', { tool_calls: [call('')] }, [use({})]],
  ['a call with an empty object', { tool_calls: [call(' {} ')] }, [use({})]],
  ['a call with parsed arguments', { tool_calls: [call({ city: 'Bonn' })] }, [use({ city: 'Bonn' })]],
  ['a call with a list', { tool_calls: [call('[1]')] }, [use({ input: '[1]' })]],
  ['a call with malformed JSON', { tool_calls: [call('{"city":')] }, [use({ input: '{"city":' })]],
  ['a call without an id', { tool_calls: [call('{}', { id: '' })] }, [use({}, 'toolu_0123_0')]],
  [
    'a custom call',
    { tool_calls: [{ id: 'call_1', type: 'custom', custom: { name: 'weather', input: 'Bonn' } }] },
    [use({ input: 'Bonn' })],
  ],
  ['the deprecated call', { function_call: { name: 'weather', arguments: '{}' } }, [use({}, 'toolu_0123_0')]],
  ['what no host sends', { content: 7, reasoning: {}, refusal: [], tool_calls: [null, 'x'] }, []],
];

describe('the content of an answer with', () => {
  for (const [what, message, content] of MESSAGES_OF_HOSTS) {
    test(what, () => assert.deepEqual(answerTo(completion(message)).content, content));
  }
});

describe('thinking is left out for a client', () => {
  const requests: readonly (readonly [who: string, request: Fields])[] = [
    ['that does not ask for it', {}],
    ['that switches it off', { thinking: { type: 'disabled' } }],
  ];
  for (const [who, request] of requests) {
    test(who, () => {
      const answer = completion({ content: 'Hi', reasoning_content: 'Hm.' });
      assert.deepEqual(answerTo(answer, request).content, [text('Hi')]);
    });
  }

  test('that does not want to see it, but is to give it back', () => {
    const request = { thinking: { type: 'adaptive', display: 'omitted' } };
    const sealed = (signature: string) => ({ type: 'thinking', thinking: '', signature });
    const contentOf = (message: Fields) => answerTo(completion(message), request).content;
    const inBase64 = Buffer.from('Hm.').toString('base64');
    assert.deepEqual(contentOf({ content: 'Hi', reasoning: 'Hm.' }), [
      sealed(`chat.reasoning.${inBase64}`),
      text('Hi'),
    ]);
    // What no host takes back is not sealed.
    const parts = [{ type: 'thinking', thinking: [text('Hm.')] }, text('Hi')];
    assert.deepEqual(contentOf({ content: parts }), [text('Hi')]);
  });
});

const CALLS = { tool_calls: [call('{}')] };

const STOP_REASONS: readonly (readonly [finish: unknown, message: Fields, reason: string])[] = [
  ['stop', { content: 'Hi' }, 'end_turn'],
  ['stop', CALLS, 'tool_use'],
  ['tool_calls', CALLS, 'tool_use'],
  ['function_call', CALLS, 'tool_use'],
  ['tool_calls', { content: 'Hi' }, 'end_turn'],
  ['length', { content: 'Hi' }, 'max_tokens'],
  ['length', CALLS, 'max_tokens'],
  ['model_length', { content: 'Hi' }, 'max_tokens'],
  ['insufficient_system_resource', { content: 'Hi' }, 'max_tokens'],
  ['content_filter', { content: 'Hi' }, 'refusal'],
  ['stop', { refusal: 'No.' }, 'refusal'],
  ['eos', { content: 'Hi' }, 'end_turn'],
  [null, { content: 'Hi' }, 'end_turn'],
];

describe('the finish reason', () => {
  for (const [finish, message, reason] of STOP_REASONS) {
    test(`${finish} of ${JSON.stringify(message)} is ${reason}`, () => {
      const answer = answerTo({ choices: [{ message, finish_reason: finish }] });
      assert.deepEqual([answer.stop_reason, answer.stop_sequence], [reason, null]);
    });
  }
});

/** Usage of a host, and input, cache writes, cache reads, output and thinking of the message. */
const USAGE: readonly (readonly [what: string, usage: unknown, message: readonly (number | undefined)[]])[] = [
  ['plain', { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }, [9, 0, 0, 4, undefined]],
  [
    'with all details',
    {
      prompt_tokens: 100,
      completion_tokens: 40,
      prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
      completion_tokens_details: { reasoning_tokens: 25 },
    },
    [10, 30, 60, 40, 25],
  ],
  ['that leaves reasoning out', { prompt_tokens: 9, completion_tokens: 4, total_tokens: 23 }, [9, 0, 0, 14, undefined]],
  ['that is unusable', { prompt_tokens: -1 }, [0, 0, 0, 0, undefined]],
  ['that is absent', undefined, [0, 0, 0, 0, undefined]],
];

describe('usage', () => {
  for (const [what, usage, expected] of USAGE) {
    test(what, () => {
      const message = answerTo(completion({ content: 'Hi' }, { usage }));
      const [input, written, read, output, thinking] = expected;
      assert.deepEqual(message.usage, {
        input_tokens: input,
        cache_creation_input_tokens: written,
        cache_read_input_tokens: read,
        output_tokens: output,
        ...(thinking !== undefined && { output_tokens_details: { thinking_tokens: thinking } }),
      });
    });
  }

  test('is read by the messages dialect as it was reported', () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 40,
      prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
    };
    const { usage: read } = MESSAGES.readAnswer(answerTo(completion({ content: 'Hi' }, { usage })));
    assert.deepEqual(
      [read?.promptTokens, read?.cachedTokens, read?.parts?.cacheWriteTokens, read?.completionTokens],
      [100, 60, 30, 40],
    );
  });
});

describe('an answer', () => {
  test('is a message of this dialect', () => {
    assert.deepEqual(answerTo(completion({ content: 'Hi' }, { usage: { prompt_tokens: 9, completion_tokens: 4 } })), {
      id: 'msg_0123',
      type: 'message',
      role: 'assistant',
      model: 'gpt',
      content: [text('Hi')],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 9, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 4 },
    });
  });

  test('has the name that the client used, if the host names no model', () => {
    assert.equal(answerTo({ ...completion({}), model: '' }).model, 'host/model');
  });
});
