/** How much thinking a request allows its host to bill unseen, in each dialect. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chatRequest } from './chat/chat.ts';
import { messagesRequest } from './messages/messages.ts';
import { checked as checkedResponses, responsesRequest } from './responses/responses.ts';

const ANY = Number.POSITIVE_INFINITY;
type Row = readonly [fields: object, tokens: number | undefined];

const CHAT: readonly Row[] = [
  [{}, undefined],
  [{ reasoning_effort: null }, undefined],
  [{ reasoning_effort: 'none' }, 0],
  [{ reasoning_effort: 'low' }, ANY],
  [{ reasoning: { max_tokens: 100 } }, ANY],
  [{ reasoning: { enabled: true } }, ANY],
  [{ thinking: { type: 'enabled' } }, ANY],
  [{ enable_thinking: true }, ANY],
  [{ thinking_budget: 100 }, ANY],
  [{ thinking_config: { thinking_budget: 100 } }, ANY],
  [{ chat_template_kwargs: { enable_thinking: true } }, ANY],
  [{ extra_body: { google: { thinking_config: { thinking_budget: 100 } } } }, ANY],
  // What one host takes for an order, another does not know.
  [{ reasoning_effort: 'none', enable_thinking: true }, ANY],
  [{ reasoning_effort: 'none', enable_thinking: false }, 0],
  [{ enable_thinking: false }, undefined],
  [{ thinking: { type: 'disabled' } }, undefined],
  [{ reasoning: { effort: 'none' } }, undefined],
  [{ reasoning: { effort: 'none', Effort: 'high' } }, ANY],
  [{ chat_template_kwargs: { enable_thinking: false, a: 1 } }, ANY],
  [{ reasoning: {} }, ANY],
];

const MESSAGES: readonly Row[] = [
  [{}, undefined],
  [{ thinking: null }, undefined],
  [{ thinking: { type: 'disabled' } }, 0],
  [{ thinking: { type: 'enabled', budget_tokens: 2_000 } }, 2_000],
  [{ thinking: { type: 'enabled', budget_tokens: 2_000, display: 'omitted' } }, 2_000],
  [{ thinking: { type: 'enabled' } }, ANY],
  [{ thinking: { type: 'enabled', budget_tokens: -1 } }, ANY],
  [{ thinking: { type: 'enabled', budget_tokens: '1' } }, ANY],
  [{ thinking: { type: 'enabled', budget_tokens: 2_000, Budget_Tokens: 9_000 } }, ANY],
  [{ thinking: { type: 'adaptive' } }, ANY],
  [{ thinking: { type: 'adaptive', budget_tokens: 2_000 } }, ANY],
  [{ thinking: { type: 'between_tools' } }, ANY],
  [{ thinking: { type: 'new' } }, ANY],
  [{ thinking: 'disabled' }, ANY],
  [{ output_config: { effort: 'max' } }, ANY],
  [{ output_config: { effort: 'max' }, thinking: { type: 'disabled' } }, 0],
  [{ output_config: { effort: null } }, undefined],
  [{ output_config: { format: {} } }, undefined],
];

const RESPONSES: readonly Row[] = [
  [{}, undefined],
  [{ reasoning: null }, undefined],
  [{ reasoning: { effort: 'none' } }, 0],
  [{ reasoning: { effort: 'none', summary: 'auto' } }, 0],
  [{ reasoning: { effort: 'none', mode: 'pro' } }, ANY],
  [{ reasoning: { effort: 'minimal' } }, ANY],
  [{ reasoning: { summary: 'auto' } }, ANY],
  [{ reasoning: {} }, ANY],
];

const DIALECTS = [
  [
    'chat',
    CHAT,
    (fields: object) => chatRequest({ model: 'a/b', messages: [{ role: 'user', content: 'x' }], ...fields }),
  ],
  ['messages', MESSAGES, messagesRequest],
  ['responses', RESPONSES, responsesRequest],
] as const;

for (const [dialect, rows, request] of DIALECTS) {
  describe(`a request of ${dialect} allows hidden thinking`, () => {
    for (const [fields, tokens] of rows) {
      test(`${tokens ?? 'as the model likes'}: ${JSON.stringify(fields)}`, () => {
        assert.equal(request(fields).hiddenThinking, tokens);
      });
    }
  });
}

test('a switch in other letters is refused', () => {
  const result = checkedResponses({ Reasoning: { effort: 'high' } });
  assert.match(result.ok ? '' : result.problem, /^Reasoning: differs from reasoning/);
});
