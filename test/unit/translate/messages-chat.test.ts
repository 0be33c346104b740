/** Messages requests as chat-completions requests: every setting, and what is left out. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { assistant, FUNCTION, SCHEMA, SEARCH, TOOL, text, user } from './messages-chat-content.ts';
import { HELLO, translated } from './messages-chat-support.ts';

const USER_ID = '{"device_id":"c8","session_id":"a1"}';

/** Fields beside the smallest request, and what they become. */
const FIELDS: readonly (readonly [what: string, messages: Fields, chat: Fields])[] = [
  ['nothing else', {}, {}],
  ['a stream', { stream: true }, { stream: true }],
  ['system', { system: 'Be brief.' }, { messages: [{ role: 'system', content: 'Be brief.' }, HELLO] }],
  [
    'blocks of system',
    { system: [text('A'), text('B')] },
    { messages: [{ role: 'system', content: 'A\n\nB' }, HELLO] },
  ],
  ['an empty system', { system: '' }, {}],
  ['sampling', { temperature: 0.5, top_p: 0.9 }, { temperature: 0.5, top_p: 0.9 }],
  ['stops', { stop_sequences: ['a', 'b', 'c', 'd'] }, { stop: ['a', 'b', 'c', 'd'] }],
  ['no stops', { stop_sequences: [] }, {}],
  ['a user', { metadata: { user_id: 'user_1' } }, { user: 'user_1' }],
  ['no user', { metadata: { user_id: null } }, {}],
  ['the default tier', { service_tier: 'auto' }, {}],
  ['the standard tier', { service_tier: 'standard_only' }, { service_tier: 'default' }],
  ['adaptive thinking', { thinking: { type: 'adaptive', display: 'omitted' } }, {}],
  ['an effort', { output_config: { effort: 'xhigh' } }, { reasoning_effort: 'xhigh' }],
  ['a small budget', { thinking: { type: 'enabled', budget_tokens: 1_024 } }, { reasoning_effort: 'low' }],
  ['a budget', { thinking: { type: 'enabled', budget_tokens: 10_000 } }, { reasoning_effort: 'medium' }],
  ['a large budget', { thinking: { type: 'enabled', budget_tokens: 31_999 } }, { reasoning_effort: 'high' }],
  [
    'an effort beside a budget',
    { thinking: { type: 'enabled', budget_tokens: 31_999 }, output_config: { effort: 'low' } },
    { reasoning_effort: 'low' },
  ],
  [
    'a schema',
    { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
    { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: SCHEMA, strict: true } } },
  ],
  ['tools', { tools: [TOOL] }, { tools: [FUNCTION] }],
  [
    'a strict custom tool without a description',
    { tools: [{ type: 'custom', name: 'weather', input_schema: SCHEMA, strict: true, allowed_callers: ['direct'] }] },
    { tools: [{ type: 'function', function: { name: 'weather', parameters: SCHEMA, strict: true } }] },
  ],
  ['no tools', { tools: [], tool_choice: { type: 'auto' } }, {}],
  ['the choice auto', { tools: [TOOL], tool_choice: { type: 'auto' } }, { tools: [FUNCTION], tool_choice: 'auto' }],
  ['the choice any', { tools: [TOOL], tool_choice: { type: 'any' } }, { tools: [FUNCTION], tool_choice: 'required' }],
  ['the choice none', { tools: [TOOL], tool_choice: { type: 'none' } }, { tools: [FUNCTION], tool_choice: 'none' }],
  [
    'the choice of a tool, one at a time',
    { tools: [TOOL], tool_choice: { type: 'tool', name: 'weather', disable_parallel_tool_use: true } },
    {
      tools: [FUNCTION],
      tool_choice: { type: 'function', function: { name: 'weather' } },
      parallel_tool_calls: false,
    },
  ],
  [
    'fields that say nothing',
    { container: null, mcp_servers: [], top_k: null, thinking: null, output_config: { effort: null, format: null } },
    {},
  ],
];

/** `chat`: the fields that differ from those of the smallest request. */
function assertTranslated(messages: Fields, chat: Fields, ignored: readonly string[] = []): void {
  const { fields, ignored: left } = translated(messages);
  const expected = { model: 'host/model', stream: false, messages: [HELLO], max_tokens: 100, ...chat };
  assert.deepEqual({ fields, ignored: left }, { fields: expected, ignored });
}

describe('a request with', () => {
  for (const [what, messages, chat] of FIELDS) test(what, () => assertTranslated(messages, chat));

  test('a name of a user that not every host accepts, which becomes a digest', () => {
    const { user } = translated({ metadata: { user_id: USER_ID } }).fields;
    assert.match(String(user), /^[0-9a-f]{64}$/);
    assert.equal(user, translated({ metadata: { user_id: USER_ID } }).fields.user);
    assert.notEqual(user, translated({ metadata: { user_id: `${USER_ID} ` } }).fields.user);
  });

  test('a larger maximum than the model has, which is lowered', () => {
    assert.equal(translated({ max_tokens: 64_000 }, 16_384).fields.max_tokens, 16_384);
    assert.equal(translated({ max_tokens: 64_000 }, 128_000).fields.max_tokens, 64_000);
  });
});

const CACHED = { cache_control: { type: 'ephemeral' } };

const IGNORED: readonly (readonly [what: string, messages: Fields, ignored: readonly string[], chat: Fields])[] = [
  ['a cache mark of the body', CACHED, ['cache_control'], {}],
  [
    'cache marks everywhere',
    {
      system: [{ ...text('S'), ...CACHED }],
      messages: [user({ ...text('Hello'), ...CACHED })],
      tools: [{ ...TOOL, ...CACHED }],
    },
    ['cache_control'],
    { messages: [{ role: 'system', content: 'S' }, HELLO], tools: [FUNCTION] },
  ],
  ['context management', { context_management: { edits: [] } }, ['context_management'], {}],
  [
    'past thinking',
    {
      messages: [
        HELLO,
        assistant(
          { type: 'thinking', thinking: 'x', signature: 'y' },
          { type: 'redacted_thinking', data: 'z' },
          text('A'),
        ),
        HELLO,
      ],
    },
    ['messages.thinking', 'messages.redacted_thinking'],
    { messages: [HELLO, { role: 'assistant', content: 'A' }, HELLO] },
  ],
  ['a search', { tools: [SEARCH, TOOL] }, ['web_search'], { tools: [FUNCTION] }],
  [
    'every tool that is left out by default, with the choice between them',
    {
      tools: [
        SEARCH,
        { type: 'tool_search_tool_bm25', name: 'tool_search_tool_bm25' },
        { type: 'tool_search_tool_regex_20251119', name: 'x' },
      ],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    },
    ['web_search', 'tool_search'],
    {},
  ],
  [
    'hints of tools',
    { tools: [{ ...TOOL, defer_loading: true, eager_input_streaming: true }] },
    ['tools.defer_loading', 'tools.eager_input_streaming'],
    { tools: [FUNCTION] },
  ],
  ['hints that are off', { tools: [{ ...TOOL, defer_loading: false }] }, [], { tools: [FUNCTION] }],
  ['thinking that is off', { thinking: { type: 'disabled' } }, ['thinking'], {}],
  [
    'an effort beside thinking that is off',
    { thinking: { type: 'disabled' }, output_config: { effort: 'high' } },
    ['thinking', 'output_config.effort'],
    {},
  ],
];

describe('left out, and named, is', () => {
  for (const [what, messages, ignored, chat] of IGNORED) test(what, () => assertTranslated(messages, chat, ignored));
});
