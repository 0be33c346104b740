/** The tokens of a responses request that are not text: attachments count only where the format has them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { estimateInput, sampleInput } from '../../../../src/dialects/input.ts';
import { responsesRequest } from './responses.ts';

const MESSAGE = 3;
const IMAGE = 1_600;
const REMOTE_FILE = 60_000;
const DATA = 'A'.repeat(8_000);
const FILE = 750;

const image = { type: 'input_image', image_url: `data:image/png;base64,${DATA}` };
const screenshot = { type: 'computer_screenshot', image_url: DATA };
const user = (...content: readonly object[]) => ({ role: 'user', content });
const file = (fields: object) => user({ type: 'input_file', filename: 'a.pdf', ...fields });

const ROWS: readonly (readonly [what: string, item: object, tokens: number])[] = [
  ['an image in a message', user(image), IMAGE],
  ['two images in a message', { type: 'message', ...user(image, { ...image }) }, 2 * IMAGE],
  ['an image in an output', { type: 'function_call_output', call_id: 'c', output: [image] }, IMAGE],
  ['a screenshot', { type: 'computer_call_output', call_id: 'c', output: screenshot }, IMAGE],
  ['an image in an image', user({ ...image, detail: image }), IMAGE],
  ['an image in a text', user({ type: 'input_text', text: image }), 0],
  ['an image in a field of a message', { ...user(), metadata: image }, 0],
  ['an image as the input of a call', { type: 'custom_tool_call', call_id: 'c', name: 'f', input: image }, 0],
  ['an image in arguments', { type: 'function_call', call_id: 'c', name: 'f', arguments: [image] }, 0],
  ['an image in the content of a call', { type: 'function_call', call_id: 'c', name: 'f', content: [image] }, 0],
  ['an image that is an item', { ...image }, 0],
  ['a file', file({ file_data: DATA }), FILE],
  ['a file by its address', file({ file_url: 'https://a.example/b' }), REMOTE_FILE],
  ['a file by its address, with no data', file({ file_data: '', file_url: 'https://a.example/b' }), REMOTE_FILE],
  ['a file with empty data', file({ file_data: '' }), REMOTE_FILE],
  ['a file with data and an address', file({ file_data: DATA, file_url: 'https://a.example/b' }), REMOTE_FILE],
];

describe('the attachments of a responses request', () => {
  for (const [what, item, tokens] of ROWS) {
    test(what, () => {
      const { extraTokens } = sampleInput(responsesRequest({ input: [item] }));
      assert.equal(extraTokens, MESSAGE + tokens);
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
  const estimateOf = (fields: object) => estimateInput(responsesRequest({ input: [{ content: 'x', ...fields }] }));
  for (const [role, isCounted] of ROLES) {
    test(`${isCounted ? 'counts' : 'is free'}: ${String(role).slice(0, 20)}`, () => {
      assert.equal(estimateOf({ role }) - estimateOf({ role: 'assistant' }) >= 900, isCounted);
    });
  }
});
