/** The input estimate: bytes of text, messages and images, and never the bytes of base64 data. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { estimateInput } from '../../../src/wire/estimate.ts';
import { tokensOfBytes } from '../../../src/wire/text-sample.ts';

const DATA = 'A'.repeat(400_000);
const DATA_URL = `data:image/png;base64,${DATA}`;
const TEXT = { type: 'text', text: 'x'.repeat(38) };
const user = (content: unknown) => [{ role: 'user', content }];
const image = (url: string) => ({ type: 'image_url', image_url: { url } });

const ROWS: readonly (readonly [what: string, messages: unknown[], tools: unknown[], tokens: number])[] = [
  ['an empty string', user(''), [], 3],
  ['one byte', user('x'), [], 4],
  ['38 bytes', user('x'.repeat(38)), [], 13],
  ['39 bytes', user('x'.repeat(39)), [], 14],
  ['multi-byte characters', user('漢'.repeat(38)), [], 33],
  ['two messages, whose bytes are added before they are divided', [...user('x'), ...user('xxx')], [], 8],
  ['a text part', user([TEXT]), [], 13],
  ['two text parts', user([TEXT, TEXT]), [], 23],
  ['an image by its URL', user([image('https://example.com/a.png')]), [], 1_603],
  ['an image as a data URL', user([image(DATA_URL)]), [], 1_603],
  ['text and two images', user([TEXT, image(DATA_URL), image(DATA_URL)]), [], 3_213],
  ['audio', user([{ type: 'input_audio', input_audio: { data: DATA, format: 'wav' } }]), [], 1_603],
  ['a file', user([{ type: 'file', file: { filename: 'a.pdf', file_data: DATA_URL } }]), [], 1_603],
  ['a part of an unknown type, with a data URL', user([{ type: 'input_image', image_url: DATA_URL }]), [], 1_603],
  [
    'a part of an unknown type, with base64 data',
    user([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: DATA } }]),
    [],
    1_603,
  ],
  ['an image in a tool result', [{ role: 'tool', tool_call_id: 'call_1', content: [image(DATA_URL)] }], [], 1_603],
  ['a message without text', [{ role: 'assistant', content: null }], [], 3],
  ['a name', [{ role: 'user', name: 'x'.repeat(38), content: '' }], [], 13],
  [
    'the arguments of a tool call',
    [
      {
        role: 'assistant',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'ab', arguments: 'x'.repeat(36) } }],
      },
    ],
    [],
    13,
  ],
  ['a tool by its JSON', [], [{ type: 'function', function: { name: 'abc' } }], tokensOfBytes(45)],
];

describe('the estimated input of', () => {
  for (const [what, messages, tools, tokens] of ROWS) {
    test(`${what} is ${tokens} tokens`, () => {
      const estimated = estimateInput(messages, tools);
      // A few bytes for the type name are within tolerance.
      if (/unknown type/.test(what)) assert.ok(Math.abs(estimated - tokens) < 20, `${estimated}`);
      else assert.equal(estimated, tokens);
    });
  }
});

test('tokens are bytes divided by 3.8, rounded up', () => {
  for (const [bytes, tokens] of [
    [0, 0],
    [1, 1],
    [3, 1],
    [4, 2],
    [19, 5],
    [20, 6],
    [3_800_000, 1_000_000],
  ] as const) {
    assert.equal(tokensOfBytes(bytes), tokens);
  }
});
