/** What chat requests cannot say to hosts of the messages dialect. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Fields } from '../../../src/dialects/dialect.ts';
import {
  allowed,
  call,
  EPHEMERAL,
  file,
  functionTool,
  HI,
  HOUR,
  image,
  named,
  PDF,
  PNG,
  THINKING,
  TWO,
  text,
  translate,
  translated,
} from './chat-messages.ts';
import { checked } from './hosted.ts';

const user = (...content: unknown[]) => ({ messages: [{ role: 'user', content }] });
const assistant = (fields: Fields) => ({ messages: [HI, { role: 'assistant', content: 'x', ...fields }] });
const jsonSchema = (fields: unknown) => ({ response_format: { type: 'json_schema', json_schema: fields } });

/** Bodies, and the field that the problem names. */
const REFUSED: readonly (readonly [field: string, body: Fields])[] = [
  ['logprobs', { logprobs: true }],
  ['top_logprobs', { top_logprobs: 2 }],
  ['logit_bias', { logit_bias: { 1: 2 } }],
  ['modalities', { modalities: ['text', 'audio'] }],
  ['audio', { audio: { voice: 'ash', format: 'mp3' } }],
  ['web_search_options', { web_search_options: {} }],
  ['prediction', { prediction: { type: 'content', content: 'x' } }],
  ['store', { store: true }],
  ['prompt_cache_options', { prompt_cache_options: {} }],
  ['moderation', { moderation: { model: 'm' } }],
  ['cache_control', { cache_control: EPHEMERAL }],
  ['top_k', { top_k: 0 }],
  ['top_k', { top_k: '4' }],
  ['thinking', { thinking: 'yes' }],
  ['thinking.type', { thinking: { budget_tokens: 2000 } }],
  ['thinking.keep', { thinking: { type: 'adaptive', keep: true } }],
  ['reasoning_effort', { thinking: { type: 'adaptive' }, reasoning_effort: 'none' }],
  ['response_format.x', { response_format: { type: 'json_object', x: 1 } }],
  ['constructor', { constructor: 1 }],
  ['n', { n: 2 }],
  ['temperature', { temperature: 1.01 }],
  ['stop', { stop: '\n' }],
  ['stop', { stop: ['a', ''] }],
  ['user', { user: 1 }],
  ['user', { user: 'a', safety_identifier: 'b' }],
  ['safety_identifier', { safety_identifier: 1 }],
  ['service_tier', { service_tier: 'priority' }],
  ['service_tier', { service_tier: 'standard_only' }],
  ['reasoning_effort', { reasoning_effort: 'extreme' }],
  ['reasoning_effort', { reasoning_effort: { effort: 'low' } }],
  ['reasoning_effort', { reasoning_effort: { toString: 1 } }],
  ['reasoning_effort', { reasoning_effort: ['low'] }],
  ['reasoning_effort', { reasoning_effort: [['none']] }],
  ['response_format.type', { response_format: 'text' }],
  ['response_format.x', { response_format: { type: 'text', x: 1 } }],
  ['response_format.json_schema.schema', jsonSchema({ name: 'n' })],
  ['response_format.json_schema.schema', jsonSchema(null)],
  ['response_format.json_schema.x', jsonSchema({ name: 'n', schema: {}, x: 1 })],
  ['response_format.json_schema.description', jsonSchema({ name: 'n', schema: {}, description: 1 })],
  ['parallel_tool_calls', { tools: TWO, parallel_tool_calls: 'no' }],
  ['tools[1].type', { tools: [TWO[0], { type: 'web_search' }] }],
  ['tools[0].x', { tools: [{ ...functionTool('a'), x: 1 }] }],
  ['tools[0].cache_control', { tools: [{ ...functionTool('a'), cache_control: { type: 'forever' } }] }],
  ['tools[0].function.x', { tools: [functionTool('a', { x: 1 })] }],
  ['tools[0].function.strict', { tools: [functionTool('a', { strict: 1 })] }],
  ['tools[0].function.description', { tools: [functionTool('a', { description: 1 })] }],
  ['tools[0].function.parameters.type', { tools: [functionTool('a', { parameters: { type: 'array' } })] }],
  ['tools[0].custom', { tools: [{ type: 'custom' }] }],
  ['tools[0].custom.name', { tools: [{ type: 'custom', custom: {} }] }],
  ['tools[0].custom.x', { tools: [{ type: 'custom', custom: { name: 'c', x: 1 } }] }],
  ['tools[0].custom.format', { tools: [{ type: 'custom', custom: { name: 'c', format: { type: 'grammar' } } }] }],
  ['tool_choice', { tools: TWO, tool_choice: 'any' }],
  ['tool_choice', { tools: TWO, tool_choice: named('function', 'c') }],
  ['tool_choice', { tools: TWO, tool_choice: { type: 'function' } }],
  ['tool_choice', { tool_choice: 'required' }],
  ['tool_choice.x', { tools: TWO, tool_choice: { ...named('function', 'a'), x: 1 } }],
  ['tool_choice.y', { tools: TWO, tool_choice: { type: 'function', function: { name: 'a', y: 1 } } }],
  ['tool_choice.allowed_tools.mode', { tools: TWO, tool_choice: allowed('none', named('function', 'a')) }],
  ['tool_choice.allowed_tools.tools', { tools: TWO, tool_choice: allowed('auto') }],
  ['tool_choice.allowed_tools.tools[0]', { tools: TWO, tool_choice: allowed('auto', named('function', 'c')) }],
  ['tool_choice', { functions: [{ name: 'a' }], tool_choice: 'required' }],
  ['function_call', { tools: TWO, function_call: { name: 'a' } }],
  ['function_call', { functions: [{ name: 'a' }], function_call: { name: 'b' } }],
  ['functions', { functions: [{ name: 'a' }], tools: TWO }],
  ['functions', { functions: { name: 'a' } }],
  ['functions[0]', { functions: ['a'] }],
  ['functions[0].name', { functions: [{}] }],
  ['messages', { messages: [{ role: 'system', content: 'S' }] }],
  ['messages[0].cache_control', { messages: [{ role: 'system', content: '', cache_control: EPHEMERAL }, HI] }],
  ['messages[0].cache_control', { messages: [{ ...HI, cache_control: { ...EPHEMERAL, ttl: '24h' } }] }],
  ['messages[0].cache_control', { messages: [{ ...HI, cache_control: 'yes' }] }],
  ['messages[0].cache_control.scope', { messages: [{ ...HI, cache_control: { ...EPHEMERAL, scope: 'all' } }] }],
  [
    'messages[0].cache_control',
    { messages: [{ role: 'user', content: [text('a', { cache_control: HOUR })], cache_control: EPHEMERAL }] },
  ],
  ['messages[1].cache_control', assistant({ content: null, thinking_blocks: [THINKING], cache_control: HOUR })],
  ['messages[0].content[0].type', { messages: [{ role: 'system', content: [image(PNG)] }, HI] }],
  ['messages[0].content[1].type', user(text('a'), { type: 'video_url', video_url: {} })],
  ['messages[0].content[0].type', user({ type: 'constructor' })],
  ['messages[0].content[0].input_audio', user({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } })],
  ['messages[0].content[0].text', user({ type: 'text', text: 1 })],
  ['messages[0].content[0].text', user(text('', { cache_control: EPHEMERAL }))],
  ['messages[0].content[0].x', user(text('a', { x: 1 }))],
  [
    'messages[0].content[0].prompt_cache_breakpoint',
    user(text('a', { prompt_cache_breakpoint: { mode: 'explicit' } })),
  ],
  ['messages[0].content[0].image_url', user({ type: 'image_url', image_url: PNG })],
  ['messages[0].content[0].image_url.x', user(image(PNG, { x: 1 }))],
  ['messages[0].content[0].image_url.url', user(image('http://example.com/a.png'))],
  ['messages[0].content[0].image_url.url', user(image('data:image/svg+xml;base64,AAAA'))],
  ['messages[0].content[0].image_url.url', user(image('data:image/png,AAAA'))],
  ['messages[0].content[0].file', user({ type: 'file', file: 'x' })],
  ['messages[0].content[0].file.file_id', user({ type: 'file', file: { file_id: 'file-1' } })],
  ['messages[0].content[0].file.x', user(file(PDF, { x: 1 }))],
  ['messages[0].content[0].file.filename', user(file(PDF, { filename: 1 }))],
  ['messages[0].content[0].file.file_data', user(file('JVBERi0='))],
  ['messages[0].content[0].file.file_data', user(file('data:application/zip;base64,AAAA'))],
  ['messages[0].content[0].file.file_data', user(file('data:text/plain;base64,/w=='))],
  ['messages[0].content[0].file.file_data', user(file('data:text/plain;base64,a b'))],
  ['messages[0].content[0].file.file_data', user({ type: 'file', file: {} })],
  ['messages[1].audio', assistant({ audio: { id: 'a' } })],
  ['messages[1].prefix', assistant({ prefix: true })],
  ['messages[0].images', { messages: [{ ...HI, images: ['iVBO'] }] }],
  ['messages[0].tool_calls', { messages: [{ ...HI, tool_calls: [call('t', 'f', '{}')] }] }],
  ['messages[1].refusal', assistant({ refusal: 1 })],
  ['messages[1].thinking_blocks', assistant({ thinking_blocks: 'x' })],
  ['messages[1].thinking_blocks', assistant({ thinking_blocks: [1] })],
  ['messages[1].thinking_blocks[0].type', assistant({ thinking_blocks: [{ ...THINKING, type: 'text' }] })],
  ['messages[1].thinking_blocks[0].x', assistant({ thinking_blocks: [{ ...THINKING, x: 1 }] })],
  ['messages[1].thinking_blocks[0].signature', assistant({ thinking_blocks: [{ type: 'thinking', thinking: 'x' }] })],
  ['messages[1].thinking_blocks[1].data', assistant({ thinking_blocks: [THINKING, { type: 'redacted_thinking' }] })],
  ['messages[1].tool_calls', assistant({ tool_calls: {} })],
  ['messages[1].tool_calls[0].id', assistant({ tool_calls: [{ ...call('t', 'f', '{}'), id: 1 }] })],
  ['messages[1].tool_calls[0].function', assistant({ tool_calls: [{ id: 't', type: 'web_search' }] })],
  ['messages[1].tool_calls[0].function.name', assistant({ tool_calls: [{ id: 't', function: { arguments: '' } }] })],
  [
    'messages[1].tool_calls[1].function.arguments',
    assistant({ tool_calls: [call('t', 'f', ''), call('t', 'f', '{"a":')] }),
  ],
  ['messages[1].tool_calls[0].function.arguments', assistant({ tool_calls: [call('t', 'f', '[]')] })],
  [
    'messages[1].tool_calls[0].custom.input',
    assistant({ tool_calls: [{ id: 't', type: 'custom', custom: { name: 'c' } }] }),
  ],
  ['messages[1].function_call', assistant({ function_call: 'f' })],
  ['messages[1].function_call.arguments', assistant({ function_call: { name: 'f', arguments: '1' } })],
  ['messages[0].tool_call_id', { messages: [{ role: 'tool', content: 'x' }] }],
  ['messages[0].name', { messages: [{ role: 'function', name: 'f', content: 'x' }] }],
];

