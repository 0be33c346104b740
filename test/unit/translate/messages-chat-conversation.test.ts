/** Conversations of the messages dialect as chat messages. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import {
  assistant,
  CALL,
  CALL_IN_CHAT,
  CALLED,
  CALLED_IN_CHAT,
  PDF,
  PDF_PART,
  PIXEL,
  PIXEL_PART,
  result,
  SEE_NEXT,
  text,
  user,
} from './messages-chat-content.ts';
import { HELLO, translate, translated } from './messages-chat-support.ts';

const CONVERSATIONS: readonly (readonly [what: string, messages: readonly Fields[], chat: readonly Fields[]])[] = [
  ['a text', [HELLO], [HELLO]],
  ['a block of text', [user(text('Hello'))], [HELLO]],
  ['blocks of text', [user(text('A'), text('B'))], [{ role: 'user', content: 'A\n\nB' }]],
  ['an image', [user(text('A'), { type: 'image', source: PIXEL })], [user(text('A'), PIXEL_PART)]],
  [
    'an image by its address',
    [user({ type: 'image', source: { type: 'url', url: 'https://a.example/b' } })],
    [user({ type: 'image_url', image_url: { url: 'https://a.example/b' } })],
  ],
  ['a PDF', [user({ type: 'document', source: PDF })], [user(PDF_PART)]],
  [
    'a PDF with a title and context',
    [user({ type: 'document', source: PDF, title: 'Report', context: 'From 2020.', citations: { enabled: false } })],
    [
      user(text('Report'), text('From 2020.'), {
        type: 'file',
        file: { filename: 'Report.pdf', file_data: 'data:application/pdf;base64,JVBE' },
      }),
    ],
  ],
  [
    'a text document',
    [user({ type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'D' } })],
    [{ role: 'user', content: 'T\n\nD' }],
  ],
  [
    'a document of blocks',
    [user({ type: 'document', source: { type: 'content', content: [text('A'), { type: 'image', source: PIXEL }] } })],
    [user(text('A'), PIXEL_PART)],
  ],
  [
    'a document of a string',
    [user({ type: 'document', source: { type: 'content', content: 'A' } })],
    [{ role: 'user', content: 'A' }],
  ],
  ['an answer', [HELLO, assistant(text('A'), text('B')), HELLO], [HELLO, { role: 'assistant', content: 'AB' }, HELLO]],
  [
    'an answer as a string',
    [HELLO, { role: 'assistant', content: 'A' }, HELLO],
    [HELLO, { role: 'assistant', content: 'A' }, HELLO],
  ],
  [
    'a call with text',
    [HELLO, assistant(text('A'), { ...CALL, caller: { type: 'direct' } }), user(result('Sun'))],
    [
      HELLO,
      { role: 'assistant', content: 'A', tool_calls: [CALL_IN_CHAT] },
      { role: 'tool', tool_call_id: 'call_1', content: 'Sun' },
    ],
  ],
  [
    'a call without input',
    [HELLO, assistant({ type: 'tool_use', id: 'call_1', name: 'weather', input: {} }), user(result())],
    [
      HELLO,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '' },
    ],
  ],
  [
    'results, before what is said',
    [...CALLED, user(text('And?'), result([text('A'), text('B')]), result('C', { tool_use_id: 'call_2' }))],
    [
      ...CALLED_IN_CHAT,
      { role: 'tool', tool_call_id: 'call_1', content: 'A\n\nB' },
      { role: 'tool', tool_call_id: 'call_2', content: 'C' },
      { role: 'user', content: 'And?' },
    ],
  ],
  [
    'a failure',
    [...CALLED, user(result('No such file', { is_error: true }))],
    [...CALLED_IN_CHAT, { role: 'tool', tool_call_id: 'call_1', content: 'Error: No such file' }],
  ],
  [
    'results with attachments, in neighbouring messages',
    [
      ...CALLED,
      user(result([{ type: 'image', source: PIXEL }])),
      user(result([text('B'), { type: 'document', source: PDF }], { tool_use_id: 'call_2' }), text('And?')),
    ],
    [
      ...CALLED_IN_CHAT,
      { role: 'tool', tool_call_id: 'call_1', content: SEE_NEXT },
      { role: 'tool', tool_call_id: 'call_2', content: `B\n\n${SEE_NEXT}` },
      user(
        text('Attachments of the result of call_1:'),
        PIXEL_PART,
        text('Attachments of the result of call_2:'),
        PDF_PART,
        text('And?'),
      ),
    ],
  ],
  [
    'tools that a client has found',
    [...CALLED, user(result([{ type: 'tool_reference', tool_name: 'fetch' }]))],
    [...CALLED_IN_CHAT, { role: 'tool', tool_call_id: 'call_1', content: 'The tool fetch can be called now.' }],
  ],
  [
    'system messages before and after the first answer',
    [
      HELLO,
      { role: 'system', content: [text('S')] },
      HELLO,
      { role: 'assistant', content: 'A' },
      HELLO,
      { role: 'system', content: 'T' },
    ],
    [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'Hello\n\nHello' },
      { role: 'assistant', content: 'A' },
      HELLO,
      { role: 'system', content: 'T' },
    ],
  ],
];

describe('a conversation with', () => {
  for (const [what, messages, chat] of CONVERSATIONS) {
    test(what, () => assert.deepEqual(translated({ messages }).fields.messages, chat));
  }
});
test('neighbouring messages may have very many blocks', () => {
  const many = { role: 'user', content: Array.from({ length: 200_000 }, () => text('')) };
  const result = translate({ messages: [HELLO, many] });
  assert.ok(result.ok);
  assert.equal((result.fields.messages as Fields[]).length, 1);
});
