/** Messages requests that chat completions cannot say. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Fields } from '../../../src/dialects/dialect.ts';
import {
  assistant,
  CALL,
  CALLED,
  PDF,
  PIXEL,
  result,
  SCHEMA,
  SEARCH,
  TOOL,
  text,
  user,
} from './messages-chat-content.ts';
import { HELLO, translate } from './messages-chat-support.ts';

const REFUSED: readonly (readonly [where: string, messages: Fields])[] = [
  ['top_k', { top_k: 40 }],
  ['mcp_servers', { mcp_servers: [{ type: 'url', url: 'https://a.example', name: 'a' }] }],
  ['container', { container: { skills: [{ type: 'anthropic', skill_id: 'pdf' }] } }],
  ['output_format', { output_format: { type: 'json_schema', schema: SCHEMA } }],
  ['strange field', { 'strange\u0000field': 1 }],
  ['stop_sequences', { stop_sequences: ['a', 'b', 'c', 'd', 'e'] }],
  ['service_tier', { service_tier: 'batch' }],
  ['metadata.trace', { metadata: { trace: 'x' } }],
  ['thinking.type', { thinking: { type: 'between_tools' } }],
  ['thinking.display', { thinking: { type: 'adaptive', display: 'raw' } }],
  ['thinking.keep', { thinking: { type: 'adaptive', keep: true } }],
  ['thinking', { thinking: 'yes' }],
  ['output_config.effort', { output_config: { effort: 'huge' } }],
  ['output_config.task_budget', { output_config: { task_budget: { type: 'tokens', total: 1 } } }],
  ['output_config.format.type', { output_config: { format: { type: 'grammar', schema: {} } } }],
  ['output_config.format.schema', { output_config: { format: { type: 'json_schema' } } }],
  ['system[0]', { system: [{ type: 'image', source: PIXEL }] }],
  ['system', { system: { type: 'text', text: 'A' } }],
  ['tools[0]', { tools: ['weather'] }],
  ['tools[0].type', { tools: [{ type: 'bash_20250124', name: 'bash' }] }],
  ['tools[0].type', { tools: [{ type: 'mcp_toolset', mcp_server_name: 'a' }] }],
  ...['web_fetch_20260309', 'code_execution_20260120', 'advisor_20260301', 'web_searches'].map(
    (type) => ['tools[0].type', { tools: [{ type, name: 'x' }] }] as const,
  ),
  ['tools[0].name', { tools: [{ input_schema: SCHEMA }] }],
  ['tools[0].input_schema', { tools: [{ name: 'weather' }] }],
  ['tools[0].input_examples', { tools: [{ ...TOOL, input_examples: [{ city: 'Bonn' }] }] }],
  ['tools[0].allowed_callers', { tools: [{ ...TOOL, allowed_callers: ['code_execution_20250825'] }] }],
  ['tool_choice', { tools: [SEARCH], tool_choice: { type: 'any' } }],
  ['tool_choice.name', { tools: [SEARCH, TOOL], tool_choice: { type: 'tool', name: 'web_search' } }],
  ['tool_choice.type', { tools: [TOOL], tool_choice: { type: 'some' } }],
  ['tool_choice.mode', { tools: [TOOL], tool_choice: { type: 'auto', mode: 'x' } }],
  ['messages', { messages: null }],
  ['messages[0]', { messages: ['Hello'] }],
  ['messages[0].role', { messages: [{ role: 'tool', content: 'A' }] }],
  ['messages[0].clear_at', { messages: [{ ...HELLO, clear_at: 'never' }] }],
  ['messages[0].content', { messages: [{ role: 'user', content: 1 }] }],
  ['messages[0].content[0]', { messages: [user('A')] }],
  ['messages[0].content[0].text', { messages: [user({ type: 'text' })] }],
  ['messages[0].content[0].citations', { messages: [user({ ...text('A'), citations: [{}] })] }],
  ['messages[0].content[0]', { messages: [user({ type: 'search_result', content: [] })] }],
  ['messages[0].content[0].source.type', { messages: [user({ type: 'image', source: { type: 'file' } })] }],
  ['messages[0].content[0].source.data', { messages: [user({ type: 'image', source: { ...PIXEL, data: 1 } })] }],
  [
    'messages[0].content[0].transformations',
    { messages: [user({ type: 'image', source: PIXEL, transformations: {} })] },
  ],
  ['messages[0].content[0].source', { messages: [user({ type: 'document', source: { type: 'url', url: 'x' } })] }],
  ['messages[0].content[0].source.type', { messages: [user({ type: 'document', source: { type: 'file' } })] }],
  [
    'messages[0].content[0].citations',
    { messages: [user({ type: 'document', source: PDF, citations: { enabled: true } })] },
  ],
  ['messages[1].content[0]', { messages: [HELLO, assistant({ type: 'server_tool_use' }), HELLO] }],
  ['messages[1].content[0]', { messages: [HELLO, assistant({ type: 'image', source: PIXEL }), HELLO] }],
  ['messages[1].content[0].caller', { messages: [HELLO, assistant({ ...CALL, caller: { type: 'x' } }), HELLO] }],
  ['messages[1].content[0].input', { messages: [HELLO, assistant({ ...CALL, input: 'x' }), HELLO] }],
  ['messages[1].content[0].id', { messages: [HELLO, assistant({ ...CALL, id: 1 }), HELLO] }],
  ['messages[2].content[0].tool_use_id', { messages: [...CALLED, user(result('A', { tool_use_id: 1 }))] }],
  [
    'messages[2].content[0].content[1]',
    { messages: [...CALLED, user(result([text('A'), { type: 'search_result' }]))] },
  ],
  [
    'messages[2].content[0].content[0].tool_name',
    { messages: [...CALLED, user(result([{ type: 'tool_reference' }]))] },
  ],
  ['messages[1]', { messages: [HELLO, assistant(text('The answer is'))] }],
];

describe('refused, by its name, is', () => {
  for (const [where, messages] of REFUSED) {
    test(`${where} of ${JSON.stringify(messages).slice(0, 100)}`, () => {
      const refused = translate(messages);
      assert.ok(!refused.ok);
      assert.equal(refused.problem.slice(0, refused.problem.indexOf(': ')), where);
      assert.ok(!refused.problem.includes('. '), 'one sentence at most');
    });
  }
});

const ANYTHING = fc.constantFrom<unknown>(null, true, 1, '', 'x', [], {}, [null], ['x'], [[]], { type: 'text' }, PIXEL);

test('no request is too strange for an answer', () => {
  const names = ['messages', 'system', 'tools', 'tool_choice', 'thinking', 'output_config', 'metadata'];
  const types = ['text', 'image', 'document', 'tool_use', 'tool_result', 'tool_reference', 'thinking', 'x'];
  const others = ['source', 'content', 'text', 'input', 'id', 'name', 'tool_use_id', 'caller', 'title', 'is_error'];
  const block = fc
    .tuple(fc.constantFrom(...types), fc.dictionary(fc.constantFrom(...others), ANYTHING))
    .map(([type, fields]) => ({ type, ...fields }));
  const message = fc.record({
    role: fc.constantFrom('user', 'assistant', 'system', 'x'),
    content: fc.oneof(ANYTHING, fc.array(block)),
  });
  const value = fc.oneof(ANYTHING, fc.array(message), fc.array(block), block);
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names, 'stop_sequences', 'service_tier'), value), (fields) => {
      const one = translate(fields);
      if (!one.ok) assert.match(one.problem, /^[^ ].*: ./s);
    }),
    { numRuns: 100 },
  );
});