describe('what cannot be said is refused, by name', () => {
  for (const [field, body] of REFUSED) {
    test(`${field} in ${JSON.stringify(body).slice(0, 100)}`, () => {
      const outcome = translate(body);
      assert.ok(!outcome.ok);
      const [where, what = ''] = outcome.problem.split(': ', 2);
      assert.equal(where, field);
      assert.match(what, /^[a-z].*[^.]$/);
    });
  }
});

test('names of clients are shown without control characters', () => {
  for (const [body, start] of [
    [{ 'a\u001b[2J': 1 }, 'a [2J: '],
    [user(text('a', { 'b\u001b[2J': 1 })), 'messages[0].content[0].b [2J: '],
  ] as const) {
    const outcome = translate(body);
    assert.ok(!outcome.ok && outcome.problem.startsWith(start));
  }
});

/** Says as much as a request can. */
const FULL: Fields = {
  messages: [
    { role: 'system', content: [text('S', { cache_control: HOUR })], cache_control: null },
    { role: 'user', content: [text('a'), image(PNG, { detail: 'auto' }), file(PDF, { filename: 'f' })] },
    {
      role: 'assistant',
      content: 'x',
      thinking_blocks: [THINKING, { type: 'redacted_thinking', data: 'd' }],
      tool_calls: [call('t', 'a', '{}'), { id: 'u', type: 'custom', custom: { name: 'c', input: '' } }],
      function_call: { name: 'f', arguments: '{}' },
    },
    { role: 'tool', content: [text('x')], tool_call_id: 't' },
    { role: 'function', content: 'x', name: 'f' },
  ],
  tools: [
    functionTool('a', { strict: true, parameters: { properties: { x: {} } } }),
    { type: 'custom', custom: { name: 'c' } },
  ],
  functions: [],
  tool_choice: allowed('auto', named('function', 'a'), named('custom', 'c')),
  response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { anyOf: [{ items: {} }] } } },
  reasoning_effort: 'low',
  user: 'u',
  stop: ['x'],
  parallel_tool_calls: false,
};

/** The same with another value somewhere. */
function changedAt(value: unknown, place: { left: number }, replacement: unknown): unknown {
  if (place.left-- === 0) return replacement;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => changedAt(item, place, replacement));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, changedAt(item, place, replacement)]));
}

test('no request throws: it is refused, or valid in the messages dialect', () => {
  translated(FULL);
  const replacement = fc.oneof(
    fc.constantFrom(null, '', 1, true, [], {}, [[]], [{}], { toString: 1 }),
    fc.jsonValue({ maxDepth: 2 }),
  );
  let valid = 0;
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 105 }), replacement, (left, value) => {
      const body = changedAt(FULL, { left }, value) as Fields;
      if (!checked('chat', body).ok || !translate(body).ok) return;
      valid++;
      translated(body);
    }),
    { numRuns: 300 },
  );
  assert.ok(valid > 10);
});
