/** No host is told a larger maximum than its model has, whoever asks; and thinking has room in it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DialectName } from '../../../src/core/dialects.ts';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { translated } from './hosted.ts';

const CLIENTS: readonly (readonly [
  from: 'chat' | 'messages' | 'responses' | 'gemini',
  maximum: (tokens: number) => Fields,
])[] = [
  ['chat', (tokens) => ({ max_completion_tokens: tokens })],
  ['messages', (tokens) => ({ max_tokens: tokens })],
  ['responses', (tokens) => ({ max_output_tokens: tokens })],
  ['gemini', (tokens) => ({ generationConfig: { maxOutputTokens: tokens } })],
];

const HOSTS: readonly (readonly [to: DialectName, maximumIn: (fields: Fields) => unknown])[] = [
  ['chat', ({ max_tokens: tokens }) => tokens],
  ['messages', ({ max_tokens: tokens }) => tokens],
  ['gemini', ({ generationConfig: config }) => (config as Fields).maxOutputTokens],
  ['converse', ({ inferenceConfig: config }) => (config as Fields).maxTokens],
];

for (const [from, maximum] of CLIENTS) {
  for (const [to, maximumIn] of HOSTS) {
    if (from === to) continue;
    test(`${from} → ${to}: what is beyond the model is lowered to it, and nothing else`, () => {
      const told = (tokens: number, maxOutput: number | undefined) =>
        maximumIn(translated(from, to, maximum(tokens), { maxOutput }).fields);
      assert.deepEqual([told(64_000, 8_000), told(8_000, 8_000), told(10, 8_000)], [8_000, 8_000, 10]);
      assert.equal(told(64_000, undefined), 64_000);
    });
  }
}

describe('a budget of thinking is less than the maximum beside it', () => {
  const CLAUDE = { upstream: 'eu.anthropic.claude-sonnet-4-5-v1:0' };
  const budgetAt = (to: DialectName, fields: Fields, maxOutput?: number) => {
    const { fields: sent } = translated('chat', to, fields, { ...CLAUDE, maxOutput });
    const { thinking } = (to === 'converse' ? sent.additionalModelRequestFields : sent) as { thinking: Fields };
    return thinking.budget_tokens;
  };
  const thinking = (budget: number) => ({ thinking: { type: 'enabled', budget_tokens: budget } });

  for (const to of ['messages', 'converse'] as const) {
    test(`at a host of ${to} that is told a lower one`, () => {
      const asked = { ...thinking(31_999), max_tokens: 32_000 };
      assert.equal(budgetAt(to, asked), 31_999);
      assert.equal(budgetAt(to, asked, 8_000), 7_999);
    });

    test(`at a host of ${to}, unless none has room in it, as the host will say`, () => {
      assert.equal(budgetAt(to, { ...thinking(4_000), max_tokens: 500 }), 4_000);
    });
  }

  test('at a host of messages that is told one by the gateway alone', () => {
    assert.equal(budgetAt('messages', thinking(31_999), 8_000), 7_999);
  });
});
