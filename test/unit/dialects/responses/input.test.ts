/** The tokens of a responses request that are not text: attachments count only where the format has them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Attachment } from '../../../../src/dialects/dialect.ts';
import { inputParts } from '../../../../src/dialects/input.ts';
import { responsesRequest } from './responses.ts';

const NONE: readonly Attachment['kind'][] = [];
const IMAGE = ['image'] as const;
const REMOTE_FILE = ['reference'] as const;
const DATA = 'A'.repeat(8_000);
const FILE = ['opaque'] as const;

const image = { type: 'input_image', image_url: `data:image/png;base64,${DATA}` };
const screenshot = { type: 'computer_screenshot', image_url: DATA };
const user = (...content: readonly object[]) => ({ role: 'user', content });
const file = (fields: object) => user({ type: 'input_file', filename: 'a.pdf', ...fields });

const ROWS: readonly (readonly [what: string, item: object, attachments: readonly Attachment['kind'][]])[] = [
  ['an image in a message', user(image), IMAGE],
  ['two images in a message', { type: 'message', ...user(image, { ...image }) }, [...IMAGE, ...IMAGE]],
  ['an image in an output', { type: 'function_call_output', call_id: 'c', output: [image] }, IMAGE],
  ['a screenshot', { type: 'computer_call_output', call_id: 'c', output: screenshot }, IMAGE],
  ['an image in an image', user({ ...image, detail: image }), IMAGE],
  ['an image in a text', user({ type: 'input_text', text: image }), NONE],
  ['an image in a field of a message', { ...user(), metadata: image }, NONE],
  ['an image as the input of a call', { type: 'custom_tool_call', call_id: 'c', name: 'f', input: image }, NONE],
  ['an image in arguments', { type: 'function_call', call_id: 'c', name: 'f', arguments: [image] }, NONE],
  ['an image in the content of a call', { type: 'function_call', call_id: 'c', name: 'f', content: [image] }, NONE],
  ['an image that is an item', { ...image }, NONE],
  ['a file', file({ file_data: DATA }), FILE],
  ['a file by its address', file({ file_url: 'https://a.example/b' }), REMOTE_FILE],
  ['a file by its address, with no data', file({ file_data: '', file_url: 'https://a.example/b' }), REMOTE_FILE],
  ['a file with empty data', file({ file_data: '' }), REMOTE_FILE],
  [
    'a file with data and an address',
    file({ file_data: DATA, file_url: 'https://a.example/b' }),
    [...REMOTE_FILE, ...FILE],
  ],
];

describe('the attachments of a responses request', () => {
  for (const [what, item, attachments] of ROWS) {
    test(what, () => {
      const parts = inputParts(responsesRequest({ input: [item] }));
      assert.deepEqual([parts.formatTokens, ...parts.attachments.map(({ kind }) => kind)], [3, ...attachments]);
    });
  }
});

const ROLES: readonly (readonly [role: unknown, isCounted: boolean])[] = [
  ['user', false],
  ['developer', false],
  ['word '.repeat(1_000), true],
  [['word '.repeat(1_000)], true],
];

describe('a role', () => {
  const estimateOf = (fields: object) =>
    inputParts(responsesRequest({ input: [{ content: 'x', ...fields }] })).textTokens;
  for (const [role, isCounted] of ROLES) {
    test(`${isCounted ? 'counts' : 'is free'}: ${String(role).slice(0, 20)}`, () => {
      assert.equal(estimateOf({ role }) - estimateOf({ role: 'assistant' }) >= 900, isCounted);
    });
  }
});
