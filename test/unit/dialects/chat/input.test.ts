/** The estimate of a request's input: which of its texts and names count, and what attachments come to. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Attachment } from '../../../../src/dialects/dialect.ts';
import { inputParts, sampleInput } from '../../../../src/dialects/input.ts';
import { estimateTokensOf } from '../../../../src/wire/token-estimate.ts';
import { pngOf } from '../../../support/media.ts';
import { testModel } from '../../../support/models.ts';
import { chatRequest } from './chat.ts';

const IMAGE = 1_600;
const MODEL = testModel('p/m', { imageTokens: IMAGE });
/** 45,000 bytes of data that are nothing that is known. */
const DATA = 'A'.repeat(60_000);
const DATA_URL = `data:image/png;base64,${DATA}`;
const PNG = pngOf(10, 10).toString('base64');
const PDF = Buffer.from('%PDF-1.7').toString('base64');
const TEXT = 'The quick brown fox jumps over the lazy dog. ';

const LINES = PDF.replace(/(.{4})/, '$1\n');
const WORDS = 'notes for today\nbuy milk\ncall Bob\n'.repeat(10);
const ESCAPED = 'data:application/pdf,%25PDF-1.7';
const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });
const image = (url: unknown) => ({ type: 'image_url', image_url: { url } });
/** The names and values of an image part, besides its address. */
const IMAGE_NAMES = ['type', 'image_url', 'image_url'];

/** The fields of a request besides its model, the texts and names that count, the tokens of messages, and the attachments. */
const ROWS: readonly (readonly [
  what: string,
  fields: object,
  texts: readonly string[],
  tokens: number,
  ...attachments: readonly Attachment['kind'][],
])[] = [
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
  ['an image as a data URL', user([image(DATA_URL)]), IMAGE_NAMES, 3, 'image'],
  ['an image in bare base64', user([image(DATA)]), IMAGE_NAMES, 3, 'image'],
  [
    'an image by its address',
    user([image('https://a.example/b.png')]),
    [...IMAGE_NAMES, 'https://a.example/b.png'],
    3,
    'image',
  ],
  [
    'a text in place of an image',
    user([image(`${DATA_URL} and more`)]),
    [...IMAGE_NAMES, `${DATA_URL} and more`],
    3,
    'image',
  ],
  [
    'audio that is none',
    user([{ type: 'input_audio', input_audio: { data: DATA, format: 'wav' } }]),
    ['type', 'input_audio', 'input_audio', 'format', 'wav'],
    3,
    'opaque',
  ],
  [
    'a file',
    user([{ type: 'file', file: { filename: 'a.docx', file_data: `data:application/zip;base64,${DATA}` } }]),
    ['type', 'file', 'file', 'filename', 'a.docx'],
    3,
    'opaque',
  ],
  [
    'a file that is a text',
    user([{ type: 'file', file: { file_data: `data:text/plain;base64,${Buffer.from(TEXT).toString('base64')}` } }]),
    ['type', 'file', 'file', TEXT],
    3,
  ],
  ['a file that is an image', user([{ type: 'file', file: { file_data: PNG } }]), ['type', 'file', 'file'], 3, 'image'],
  ['a PDF that says it is an image', user([image(`data:image/png;base64,${PDF}`)]), IMAGE_NAMES, 3, 'pdf'],
  [
    'a PDF in base64 of several lines',
    user([{ type: 'file', file: { file_data: LINES } }]),
    ['type', 'file', 'file', LINES],
    3,
    'pdf',
  ],
  [
    'a PDF in a data URL without base64',
    user([{ type: 'file', file: { file_data: ESCAPED } }]),
    ['type', 'file', 'file', ESCAPED],
    3,
    'pdf',
  ],
  ['words in place of data', user([{ type: 'file', file: { file_data: WORDS } }]), ['type', 'file', 'file', WORDS], 3],
  [
    'a text that says it is a PDF',
    user([{ type: 'file', file: { file_data: 'data:application/pdf,x' } }]),
    ['type', 'file', 'file', 'data:application/pdf,x', 'x'],
    3,
    'opaque',
  ],
  [
    'a file by its id',
    user([{ type: 'file', file: { file_id: 'f' } }]),
    ['type', 'file', 'file', 'file_id', 'f'],
    3,
    'reference',
  ],
  [
    'a file by its address',
    user([{ type: 'file', file: { file_data: 'https://a.example/b' } }]),
    ['type', 'file', 'file', 'https://a.example/b'],
    3,
    'reference',
  ],
  ['an image at a path', user([image('/etc/b.png')]), [...IMAGE_NAMES, '/etc/b.png'], 3, 'reference'],
  ['an image at a file URL', user([image('file:///b.png')]), [...IMAGE_NAMES, 'file:///b.png'], 3, 'reference'],
  [
    'an image without an object around it',
    user([{ type: 'image_url', image_url: 'https://a.example/b.png' }]),
    ['type', 'image_url', 'https://a.example/b.png'],
    3,
    'image',
  ],
  [
    'audio that was spoken',
    { messages: [{ role: 'assistant', audio: { id: 'a' } }] },
    ['audio', 'id', 'a'],
    3,
    'reference',
  ],
  [
    'a video',
    user([{ type: 'video_url', video_url: { url: 'x' } }]),
    ['type', 'video_url', 'video_url', 'url', 'x'],
    3,
    'reference',
  ],
  [
    'an address in a part of an unknown type',
    user([{ type: 'page', page: { at: ['https://a.example'] } }]),
    ['type', 'page', 'page', 'at', 'https://a.example'],
    3,
    'reference',
  ],
  [
    'an address in a text',
    user([{ type: 'text', text: 'https://a.example' }]),
    ['type', 'text', 'text', 'https://a.example'],
    3,
  ],
  [
    'a file that an answer has cited',
    { messages: [{ role: 'assistant', content: '', annotations: [{ file_id: 'f' }] }] },
    ['', 'annotations', 'file_id', 'f'],
    3,
  ],
  [
    'a file in a field of which the gateway knows nothing',
    { ...user(''), attachments: [{ file_id: 'f' }] },
    ['', 'attachments', '[{"file_id":"f"}]'],
    3,
    'reference',
  ],
  ['a text that begins like a data URL', user(`data:;base64,${TEXT}`), [`data:;base64,${TEXT}`], 3],
  ['a data URL in a text', user(DATA_URL), [DATA_URL], 3],
  [
    'base64 in a part of an unknown type',
    user([{ type: 'image', source: { data: DATA } }]),
    ['type', 'image', 'source', 'data', DATA],
    3,
    'opaque',
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
  for (const [what, fields, texts, tokens, ...attachments] of ROWS) {
    test(what, () => {
      const request = chatRequest({ model: 'p/m', ...fields });
      const parts = inputParts(request);
      assert.deepEqual(
        { ...parts, attachments: parts.attachments.map(({ kind }) => kind) },
        { textTokens: estimateTokensOf(texts), formatTokens: tokens, attachments },
      );
      const sample = sampleInput(request, MODEL);
      const images = attachments.filter((kind) => kind === 'image').length;
      assert.deepEqual(
        [sample.text.sample().texts.toSorted(), sample.extraTokens],
        [texts.filter(Boolean).toSorted(), tokens + images * IMAGE],
      );
    });
  }
});
