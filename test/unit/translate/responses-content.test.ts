/** What messages, calls and outputs in a responses request hold, as hosts read it. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { encryptedContent } from '../../../src/translate/responses/thinking.ts';
import {
  block,
  type Case,
  calling,
  FOLLOWS,
  HI,
  HI_BLOCKS,
  IMAGE_BLOCK,
  model,
  REASONING,
  REDACTED,
  reasoning,
  result,
  THINKING,
  testInputs,
  toolCall,
  toolMessage,
  use,
  user,
} from './responses-input.ts';
import { call, image, message, output, PDF, PNG, said, text, translated } from './responses-support.ts';

const CASES: readonly Case[] = [
  {
    what: 'images and files',
    request: {
      input: [
        message(
          'user',
          text('Look:'),
          image(PNG, { detail: 'high' }),
          image('https://a.test/b.png', { detail: null, file_id: null }),
          { type: 'input_file', file_data: PDF, filename: 'a.pdf', file_url: null },
        ),
      ],
    },
    chat: [
      user(
        block('Look:'),
        { type: 'image_url', image_url: { url: PNG, detail: 'high' } },
        { type: 'image_url', image_url: { url: 'https://a.test/b.png' } },
        { type: 'file', file: { file_data: PDF, filename: 'a.pdf' } },
      ),
    ],
    messages: [
      user(
        block('Look:'),
        IMAGE_BLOCK,
        { type: 'image', source: { type: 'url', url: 'https://a.test/b.png' } },
        {
          type: 'document',
          source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
          title: 'a.pdf',
        },
      ),
    ],
  },
  {
    what: 'what tools attach',
    request: {
      input: [
        message('user', text('Hi')),
        call('c1', 'look', '{}'),
        call('c2', 'look', '{}'),
        output('c1', [text('one'), image(PNG)]),
        output('c2', 'two'),
      ],
    },
    chat: [
      HI,
      calling(toolCall('c1', 'look', '{}'), toolCall('c2', 'look', '{}')),
      toolMessage('c1', `one\n${FOLLOWS}`),
      toolMessage('c2', 'two'),
      user(block('(Attached by the tool, in the call c1:)'), { type: 'image_url', image_url: { url: PNG } }),
    ],
    messages: [
      HI_BLOCKS,
      model(use('c1', 'look', {}), use('c2', 'look', {})),
      user(result('c1', block('one'), IMAGE_BLOCK), result('c2', block('two'))),
    ],
  },
  {
    what: 'a refusal',
    request: { input: [message('user', text('Hi')), message('assistant', { type: 'refusal', refusal: 'No.' }), HI] },
    chat: [HI, { role: 'assistant', content: null, refusal: 'No.' }, HI],
    messages: [HI_BLOCKS, model(block('No.')), HI_BLOCKS],
  },
  {
    what: 'thinking of the host, and of others',
    request: {
      input: [
        message('user', text('Hi')),
        reasoning(encryptedContent(THINKING)),
        reasoning(encryptedContent(REDACTED)),
        reasoning('gAAAAB'),
        call('c1', 'look', '{}'),
        output('c1', 'one'),
      ],
    },
    chat: [HI, calling(toolCall('c1', 'look', '{}')), toolMessage('c1', 'one')],
    messages: [HI_BLOCKS, model(THINKING, REDACTED, use('c1', 'look', {})), user(result('c1', block('one')))],
    ignored: { ...REASONING, messages: ['input.reasoning'] },
  },
  {
    what: 'thinking of the host in a turn that was broken off',
    request: {
      input: [message('user', text('Hi')), reasoning(encryptedContent(THINKING)), message('user', text('Go'))],
    },
    chat: [HI, { role: 'user', content: 'Go' }],
    messages: [user(block('Hi'), block('Go'))],
    ignored: { ...REASONING, messages: ['input.reasoning'] },
  },
  {
    what: 'arguments and ids of other hosts',
    request: {
      input: [message('user', text('Hi')), call('functions.f:0', 'f', '{"a":'), output('functions.f:0', 'broken')],
    },
    chat: [HI, calling(toolCall('functions.f:0', 'f', '{"a":')), toolMessage('functions.f:0', 'broken')],
    messages: [
      HI_BLOCKS,
      model(use('functions_f_0', 'f', { input: '{"a":' })),
      user(result('functions_f_0', block('broken'))),
    ],
  },
  {
    what: 'what only the own host of the client knows',
    request: {
      input: [
        { ...message('assistant', { ...said('Yes.'), annotations: [{}], logprobs: [{}] }), phase: 'commentary' },
        message('user', text('Hi'), { type: 'input_file', file_data: PDF, detail: 'low' }),
      ],
    },
    chat: [{ role: 'assistant', content: 'Yes.' }, user(block('Hi'), { type: 'file', file: { file_data: PDF } })],
    messages: [
      model(block('Yes.')),
      user(block('Hi'), {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
      }),
    ],
    ignored: {
      chat: ['input.annotations', 'input.detail', 'input.logprobs', 'input.phase'],
      messages: ['input.annotations', 'input.detail', 'input.logprobs', 'input.phase'],
    },
  },
];

describe('what becomes of contents', () => testInputs(CASES));

test('a host of the messages dialect fetches documents', () => {
  const file = { type: 'input_file', file_url: 'https://a.test/b.pdf', filename: 'b' };
  assert.deepEqual(translated('messages', { input: [message('user', file)] }).fields.messages, [
    user({ type: 'document', source: { type: 'url', url: 'https://a.test/b.pdf' }, title: 'b' }),
  ]);
});
