/** Which items of the input refer to what the host keeps, and what only a host that keeps it for a key can take. */
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
      assert.equal(result.request.state?.problem, undefined);
    });
  }
  for (const [item, problem] of REFUSED) {
    test(`refused: ${JSON.stringify(item).slice(0, 70)}`, () => {
      const result = checked({ input: [item] });
      const found = result.ok ? result.request.state?.problem : result.problem;
      assert.match(found ?? '', problem);
    });
  }
});

for (const name of ['Truncation', 'Context_Management', 'Previous_Response_Id', 'Store']) {
  test(`refused: ${name}, which hosts may read without case`, () => {
    const result = checked({ [name]: null });
    assert.ok(
      !result.ok && result.problem.startsWith(`${name}: differs from ${name.toLowerCase()} only by letter case`),
    );
  });
}

/** What a request says of state: fields, then what it refers to, and whether its answer is to be kept. */
const STATES: readonly (readonly [fields: object, references: readonly string[], isKept: boolean])[] = [
  [{}, [], true],
  [{ store: null }, [], true],
  [{ store: true }, [], true],
  [{ store: false }, [], false],
  [{ previous_response_id: 'resp_1', store: false }, ['response resp_1 in previous_response_id'], false],
  [{ previous_response_id: null }, [], true],
  [
    { input: [{ type: 'item_reference', id: 'rs_1' }, { role: 'user', content: 'x' }, { id: 'm_2' }] },
    ['item rs_1 in input[0].id', 'item m_2 in input[2].id'],
    true,
  ],
  [{ input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] }, ['item rs_1 in input[0].id'], true],
  [{ input: [{ type: 'reasoning', id: 'rs_1', encrypted_content: '' }] }, ['item rs_1 in input[0].id'], true],
  [
    {
      input: [
        { type: 'Reasoning', id: 'rs_1' },
        { type: 'web_search_call', id: 'ws_1' },
        { type: 'compaction', id: 'c' },
      ],
    },
    ['item rs_1 in input[0].id', 'item ws_1 in input[1].id', 'item c in input[2].id'],
    true,
  ],
  [
    {
      input: [
        { type: null, id: 'm', role: 'user', content: 'x' },
        { type: 'function_call', id: 'f', name: 'f', call_id: 'c', arguments: '' },
      ],
    },
    [],
    true,
  ],
  [
    {
      input: [
        { type: 'reasoning', id: 'rs_1', encrypted_content: 'x' },
        { type: 'reasoning', summary: [] },
      ],
    },
    [],
    true,
  ],
];

describe('state:', () => {
  for (const [fields, references, isKept] of STATES) {
    test(JSON.stringify(fields), () => {
      const result = checked(fields);
      assert.ok(result.ok, result.ok ? '' : result.problem);
      const { state } = result.request;
      const shown = state?.references.map(({ kind, id, field }) => `${kind} ${id} in ${field}`);
      assert.deepEqual([shown, state?.isKept], [references, isKept]);
    });
  }

  for (const fields of [
    { store: 'yes' },
    { previous_response_id: 1 },
    { input: [{ type: 'item_reference', id: 1 }] },
  ]) {
    test(`no value: ${JSON.stringify(fields)}`, () => assert.equal(checked(fields).ok, false));
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
