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
  { type: 'image_generation_call', id: 'ig_1', result: 'AAAA' },
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

/** Fields at the top level, and how their problem begins; undefined if they are valid. */
const FIELDS: readonly (readonly [fields: object, problem: RegExp | undefined])[] = [
  [{ multi_agent: { enabled: true } }, /^multi_agent: /],
  [{ multi_agent: {} }, /^multi_agent: /],
  [{ multi_agent: { enabled: false } }, undefined],
  [{ multi_agent: null }, undefined],
  [{ prompt_cache_options: { comparison_response_id: 'resp_1' } }, /^prompt_cache_options\.comparison_response_id: /],
  [{ prompt_cache_options: { ttl: '12h', comparison_response_id: null } }, undefined],
];

describe('what would be billed beside an answer is refused:', () => {
  for (const [fields, problem] of FIELDS) {
    test(`${JSON.stringify(fields)} is ${problem === undefined ? 'valid' : 'refused'}`, () => {
      const result = checked(fields);
      if (problem === undefined) assert.ok(result.ok, result.ok ? '' : result.problem);
      else assert.match(result.ok ? '' : result.problem, problem);
    });
  }
});
