/** Which responses are answers: one that has failed is none. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readResponse } from '../../../../src/dialects/responses/answer.ts';

const ROWS: readonly (readonly [what: string, fields: object, choices: number | undefined])[] = [
  ['completed', { status: 'completed', error: null }, 1],
  ['incomplete', { status: 'incomplete' }, 1],
  ['with no status', {}, 1],
  ['failed', { status: 'failed' }, undefined],
  ['failed, with an error', { status: 'failed', error: { message: 'No.' } }, undefined],
  ['completed, with an error', { status: 'completed', error: { message: 'No.' } }, undefined],
  ['with no output', { status: 'completed', output: undefined }, undefined],
];

describe('a response', () => {
  for (const [what, fields, choices] of ROWS) {
    test(what, () => assert.equal(readResponse({ output: [], ...fields }).choices, choices));
  }
  test('that has failed keeps its usage', () => {
    const usage = { input_tokens: 5, output_tokens: 2 };
    assert.equal(readResponse({ status: 'failed', output: [], usage }).usage?.promptTokens, 5);
  });
});
