/** The estimate of a messages request's input: attachments count as such only where the format has them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Attachment } from '../../../../src/dialects/dialect.ts';
import { inputParts } from '../../../../src/dialects/input.ts';
import { messagesRequest } from './messages.ts';

/** 45,000 bytes of data. */
const DATA = 'A'.repeat(60_000);
const NONE: readonly Attachment['kind'][] = [];
const IMAGE = ['image'] as const;
const FILE = ['opaque'] as const;
const REMOTE = ['reference'] as const;

const base64 = (media_type: string, data = DATA) => ({ type: 'base64', media_type, data });
const PICTURE = { type: 'image', source: base64('image/png') };
const call = (input: unknown) => ({ type: 'tool_use', id: 'a', name: 'b', input });
const result = (...content: object[]) => ({ type: 'tool_result', tool_use_id: 'a', content });

/** A block, its attachments, and whether its data counts as text. */
const ROWS: readonly (readonly [
  what: string,
  block: object,
  attachments: readonly Attachment['kind'][],
  isText: boolean,
])[] = [
  ['an image', PICTURE, IMAGE, false],
  ['an image by its address', { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } }, IMAGE, false],
  ['an image of a type that is none', { type: 'image', source: base64('application/pdf') }, FILE, false],
  ['an image that is a text', { type: 'image', source: base64('image/png', `${DATA} .`) }, IMAGE, true],
  ['an image whose source has another type', { type: 'image', source: { type: 'text', data: DATA } }, IMAGE, true],
  ['a document', { type: 'document', source: base64('application/pdf') }, FILE, false],
  ['a document of the type of an image', { type: 'document', source: base64('image/png') }, IMAGE, false],
  ['a document by its address', { type: 'document', source: { type: 'url', url: 'https://a.example' } }, REMOTE, false],
  ['a document that is a text', { type: 'document', source: { type: 'text', data: DATA } }, NONE, true],
  ['images in a document', { type: 'document', source: { type: 'content', content: [PICTURE] } }, IMAGE, false],
  ['two images in a result', result(PICTURE, PICTURE), [...IMAGE, ...IMAGE], false],
  ['a file at the host', { type: 'document', source: { type: 'file', file_id: 'f' } }, REMOTE, false],
  ['an image at the host', { type: 'image', source: { type: 'file', file_id: 'f' } }, ['image', 'reference'], false],
  ['a file for a container', { type: 'container_upload', file_id: 'f' }, REMOTE, false],
  ['a file that a call made', { type: 'code_execution_output', file_id: 'f' }, NONE, false],
  ['an address in an unknown block', { type: 'page', url: 'https://a.example' }, REMOTE, false],
  ['data in an unknown block', { type: 'film', data: DATA }, FILE, true],
  ['an address in a found page', { type: 'web_search_result', url: 'https://a.example' }, NONE, false],
  ['a block of another type', { type: 'text', text: '', source: base64('image/png') }, NONE, true],
  ['a source in the input of a call', call({ source: base64('image/png') }), NONE, true],
  ['an image in the input of a call', call({ a: PICTURE }), NONE, true],
  ['an image as the input of a call', call(PICTURE), NONE, true],
  ['a list as the input of a call', call([PICTURE]), NONE, true],
  ['an image in the input of a call in a result', result(call({ a: [PICTURE] })), NONE, true],
];

describe('the input of a messages request', () => {
  for (const [what, block, attachments, isText] of ROWS) {
    test(what, () => {
      const request = messagesRequest({ messages: [{ role: 'user', content: [block] }] });
      const texts: string[] = [];
      request.dialect.walkInput(request, { text: (text) => texts.push(text), attachment: () => {} });
      const parts = inputParts(request);
      assert.deepEqual(
        parts.attachments.map(({ kind }) => kind),
        attachments,
      );
      assert.equal(parts.formatTokens, 3);
      assert.equal(texts.join('').includes(DATA), isText);
    });
  }
});
