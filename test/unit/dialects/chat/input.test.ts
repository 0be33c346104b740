/** The estimate of a request's input: which of its texts and names count, and what attachments come to. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { estimateInput, sampleInput } from '../../../../src/dialects/input.ts';
import { estimateTokensOf } from '../../../../src/wire/token-estimate.ts';
import { chatRequest } from './chat.ts';

const IMAGE = 1_600;
/** 45,000 bytes of data. */
const DATA = 'A'.repeat(60_000);
const DATA_URL = `data:image/png;base64,${DATA}`;
const AUDIO = 450;
const FILE = 5_625;
const TEXT = 'The quick brown fox jumps over the lazy dog. ';

const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });
const image = (url: unknown) => ({ type: 'image_url', image_url: { url } });
/** The names and values of an image part, besides its address. */
const IMAGE_NAMES = ['type', 'image_url', 'image_url'];

/** The fields of a request besides its model, the texts and names that count, and the tokens of the rest. */
const ROWS: readonly (readonly [what: string, fields: object, texts: readonly string[], tokens: number])[] = [
  ['an empty text', user(''), [''], 3],
  ['a text', user(TEXT), [TEXT], 3],
  ['two messages', { messages: [...user(TEXT).messages, ...user('x').messages] }, [TEXT, 'x'], 6],
  ['a text part', user([{ type: 'text', text: TEXT }]), ['type', 'text', 'text', TEXT], 3],
  [
    'a number within a message',
    user([{ type: 'text', text: 'x', weight: 17 }]),
    ['type', 'text', 'text', 'x', 'weight', '17'],
    3,
  ],
  ['an image as a data URL', user([image(DATA_URL)]), IMAGE_NAMES, 3 + IMAGE],
  ['an image in bare base64', user([image(DATA)]), IMAGE_NAMES, 3 + IMAGE],
  [
    'an image by its address',
    user([image('https://a.example/b.png')]),
    [...IMAGE_NAMES, 'https://a.example/b.png'],
    3 + IMAGE,
  ],
  [
    'a text in place of an image',
    user([image(`${DATA_URL} and more`)]),
    [...IMAGE_NAMES, `${DATA_URL} and more`],
    3 + IMAGE,
  ],
  [
    'audio, by its size',
    user([{ type: 'input_audio', input_audio: { data: DATA, format: 'wav' } }]),
    ['type', 'input_audio', 'input_audio', 'format', 'wav'],
    3 + AUDIO,
  ],
  [
    'a file, by its size',
    user([{ type: 'file', file: { filename: 'a.pdf', file_data: DATA_URL } }]),
    ['type', 'file', 'file', 'filename', 'a.pdf'],
    3 + FILE,
  ],
  ['a text that begins like a data URL', user(`data:;base64,${TEXT}`), [`data:;base64,${TEXT}`], 3],
  ['a data URL in a text', user(DATA_URL), [DATA_URL], 3],
  [
    'base64 where the format has no attachment',
    user([{ type: 'image', source: { data: DATA } }]),
    ['type', 'image', 'source', 'data', DATA],
    3,
  ],
  ['an answer without text', { messages: [{ role: 'assistant', content: null }] }, [], 3],
  ['a name', { messages: [{ role: 'user', name: TEXT, content: '' }] }, ['name', TEXT, ''], 3],
  [
    'a tool call',
    {
      messages: [
        {
          role: 'assistant',
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
        },
      ],
    },
    ['tool_calls', 'id', 'call_1', 'type', 'function', 'function', 'name', 'f', 'arguments', '{"a":1}'],
    3,
  ],
  [
    'tools, as JSON',
    { ...user(''), tools: [{ type: 'function', function: { name: 'f' } }] },
    ['', '[{"type":"function","function":{"name":"f"}}]'],
    3,
  ],
  ['functions', { ...user(''), functions: [{ name: TEXT }] }, ['', 'functions', JSON.stringify([{ name: TEXT }])], 3],
  [
    'the format of the response',
    { ...user(''), response_format: { type: 'json_schema', json_schema: { name: TEXT } } },
    ['', JSON.stringify({ type: 'json_schema', json_schema: { name: TEXT } })],
    3,
  ],
  ['a field of which the gateway knows nothing', { ...user(''), [TEXT]: TEXT }, ['', TEXT, TEXT], 3],
  ['numbers and switches of the format', { ...user('x'), temperature: 1, n: 2, stream: true, seed: 5 }, ['x'], 3],
];

describe('the estimated input of', () => {
  for (const [what, fields, texts, tokens] of ROWS) {
    test(what, () => {
      const request = chatRequest({ model: 'p/m', ...fields });
      assert.equal(estimateInput(request), estimateTokensOf(texts) + tokens);
      const sample = sampleInput(request);
      assert.deepEqual(
        [sample.text.sample().texts.toSorted(), sample.extraTokens],
        [texts.filter(Boolean).toSorted(), tokens],
      );
    });
  }
});
