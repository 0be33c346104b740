/** The estimate of a messages request's input: attachments count as such only where the format has them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sampleInput } from '../../../../src/dialects/input.ts';
import { messagesRequest } from './messages.ts';

/** 45,000 bytes of data. */
const DATA = 'A'.repeat(60_000);
const IMAGE = 1_600;
const FILE = 5_625;
const REMOTE = 60_000;

const base64 = (media_type: string, data = DATA) => ({ type: 'base64', media_type, data });
const PICTURE = { type: 'image', source: base64('image/png') };
const call = (input: unknown) => ({ type: 'tool_use', id: 'a', name: 'b', input });
const result = (...content: object[]) => ({ type: 'tool_result', tool_use_id: 'a', content });

/** A block, the tokens of its attachments, and whether its data counts as text. */
const ROWS: readonly (readonly [what: string, block: object, tokens: number, isText: boolean])[] = [
  ['an image', PICTURE, IMAGE, false],
  ['an image by its address', { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } }, IMAGE, false],
  ['an image of a type that is none', { type: 'image', source: base64('application/pdf') }, FILE, false],
  ['an image that is a text', { type: 'image', source: base64('image/png', `${DATA} .`) }, IMAGE, true],
  ['an image whose source has another type', { type: 'image', source: { type: 'text', data: DATA } }, IMAGE, true],
  ['a document', { type: 'document', source: base64('application/pdf') }, FILE, false],
  ['a document of the type of an image', { type: 'document', source: base64('image/png') }, FILE, false],
  ['a document by its address', { type: 'document', source: { type: 'url', url: 'https://a.example' } }, REMOTE, false],
  ['a document that is a text', { type: 'document', source: { type: 'text', data: DATA } }, 0, true],
  ['images in a document', { type: 'document', source: { type: 'content', content: [PICTURE] } }, IMAGE, false],
  ['two images in a result', result(PICTURE, PICTURE), 2 * IMAGE, false],
  ['a block of another type', { type: 'text', text: '', source: base64('image/png') }, 0, true],
  ['a source in the input of a call', call({ source: base64('image/png') }), 0, true],
  ['an image in the input of a call', call({ a: PICTURE }), 0, true],
  ['an image as the input of a call', call(PICTURE), 0, true],
  ['a list as the input of a call', call([PICTURE]), 0, true],
  ['an image in the input of a call in a result', result(call({ a: [PICTURE] })), 0, true],
];

describe('the input of a messages request', () => {
  for (const [what, block, tokens, isText] of ROWS) {
    test(what, () => {
      const request = messagesRequest({ messages: [{ role: 'user', content: [block] }] });
      const texts: string[] = [];
      assert.equal(
        request.dialect.walkInput(request, (text) => texts.push(text)),
        3 + tokens,
      );
      assert.equal(sampleInput(request).extraTokens, 3 + tokens);
      assert.equal(texts.join('').includes(DATA), isText);
    });
  }
});
