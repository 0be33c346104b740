/** The messages of chat requests for hosts of the messages dialect. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { call, EPHEMERAL, file, HI, HI_BLOCKS, HOUR, image, text, translated } from './chat-messages.ts';
import { MODEL, PDF, PNG } from './hosted.ts';
import { THINKING } from './messages-host.ts';

const REDACTED = { type: 'redacted_thinking', data: 'xyz' };

function base64(mediaType: string, data: string): Fields {
  return { type: 'base64', media_type: mediaType, data };
}

function use(id: string, name: string, input: unknown): Fields {
  return { type: 'tool_use', id, name, input };
}

function result(id: string, content: unknown, more: Fields = {}): Fields {
  return { type: 'tool_result', tool_use_id: id, content, ...more };
}

/** Messages, and the fields `system` and `messages` that they become. */
const CONVERSATIONS: readonly (readonly [what: string, chat: readonly Fields[], messages: Fields])[] = [
  [
    'system and developer messages, wherever they are',
    [
      { role: 'system', content: 'One' },
      HI,
      { role: 'developer', content: [text('Two', { cache_control: HOUR }), text('Three')] },
    ],
    { system: [text('One'), text('Two', { cache_control: HOUR }), text('Three')], messages: [HI_BLOCKS] },
  ],
  [
    'ids of calls with characters that hosts refuse',
    [
      { role: 'assistant', content: null, tool_calls: [call('functions.f:0', 'f', '{}')] },
      { role: 'tool', tool_call_id: 'functions.f:0', content: 'd' },
    ],
    {
      messages: [
        { role: 'assistant', content: [use('functions_f_0', 'f', {})] },
        { role: 'user', content: [result('functions_f_0', 'd')] },
      ],
    },
  ],
  [
    'ids of calls that differ only in such characters',
    [
      {
        role: 'assistant',
        content: null,
        tool_calls: [call('f.a:0', 'f', '{}'), call('f:a.0', 'g', '{}'), call('f_a_0_2', 'h', '{}')],
      },
      { role: 'tool', tool_call_id: 'f:a.0', content: 'b' },
      { role: 'tool', tool_call_id: 'f.a:0', content: 'a' },
      { role: 'tool', tool_call_id: 'f_a_0_2', content: 'c' },
    ],
    {
      messages: [
        { role: 'assistant', content: [use('f_a_0', 'f', {}), use('f_a_0_2', 'g', {}), use('f_a_0_2_2', 'h', {})] },
        { role: 'user', content: [result('f_a_0_2', 'b'), result('f_a_0', 'a'), result('f_a_0_2_2', 'c')] },
      ],
    },
  ],
  [
    'cache control of messages',
    [
      { role: 'system', content: 'S', cache_control: { ...EPHEMERAL, ttl: null } },
      { role: 'user', content: [text('a'), text('b')], cache_control: HOUR },
      { role: 'assistant', content: 'c', tool_calls: [call('t', 'f', '{}')], cache_control: EPHEMERAL },
      { role: 'tool', tool_call_id: 't', content: 'd', cache_control: EPHEMERAL },
    ],
    {
      system: [text('S', { cache_control: EPHEMERAL })],
      messages: [
        { role: 'user', content: [text('a'), text('b', { cache_control: HOUR })] },
        { role: 'assistant', content: [text('c'), { ...use('t', 'f', {}), cache_control: EPHEMERAL }] },
        { role: 'user', content: [result('t', 'd', { cache_control: EPHEMERAL })] },
      ],
    },
  ],
  [
    'cache control of calls',
    [
      {
        role: 'assistant',
        content: 'c',
        tool_calls: [{ ...call('t', 'f', '{}'), cache_control: HOUR }, call('u', 'f', '{}')],
      },
    ],
    {
      messages: [
        {
          role: 'assistant',
          content: [text('c'), { ...use('t', 'f', {}), cache_control: HOUR }, use('u', 'f', {})],
        },
      ],
    },
  ],
  [
    'images',
    [
      {
        role: 'user',
        content: [
          image(PNG, { detail: 'high' }),
          image('data:image/JPG;name=a;base64,/9j/', { detail: 'auto' }),
          { ...image('https://example.com/a.png'), cache_control: EPHEMERAL },
        ],
      },
    ],
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: base64('image/png', 'iVBORw0KGgo=') },
            { type: 'image', source: base64('image/jpeg', '/9j/') },
            { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' }, cache_control: EPHEMERAL },
          ],
        },
      ],
    },
  ],
  [
    'files',
    [
      {
        role: 'user',
        content: [
          file(PDF, { filename: 'a.pdf' }),
          { ...file('data:text/csv;charset=utf-8;base64,w6Qs4oKs'), cache_control: HOUR },
        ],
      },
    ],
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'document', source: base64('application/pdf', 'JVBERi0='), title: 'a.pdf' },
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'ä,€' }, cache_control: HOUR },
          ],
        },
      ],
    },
  ],
  [
    'parallel calls and their results',
    [
      HI,
      {
        role: 'assistant',
        content: null,
        refusal: null,
        annotations: [],
        audio: null,
        tool_calls: [call('t1', 'f', '{"x": [1, "ü"]}'), call('t2', 'g', '')],
      },
      { role: 'tool', tool_call_id: 't1', content: 'one' },
      { role: 'tool', tool_call_id: 't2', name: 'g', content: [text('two'), image(PNG)] },
      { role: 'user', content: 'And?' },
    ],
    {
      messages: [
        HI_BLOCKS,
        { role: 'assistant', content: [use('t1', 'f', { x: [1, 'ü'] }), use('t2', 'g', {})] },
        {
          role: 'user',
          content: [
            result('t1', 'one'),
            result('t2', [text('two'), { type: 'image', source: base64('image/png', 'iVBORw0KGgo=') }]),
            text('And?'),
          ],
        },
      ],
    },
  ],
  [
    'thinking, text and calls, in this order',
    [
      HI,
      {
        role: 'assistant',
        tool_calls: [{ index: 0, ...call('t1', 'f', '{}') }],
        content: [text('Well.'), { type: 'refusal', refusal: 'No.' }],
        reasoning_content: 'Hm.',
        thinking_blocks: [{ index: 0, ...THINKING }, REDACTED],
      },
      { role: 'tool', tool_call_id: 't1', content: '' },
    ],
    {
      messages: [
        HI_BLOCKS,
        { role: 'assistant', content: [THINKING, REDACTED, text('Well.'), text('No.'), use('t1', 'f', {})] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1' }] },
      ],
    },
  ],
  [
    'calls of custom tools',
    [
      HI,
      { role: 'assistant', tool_calls: [{ id: 't1', type: 'custom', custom: { name: 'c', input: '*** "x"' } }] },
      { role: 'tool', tool_call_id: 't1', content: 'ok' },
    ],
    {
      messages: [
        HI_BLOCKS,
        { role: 'assistant', content: [use('t1', 'c', { input: '*** "x"' })] },
        { role: 'user', content: [result('t1', 'ok')] },
      ],
    },
  ],
  [
    'deprecated calls',
    [
      HI,
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{"a":1}' } },
      { role: 'function', name: 'f', content: 'one' },
      { role: 'assistant', content: 'So', function_call: { name: 'f', arguments: '{}' } },
      { role: 'function', name: 'f', content: null },
    ],
    {
      messages: [
        HI_BLOCKS,
        { role: 'assistant', content: [use('call_1', 'f', { a: 1 })] },
        { role: 'user', content: [result('call_1', 'one')] },
        { role: 'assistant', content: [text('So'), use('call_3', 'f', {})] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_3' }] },
      ],
    },
  ],
  [
    'a refusal',
    [HI, { role: 'assistant', content: null, refusal: 'I cannot.' }],
    { messages: [HI_BLOCKS, { role: 'assistant', content: [text('I cannot.')] }] },
  ],
  [
    'empty messages, which say nothing',
    [
      { role: 'system', content: '' },
      HI,
      { role: 'assistant', content: '', reasoning_content: '' },
      { role: 'user', content: [text('')] },
      HI,
    ],
    { messages: [{ role: 'user', content: [text('Hi'), text('Hi')] }] },
  ],
];

describe('messages', () => {
  for (const [what, messages, expected] of CONVERSATIONS) {
    test(what, () => {
      const { fields, ignored } = translated({ messages });
      assert.deepEqual(fields, { model: MODEL, max_tokens: 64_000, ...expected });
      assert.deepEqual(ignored, []);
    });
  }

  test('past thinking without its signature is ignored by name', () => {
    const { fields, ignored } = translated({
      messages: [HI, { role: 'assistant', content: 'Yes.', reasoning_content: 'Hm.' }, HI],
    });
    assert.deepEqual(fields.messages, [HI_BLOCKS, { role: 'assistant', content: [text('Yes.')] }, HI_BLOCKS]);
    assert.deepEqual(ignored, ['reasoning_content']);
  });
});
