/** Messages requests as chat-completions requests: every setting, conversations, what is left out and what is refused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Fields } from '../../../src/dialects/dialect.ts';
import {
  assistant,
  CALL,
  CALL_IN_CHAT,
  CALLED,
  CALLED_IN_CHAT,
  FUNCTION,
  PDF,
  PDF_PART,
  PIXEL,
  PIXEL_PART,
  result,
  SCHEMA,
  SEARCH,
  SEE_NEXT,
  TOOL,
  text,
  user,
} from './messages-chat-content.ts';
import { HELLO, translate, translated } from './messages-chat-support.ts';

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
  ['hints that are off', { tools: [{ ...TOOL, defer_loading: false }] }, [], { tools: [FUNCTION] }],
];

describe('left out, and named, is', () => {
  for (const [what, messages, ignored, chat] of IGNORED) test(what, () => assertTranslated(messages, chat, ignored));
});

const CONVERSATIONS: readonly (readonly [what: string, messages: readonly Fields[], chat: readonly Fields[]])[] = [
  ['a text', [HELLO], [HELLO]],
  ['a block of text', [user(text('Hello'))], [HELLO]],
  ['blocks of text', [user(text('A'), text('B'))], [{ role: 'user', content: 'A\n\nB' }]],
  ['an image', [user(text('A'), { type: 'image', source: PIXEL })], [user(text('A'), PIXEL_PART)]],
  [
    'an image by its address',
    [user({ type: 'image', source: { type: 'url', url: 'https://a.example/b' } })],
    [user({ type: 'image_url', image_url: { url: 'https://a.example/b' } })],
  ],
  ['a PDF', [user({ type: 'document', source: PDF })], [user(PDF_PART)]],
  [
    'a PDF with a title and context',
    [user({ type: 'document', source: PDF, title: 'Report', context: 'From 2020.', citations: { enabled: false } })],
    [
      user(text('Report'), text('From 2020.'), {
        type: 'file',
        file: { filename: 'Report.pdf', file_data: 'data:application/pdf;base64,JVBE' },
      }),
    ],
  ],
  [
    'a text document',
    [user({ type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'D' } })],
    [{ role: 'user', content: 'T\n\nD' }],
  ],
  [
    'a document of blocks',
    [user({ type: 'document', source: { type: 'content', content: [text('A'), { type: 'image', source: PIXEL }] } })],
    [user(text('A'), PIXEL_PART)],
  ],
  [
    'a document of a string',
    [user({ type: 'document', source: { type: 'content', content: 'A' } })],
    [{ role: 'user', content: 'A' }],
  ],
  ['an answer', [HELLO, assistant(text('A'), text('B')), HELLO], [HELLO, { role: 'assistant', content: 'AB' }, HELLO]],
  [
    'an answer as a string',
    [HELLO, { role: 'assistant', content: 'A' }, HELLO],
    [HELLO, { role: 'assistant', content: 'A' }, HELLO],
  ],
  [
    'a call with text',
    [HELLO, assistant(text('A'), { ...CALL, caller: { type: 'direct' } }), user(result('Sun'))],
    [
      HELLO,
      { role: 'assistant', content: 'A', tool_calls: [CALL_IN_CHAT] },
      { role: 'tool', tool_call_id: 'call_1', content: 'Sun' },
    ],
  ],
  [
    'a call without input',
    [HELLO, assistant({ type: 'tool_use', id: 'call_1', name: 'weather', input: {} }), user(result())],
    [
      HELLO,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '' },
    ],
  ],
  [
    'results, before what is said',
    [...CALLED, user(text('And?'), result([text('A'), text('B')]), result('C', { tool_use_id: 'call_2' }))],
    [
      ...CALLED_IN_CHAT,
      { role: 'tool', tool_call_id: 'call_1', content: 'A\n\nB' },
      { role: 'tool', tool_call_id: 'call_2', content: 'C' },
      { role: 'user', content: 'And?' },
    ],
  ],
  [
    'a failure',
    [...CALLED, user(result('No such file', { is_error: true }))],
    [...CALLED_IN_CHAT, { role: 'tool', tool_call_id: 'call_1', content: 'Error: No such file' }],
  ],
  [
    'results with attachments, in neighbouring messages',
    [
      ...CALLED,
      user(result([{ type: 'image', source: PIXEL }])),
      user(result([text('B'), { type: 'document', source: PDF }], { tool_use_id: 'call_2' }), text('And?')),
    ],
    [
      ...CALLED_IN_CHAT,
      { role: 'tool', tool_call_id: 'call_1', content: SEE_NEXT },
      { role: 'tool', tool_call_id: 'call_2', content: `B\n\n${SEE_NEXT}` },
      user(
        text('Attachments of the result of call_1:'),
        PIXEL_PART,
        text('Attachments of the result of call_2:'),
        PDF_PART,
        text('And?'),
      ),
    ],
  ],
  [
    'tools that a client has found',
    [...CALLED, user(result([{ type: 'tool_reference', tool_name: 'fetch' }]))],
    [...CALLED_IN_CHAT, { role: 'tool', tool_call_id: 'call_1', content: 'The tool fetch can be called now.' }],
  ],
  [
    'system messages before and after the first answer',
    [
      HELLO,
      { role: 'system', content: [text('S')] },
      HELLO,
      { role: 'assistant', content: 'A' },
      HELLO,
      { role: 'system', content: 'T' },
    ],
    [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'Hello\n\nHello' },
      { role: 'assistant', content: 'A' },
      HELLO,
      { role: 'system', content: 'T' },
    ],
  ],
];

describe('a conversation with', () => {
  for (const [what, messages, chat] of CONVERSATIONS) {
    test(what, () => assert.deepEqual(translated({ messages }).fields.messages, chat));
  }
});
test('neighbouring messages may have very many blocks', () => {
  const many = { role: 'user', content: Array.from({ length: 200_000 }, () => text('')) };
  const result = translate({ messages: [HELLO, many] });
  assert.ok(result.ok);
  assert.equal((result.fields.messages as Fields[]).length, 1);
});

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
