/** Which responses are answers: one that has failed is none. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ToolCall } from '../../../../src/core/host-tools.ts';
import { RESPONSES } from '../../../../src/dialects/responses/responses.ts';
import { readResponse } from '../../../../src/dialects/responses/responses-answer.ts';

const ROWS: readonly (readonly [what: string, fields: object, choices: number | undefined])[] = [
  ['completed', { status: 'completed', error: null }, 1],
  ['incomplete', { status: 'incomplete' }, 1],
  ['with no status', {}, 1],
  ['failed', { status: 'failed' }, undefined],
  ['failed, with an error', { status: 'failed', error: { message: 'No.' } }, undefined],
  ['completed, with an error', { status: 'completed', error: { message: 'No.' } }, undefined],
  ['with no output', { status: 'completed', output: undefined }, undefined],
];

const namesOf = (calls: readonly ToolCall[] = []) => calls.map(({ name }) => name);

describe('a response', () => {
  for (const [what, fields, choices] of ROWS) {
    test(what, () => assert.equal(readResponse({ output: [], ...fields }).choices, choices));
  }
  test("counts calls of the host's tools beside a usage that says nothing", () => {
    const output = [{ type: 'web_search_call' }, { type: 'web_search_call' }, { type: 'message' }];
    const { toolCalls } = readResponse({ status: 'completed', output, usage: { input_tokens: -1 } });
    assert.deepEqual(namesOf(toolCalls), ['web_search', 'web_search']);
  });
  test('that ends a stream counts no call again', () => {
    const output = [{ type: 'web_search_call' }];
    const stream = RESPONSES.startStream('req_1');
    const read = (value: object) => {
      const judged = stream.judge({
        bytes: Buffer.from(''),
        data: JSON.stringify(value),
        name: undefined,
        complete: true,
      });
      return 'facts' in judged ? namesOf(judged.facts?.toolCalls) : undefined;
    };
    const end = { type: 'response.completed', response: { status: 'completed', output } };
    assert.deepEqual(read({ type: 'response.output_item.added', item: output[0] }), ['web_search']);
    assert.deepEqual(read(end), []);
  });
  test('that has failed keeps its usage', () => {
    const usage = { input_tokens: 5, output_tokens: 2 };
    assert.equal(readResponse({ status: 'failed', output: [], usage }).usage?.promptTokens, 5);
  });
});
