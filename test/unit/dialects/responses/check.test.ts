/** Which items of the input are refused: those that refer to what the host keeps. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checked } from './responses.ts';

const VALID: readonly object[] = [
  { role: 'user', content: 'x' },
  { type: null, role: 'assistant', content: 'x' },
  { type: 'message', id: 'msg_1', role: 'developer', content: [{ type: 'input_text', text: 'x' }] },
  { type: 'message', role: 'system', content: 'x' },
  { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
  { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', role: null },
];

const REFUSED: readonly (readonly [item: object, problem: RegExp])[] = [
  [{ type: 'item_reference', id: 'msg_1' }, /^input\[0\]: an item_reference/],
  [{ type: 'Item_Reference', id: 'msg_1' }, /^input\[0\]: an item_reference/],
  [{ id: 'msg_1' }, /^input\[0\]: an item_reference/],
  [{ type: null, id: 'msg_1' }, /^input\[0\]: an item_reference/],
  [{ type: '', id: 'msg_1', role: null }, /^input\[0\]: an item_reference/],
  [{ type: 0, id: 'msg_1' }, /^input\[0\]: an item_reference/],
  [{ type: false, id: 'msg_1' }, /^input\[0\]: an item_reference/],
  [{ Type: 'item_reference', role: 'user', id: 'msg_1' }, /^input\[0\]\.Type: differs from input\[0\]\.type/],
  [
    { role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] },
    /^input\[0\]\.content\[0\]\.file_id: a file at the provider/,
  ],
];

describe('the items of an input', () => {
  for (const item of VALID) {
    test(`valid: ${JSON.stringify(item)}`, () => {
      const result = checked({ input: [item] });
      assert.ok(result.ok, result.ok ? '' : result.problem);
    });
  }
  for (const [item, problem] of REFUSED) {
    test(`refused: ${JSON.stringify(item).slice(0, 70)}`, () => {
      const result = checked({ input: [item] });
      assert.ok(!result.ok);
      assert.match(result.problem, problem);
    });
  }
});
