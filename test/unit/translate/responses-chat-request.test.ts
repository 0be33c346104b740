/** Responses requests for hosts of the chat dialect: what each field becomes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { customSchema, functionTool, HI } from './chat-messages.ts';
import { MODEL } from './hosted.ts';
import { namespace, tool, translated } from './responses-support.ts';

const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } };
const GRAMMAR = { type: 'grammar', syntax: 'lark', definition: 'start: "a"' };

const CUSTOM_TEXT = 'The text that the tool takes.';
const TWO = [tool('a'), tool('b')];
const HOST_TWO = [functionTool('a'), functionTool('b')];
const NAMED = { type: 'function', function: { name: 'a' } };

type Case = readonly [what: string, fields: Fields, chat: Fields, ignored?: readonly string[]];

const SETTINGS: readonly Case[] = [
  ['nothing but an input', {}, {}],
  [
    'null everywhere',
    Object.fromEntries(
      'instructions max_output_tokens temperature top_p tools tool_choice parallel_tool_calls reasoning text include metadata user store background truncation previous_response_id conversation prompt stream_options max_tool_calls'
        .split(' ')
        .map((name) => [name, null]),
    ),
    {},
  ],
  ['instructions', { instructions: 'Be brief.' }, { messages: [{ role: 'system', content: 'Be brief.' }, HI] }],
  ['a stream', { stream: true }, { stream: true }],
  ['a maximum', { max_output_tokens: 7 }, { max_tokens: 7 }],
  ['temperature and top_p', { temperature: 1.5, top_p: 0.5 }, { temperature: 1.5, top_p: 0.5 }],
  ...['user', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention', 'service_tier'].map(
    (name): Case => [name, { [name]: 'x' }, { [name]: 'x' }],
  ),
  ['metadata', { metadata: { a: 'b' } }, { metadata: { a: 'b' } }],
  [
    'cache options',
    { prompt_cache_options: { mode: 'explicit', ttl: '30m' } },
    { prompt_cache_options: { mode: 'explicit', ttl: '30m' } },
  ],
  ['an effort', { reasoning: { effort: 'high' } }, { reasoning_effort: 'high' }],
  ['a mode that is the usual one', { reasoning: { mode: 'standard' } }, {}],
  [
    'a summary of the reasoning',
    { reasoning: { effort: 'low', summary: 'auto', context: 'all_turns', generate_summary: 'auto' } },
    { reasoning_effort: 'low' },
    ['reasoning.context', 'reasoning.generate_summary', 'reasoning.summary'],
  ],
  ['a text', { text: { format: { type: 'text' }, verbosity: 'low' } }, { verbosity: 'low' }],
  ['JSON', { text: { format: { type: 'json_object' } } }, { response_format: { type: 'json_object' } }],
  [
    'a schema',
    { text: { format: { type: 'json_schema', name: 'n', description: 'd', schema: SCHEMA, strict: true } } },
    {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'n', description: 'd', schema: SCHEMA, strict: true },
      },
    },
  ],
  ['logprobs', { top_logprobs: 3 }, { logprobs: true, top_logprobs: 3 }],
  ['no logprobs', { top_logprobs: 0 }, {}],
  ['logprobs that are included', { include: ['message.output_text.logprobs'] }, { logprobs: true }],
  ['encrypted reasoning', { include: ['reasoning.encrypted_content'] }, {}, ['include']],
  ['what hosts do unasked', { store: false, background: false, truncation: 'disabled', include: [] }, {}],
  [
    'what belongs to the own host of the client',
    {
      max_tool_calls: 3,
      context_management: [{ type: 'compaction' }],
      client_metadata: { a: 'b' },
      stream: true,
      stream_options: { include_obfuscation: true },
    },
    { stream: true },
    ['client_metadata', 'context_management', 'max_tool_calls', 'stream_options.include_obfuscation'],
  ],
];

const TOOLS: readonly Case[] = [
  ['no tools', { tools: [], tool_choice: 'none', parallel_tool_calls: false }, {}],
  [
    'a function',
    { tools: [tool('a', { description: 'd', parameters: SCHEMA, strict: true })] },
    { tools: [functionTool('a', { description: 'd', parameters: SCHEMA, strict: true })] },
  ],
  ['a function with null', { tools: [tool('a', { parameters: null, strict: null })] }, { tools: [functionTool('a')] }],
  [
    'what only other hosts know of tools',
    { tools: [tool('a', { defer_loading: true, output_schema: {}, async: false, allowed_callers: ['direct'] })] },
    { tools: [functionTool('a')] },
    ['tools.allowed_callers', 'tools.defer_loading', 'tools.output_schema'],
  ],
  [
    'a custom tool',
    { tools: [{ type: 'custom', name: 'c', description: 'd', format: { type: 'text' } }] },
    { tools: [functionTool('c', { description: 'd', parameters: customSchema(CUSTOM_TEXT) })] },
  ],
  [
    'a custom tool with a grammar',
    { tools: [{ type: 'custom', name: 'c', format: GRAMMAR }] },
    {
      tools: [
        functionTool('c', {
          parameters: customSchema(`${CUSTOM_TEXT} It must match this grammar (lark):\nstart: "a"`),
        }),
      ],
    },
  ],
  [
    'a namespace, whose first tool says what it is for',
    { tools: [{ ...namespace('n.s', tool('a', { description: 'A' }), tool('b')), description: 'N' }] },
    { tools: [functionTool('n_s__a', { description: 'N\n\nA' }), functionTool('n_s__b')] },
  ],
  [
    'names in namespaces that are too long, or taken',
    { tools: [tool('n__a'), namespace('n', tool('a')), namespace('m'.repeat(64), tool('a'), tool('b'))] },
    {
      tools: ['n__a', 'n__a_2', 'm'.repeat(64), `${'m'.repeat(56)}_2`].map((name) => functionTool(name)),
    },
  ],
  [
    'tools in the input',
    {
      input: [
        { type: 'additional_tools', role: 'developer', tools: TWO },
        { role: 'user', content: 'Hi' },
      ],
    },
    { tools: HOST_TWO },
  ],
  [
    'tools of the own host of the client',
    {
      tools: [
        ...['web_search', 'web_search_preview_2025_03_11', 'tool_search'].map((type) => ({ type, anything: 1 })),
        ...TWO,
      ],
    },
    { tools: HOST_TWO },
    ['tools.tool_search', 'tools.web_search'],
  ],
  ['the choice auto', { tools: TWO, tool_choice: 'auto' }, { tools: HOST_TWO }],
  ['the choice none', { tools: TWO, tool_choice: 'none' }, { tools: HOST_TWO, tool_choice: 'none' }],
  ['the choice required', { tools: TWO, tool_choice: 'required' }, { tools: HOST_TWO, tool_choice: 'required' }],
  ['a function by its name', { tools: TWO, tool_choice: tool('a') }, { tools: HOST_TWO, tool_choice: NAMED }],
  [
    'a custom tool by its name',
    { tools: [{ type: 'custom', name: 'a' }], tool_choice: { type: 'custom', name: 'a' } },
    { tools: [functionTool('a', { parameters: customSchema(CUSTOM_TEXT) })], tool_choice: NAMED },
  ],
  [
    'a tool of a namespace by its name',
    { tools: [namespace('n', tool('a'))], tool_choice: tool('a', { namespace: 'n' }) },
    { tools: [functionTool('n__a')], tool_choice: { type: 'function', function: { name: 'n__a' } } },
  ],
  [
    'allowed tools',
    { tools: TWO, tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [tool('b')] } },
    { tools: [functionTool('b')] },
  ],
  [
    'allowed tools, of which one is required',
    {
      tools: [...TWO, { type: 'web_search' }],
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [tool('b'), { type: 'web_search' }] },
    },
    { tools: [functionTool('b')], tool_choice: 'required' },
    ['tool_choice.tools', 'tools.web_search'],
  ],
  ...[true, false].map(
    (parallel): Case => [
      `parallel calls: ${parallel}`,
      { tools: TWO, parallel_tool_calls: parallel },
      { tools: HOST_TWO, parallel_tool_calls: parallel },
    ],
  ),
];

for (const [group, cases] of Object.entries({ settings: SETTINGS, tools: TOOLS })) {
  describe(`what becomes of ${group} at a chat host`, () => {
    for (const [what, fields, chat, ignored = []] of cases) {
      test(what, () => {
        const result = translated('chat', fields);
        assert.deepEqual(result.fields, { model: MODEL, messages: [HI], ...chat });
        assert.deepEqual([...result.ignored].sort(), [...ignored]);
      });
    }
  });
}
