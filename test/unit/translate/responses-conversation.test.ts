/** The turns of a conversation in a responses request, and what they hold, as hosts of both dialects read them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { encryptedContent } from '../../../src/translate/responses/thinking.ts';
import { PDF, PNG } from './hosted.ts';
import { THINKING } from './messages-host.ts';
import { toolCall, use } from './responses-hosts.ts';
import {
  block,
  type Case,
  calling,
  FOLLOWS,
  HI,
  HI_BLOCKS,
  model,
  REASONING,
  REDACTED,
  reasoning,
  result,
  testInputs,
  toolMessage,
  user,
} from './responses-input.ts';
import { call, image, message, namespace, output, said, text, tool, translated } from './responses-support.ts';

const CASES: readonly Case[] = [
  {
    what: 'instructions and what developers say at the beginning are one system message',
    request: {
      instructions: 'Be brief.',
      input: [message('developer', text('A'), text('B')), message('system', text('C')), message('user', text('Hi'))],
    },
    chat: [{ role: 'system', content: 'Be brief.\n\nA\n\nB\n\nC' }, HI],
  },
  {
    what: 'later instructions stay where they are, if they can',
    request: { input: [message('user', text('Hi')), message('developer', text('A')), message('user', text('Go'))] },
    chat: [HI, { role: 'system', content: 'A' }, { role: 'user', content: 'Go' }],
  },
  {
    what: 'messages without a type, with contents that are strings',
    request: { input: [{ role: 'user', content: 'Hi' }, { role: 'assistant', content: 'Yes?' }, HI] },
    chat: [HI, { role: 'assistant', content: 'Yes?' }, HI],
  },
  {
    what: 'what the model says and calls in a turn is one message, followed by the outputs',
    request: {
      input: [
        message('user', text('Hi')),
        message('assistant', said('I '), said('look.')),
        call('c1', 'look', '{"a":1}', { id: 'fc_1', status: 'completed' }),
        call('c2', 'look', ''),
        output('c1', 'one'),
        output('c2', [text('two'), text('three')]),
        message('assistant', said('Done.')),
        message('user', text('Hi')),
      ],
    },
    chat: [
      HI,
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [toolCall('c1', 'look', '{"a":1}'), toolCall('c2', 'look', '')],
      },
      toolMessage('c1', 'one'),
      toolMessage('c2', 'two\nthree'),
      { role: 'assistant', content: 'Done.' },
      HI,
    ],
    messages: [
      HI_BLOCKS,
      model(block('I '), block('look.'), use('c1', 'look', { a: 1 }), use('c2', 'look', {})),
      user(result('c1', block('one')), result('c2', block('two'), block('three'))),
      model(block('Done.')),
      HI_BLOCKS,
    ],
  },
  {
    what: 'an output stands with its call, whatever comes between',
    request: {
      input: [
        message('user', text('Hi')),
        call('c1', 'look', '{}'),
        message('assistant', said('Wait.')),
        message('user', text('Go')),
        output('c1', 'one'),
      ],
    },
    chat: [
      HI,
      { role: 'assistant', content: 'Wait.', tool_calls: [toolCall('c1', 'look', '{}')] },
      toolMessage('c1', 'one'),
      { role: 'user', content: 'Go' },
    ],
  },
  {
    what: 'a call after an output is a turn of its own',
    request: {
      input: [
        message('user', text('Hi')),
        call('c1', 'look', '{}'),
        output('c1', 'one'),
        call('c2', 'look', '{}'),
        output('c2', 'two'),
      ],
    },
    chat: [
      HI,
      calling(toolCall('c1', 'look', '{}')),
      toolMessage('c1', 'one'),
      calling(toolCall('c2', 'look', '{}')),
      toolMessage('c2', 'two'),
    ],
  },
  {
    what: 'an output without its call, for the host to judge',
    request: { input: [output('c1', 'one'), message('user', text('Hi'))] },
    chat: [toolMessage('c1', 'one'), HI],
  },
  {
    what: 'custom tools and tools of namespaces have other names',
    request: {
      tools: [{ type: 'custom', name: 'patch' }, namespace('agents', tool('spawn'))],
      input: [
        message('user', text('Hi')),
        { type: 'custom_tool_call', call_id: 'c1', name: 'patch', input: 'a "b"' },
        call('c2', 'spawn', '{}', { namespace: 'agents' }),
        call('c3', 'gone', '{}', { namespace: 'other' }),
        { type: 'custom_tool_call_output', call_id: 'c1', output: 'one' },
        output('c2', ''),
        output('c3', ''),
      ],
    },
    chat: [
      HI,
      calling(
        toolCall('c1', 'patch', '{"input":"a \\"b\\""}'),
        toolCall('c2', 'agents__spawn', '{}'),
        toolCall('c3', 'other__gone', '{}'),
      ),
      toolMessage('c1', 'one'),
      toolMessage('c2', ''),
      toolMessage('c3', ''),
    ],
  },
];

describe('what becomes of turns', () => testInputs(CASES));

const CONTENTS: readonly Case[] = [
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
  },
  {
    what: 'a refusal',
    request: { input: [message('user', text('Hi')), message('assistant', { type: 'refusal', refusal: 'No.' }), HI] },
    chat: [HI, { role: 'assistant', content: null, refusal: 'No.' }, HI],
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
    ignored: REASONING,
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
    ignored: { chat: ['input.annotations', 'input.detail', 'input.logprobs', 'input.phase'] },
  },
];

describe('what becomes of contents', () => testInputs(CONTENTS));

test('a host of the messages dialect fetches documents', () => {
  const file = { type: 'input_file', file_url: 'https://a.test/b.pdf', filename: 'b' };
  assert.deepEqual(translated('messages', { input: [message('user', file)] }).fields.messages, [
    user({ type: 'document', source: { type: 'url', url: 'https://a.test/b.pdf' }, title: 'b' }),
  ]);
});
