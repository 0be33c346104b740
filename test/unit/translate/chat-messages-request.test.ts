/** Chat requests for hosts of the messages dialect: what each field but the messages becomes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import {
  allowed,
  EPHEMERAL,
  functionTool,
  HI,
  HI_BLOCKS,
  HOUR,
  named,
  TWO,
  text,
  translated,
} from './chat-messages.ts';
import { MODEL } from './hosted.ts';

const PLAIN = { model: MODEL, max_tokens: 64_000, messages: [HI_BLOCKS] };
const GRAMMAR = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } };
function hostTool(name: string, more: Fields = {}): Fields {
  return { name, input_schema: { type: 'object', properties: {} }, ...more };
}
function customSchema(description: string): Fields {
  const properties = { input: { type: 'string', description } };
  return { type: 'object', properties, required: ['input'], additionalProperties: false };
}
const HOST_TWO = [hostTool('a'), hostTool('b')];
const CUSTOM = { type: 'custom', custom: { name: 'c' } };
const HOST_CUSTOM = { name: 'c', input_schema: customSchema('The text that the tool takes.') };

const THINKS = { type: 'enabled', budget_tokens: 2_000 };
const OFF = { type: 'disabled' };

/** Fields beside a message of a user, and what the request for the host has beside its own. */
const FIELDS: readonly (readonly [what: string, chat: Fields, messages: Fields])[] = [
  ['nothing but a message', {}, {}],
  ['null everywhere', { temperature: null, tools: null, stop: null, user: null, functions: null, logprobs: null }, {}],
  ['a stream', { stream: true, stream_options: { include_usage: true } }, { stream: true }],
  ['no stream', { stream: false }, {}],
  ['max_tokens', { max_tokens: 7 }, { max_tokens: 7 }],
  ['max_completion_tokens', { max_completion_tokens: 8 }, { max_tokens: 8 }],
  ['both maxima', { max_tokens: 7, max_completion_tokens: 8 }, { max_tokens: 8 }],
  ['temperature and top_p', { temperature: 1, top_p: 0.5 }, { temperature: 1, top_p: 0.5 }],
  ['a stop', { stop: 'END' }, { stop_sequences: ['END'] }],
  ['several stops', { stop: ['a', '\nb'] }, { stop_sequences: ['a', '\nb'] }],
  ['a user', { user: 'u1' }, { metadata: { user_id: 'u1' } }],
  ['a safety identifier', { safety_identifier: 's1', user: 's1' }, { metadata: { user_id: 's1' } }],
  ['the tier auto', { service_tier: 'auto' }, { service_tier: 'auto' }],
  ['the tier default', { service_tier: 'default' }, { service_tier: 'standard_only' }],
  ['no reasoning', { reasoning_effort: 'none' }, { thinking: { type: 'disabled' } }],
  ...[
    ['minimal', 'low'],
    ['low', 'low'],
    ['medium', 'medium'],
    ['high', 'high'],
    ['xhigh', 'xhigh'],
    ['max', 'max'],
  ].map(
    ([chat, effort]) =>
      [
        `the effort ${chat}`,
        { reasoning_effort: chat },
        { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort } },
      ] as const,
  ),
  ['thinking in the words of the host', { thinking: THINKS }, { thinking: THINKS }],
  [
    'thinking in both words',
    { thinking: { type: 'adaptive', display: null }, reasoning_effort: 'low' },
    { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
  ],
  [
    'thinking that is off, and samples',
    { thinking: OFF, temperature: 0.3, top_k: 4 },
    { thinking: OFF, temperature: 0.3, top_k: 4 },
  ],
  [
    'samples that hosts take beside thinking',
    { thinking: THINKS, temperature: 1, top_p: 0.95 },
    { thinking: THINKS, temperature: 1, top_p: 0.95 },
  ],
  ['top_k', { top_k: 40 }, { top_k: 40 }],
  ['a format that is text', { response_format: { type: 'text' } }, {}],
  [
    'an effort and a format with a schema',
    {
      reasoning_effort: 'low',
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'n', description: 'A city', strict: true, schema: { type: 'object', properties: {} } },
      },
    },
    {
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: {
        effort: 'low',
        format: {
          type: 'json_schema',
          schema: { description: 'A city', type: 'object', properties: {}, additionalProperties: false },
        },
      },
    },
  ],
  [
    'values that ask for nothing',
    {
      n: 1,
      logprobs: false,
      top_logprobs: 0,
      logit_bias: {},
      metadata: {},
      store: false,
      verbosity: 'medium',
      modalities: ['text'],
      presence_penalty: 0,
      tools: [],
      functions: [],
      tool_choice: 'auto',
      parallel_tool_calls: true,
    },
    {},
  ],
];

describe('the fields of a request', () => {
  for (const [what, chat, messages] of FIELDS) {
    test(what, () => {
      const { fields, ignored } = translated(chat);
      assert.deepEqual(fields, { ...PLAIN, ...messages });
      assert.deepEqual(ignored, []);
    });
  }

  test('without a maximum, the model gives it', () => {
    assert.equal(translated({}, { maxOutput: 9, defaultOutput: 5, ignoreTools: [] }).fields.max_tokens, 9);
    assert.equal(translated({}, { maxOutput: undefined, defaultOutput: 5, ignoreTools: [] }).fields.max_tokens, 5);
  });

  test('a maximum is at most that of the model, of which hosts refuse more', () => {
    const terms = { maxOutput: 9, defaultOutput: 5, ignoreTools: [] };
    assert.equal(translated({ max_tokens: 10 }, terms).fields.max_tokens, 9);
    assert.equal(translated({ max_completion_tokens: 8 }, terms).fields.max_tokens, 8);
  });

  test('a format that is any JSON is asked for after all other instructions, whose cache it leaves alone', () => {
    const messages = [{ role: 'system', content: 'S', cache_control: EPHEMERAL }, HI];
    const { fields, ignored } = translated({ messages, response_format: { type: 'json_object' } });
    const [own, asked] = fields.system as readonly { text: string }[];
    assert.deepEqual(own, { ...text('S'), cache_control: EPHEMERAL });
    assert.deepEqual(Object.keys(asked ?? {}), ['type', 'text']);
    assert.match(asked?.text ?? '', /one JSON object and nothing else/);
    assert.deepEqual([(fields.system as unknown[]).length, fields.output_config, ignored], [2, undefined, []]);
  });

  test('a temperature that no host of messages has is none beside thinking', () => {
    const { fields, ignored } = translated({ thinking: THINKS, temperature: 1.7 });
    assert.deepEqual([fields.temperature, ignored], [undefined, ['temperature']]);
  });

  test('names of speakers are left out', () => {
    const { fields, ignored } = translated({
      messages: [
        { role: 'user', name: 'Ann', content: 'Hi' },
        { role: 'assistant', name: 'model', content: 'x' },
      ],
    });
    assert.ok(!JSON.stringify(fields.messages).includes('name'));
    assert.deepEqual(ignored, ['messages.name']);
  });

  test('the seed, penalties and keys of a cache are ignored by name', () => {
    const { fields, ignored } = translated({
      seed: 1,
      presence_penalty: 0.5,
      frequency_penalty: -1,
      prompt_cache_key: 'k',
    });
    assert.deepEqual(fields, PLAIN);
    assert.deepEqual(ignored, ['seed', 'presence_penalty', 'frequency_penalty', 'prompt_cache_key']);
  });
});

const TOOLS: readonly (readonly [what: string, chat: Fields, messages: Fields])[] = [
  ['functions', { tools: TWO }, { tools: HOST_TWO }],
  [
    'a function with everything',
    {
      tools: [
        {
          ...functionTool('a', {
            description: 'A',
            strict: true,
            parameters: { type: 'object', properties: { x: {} } },
          }),
          cache_control: HOUR,
        },
      ],
    },
    {
      tools: [
        {
          name: 'a',
          description: 'A',
          input_schema: { type: 'object', properties: { x: {} }, additionalProperties: false },
          strict: true,
          cache_control: HOUR,
        },
      ],
    },
  ],
  [
    'cache control within the function',
    { tools: [functionTool('a', { cache_control: EPHEMERAL })] },
    { tools: [hostTool('a', { cache_control: EPHEMERAL })] },
  ],
  [
    'parameters that are not strict, as they are',
    { tools: [functionTool('a', { strict: false, parameters: { properties: { x: { minimum: 1 } } } })] },
    { tools: [{ name: 'a', input_schema: { type: 'object', properties: { x: { minimum: 1 } } } }] },
  ],
  ['a tool without a type', { tools: [{ function: { name: 'a' } }] }, { tools: [hostTool('a')] }],
  ['a custom tool', { tools: [CUSTOM] }, { tools: [HOST_CUSTOM] }],
  [
    'a custom tool with a grammar',
    { tools: [{ type: 'custom', custom: { name: 'c', description: 'C', format: GRAMMAR }, cache_control: EPHEMERAL }] },
    {
      tools: [
        {
          name: 'c',
          description: 'C',
          input_schema: customSchema('The text that the tool takes. It must match this grammar (lark):\nstart: "a"'),
          cache_control: EPHEMERAL,
        },
      ],
    },
  ],
  ['the choice auto', { tools: TWO, tool_choice: 'auto' }, { tools: HOST_TWO }],
  ['the choice none', { tools: TWO, tool_choice: 'none' }, { tools: HOST_TWO, tool_choice: { type: 'none' } }],
  ['the choice required', { tools: TWO, tool_choice: 'required' }, { tools: HOST_TWO, tool_choice: { type: 'any' } }],
  [
    'a named function',
    { tools: TWO, tool_choice: named('function', 'b') },
    { tools: HOST_TWO, tool_choice: { type: 'tool', name: 'b' } },
  ],
  [
    'a named custom tool',
    { tools: [CUSTOM], tool_choice: named('custom', 'c') },
    { tools: [HOST_CUSTOM], tool_choice: { type: 'tool', name: 'c' } },
  ],
  ['no tools and the choice none', { tool_choice: 'none' }, {}],
  [
    'no parallel calls',
    { tools: TWO, parallel_tool_calls: false },
    { tools: HOST_TWO, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
  ],
  [
    'no parallel calls, of which one is required',
    { tools: TWO, parallel_tool_calls: false, tool_choice: 'required' },
    { tools: HOST_TWO, tool_choice: { type: 'any', disable_parallel_tool_use: true } },
  ],
  [
    'no parallel calls of a named function',
    { tools: TWO, parallel_tool_calls: false, tool_choice: named('function', 'a') },
    { tools: HOST_TWO, tool_choice: { type: 'tool', name: 'a', disable_parallel_tool_use: true } },
  ],
  ['no parallel calls without tools', { parallel_tool_calls: false }, {}],
  [
    'allowed tools',
    { tools: [...TWO, CUSTOM], tool_choice: allowed('auto', named('function', 'b'), named('custom', 'c')) },
    { tools: [hostTool('b'), HOST_CUSTOM] },
  ],
  [
    'required tools',
    { tools: TWO, tool_choice: allowed('required', named('function', 'a')) },
    { tools: [hostTool('a')], tool_choice: { type: 'any' } },
  ],
  [
    'deprecated functions',
    { functions: [{ name: 'a' }, { name: 'b' }] },
    { tools: HOST_TWO, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
  ],
  [
    'a named deprecated function',
    { functions: [{ name: 'a' }], function_call: { name: 'a' } },
    { tools: [hostTool('a')], tool_choice: { type: 'tool', name: 'a', disable_parallel_tool_use: true } },
  ],
  [
    'deprecated functions, and none to be called',
    { functions: [{ name: 'a' }], function_call: 'none' },
    { tools: [hostTool('a')], tool_choice: { type: 'none' } },
  ],
];

describe('tools', () => {
  for (const [what, chat, messages] of TOOLS) {
    test(what, () => assert.deepEqual(translated(chat).fields, { ...PLAIN, ...messages }));
  }
});

const schemaOf = (schema: Fields) =>
  (
    translated({ response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } }).fields
      .output_config as Fields
  ).format;

test('what no host enforces of a schema moves to the descriptions', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      age: { type: 'integer', minimum: 0, maximum: 150, description: 'Years' },
      name: { type: 'string', pattern: '^a', maxLength: 3 },
      mail: { type: 'string', format: 'email' },
      code: { type: 'string', format: 'iban' },
      minimum: { oneOf: [{ type: 'string', minLength: 1 }, { type: 'null' }] },
      list: { type: 'array', minItems: 1, maxItems: 2, items: { type: ['object', 'null'], properties: {} } },
      three: { type: 'array', minItems: 3 },
      open: { type: 'object', additionalProperties: { type: 'number' } },
    },
    required: ['age'],
    $defs: { d: { type: 'object', properties: { x: { $ref: '#/$defs/d' } } } },
  };
  assert.deepEqual(schemaOf(schema), {
    type: 'json_schema',
    schema: {
      type: 'object',
      properties: {
        age: { type: 'integer', description: 'Years\n\n{minimum: 0, maximum: 150}' },
        name: { type: 'string', description: '{pattern: "^a", maxLength: 3}' },
        mail: { type: 'string', format: 'email' },
        code: { type: 'string', description: '{format: "iban"}' },
        minimum: { anyOf: [{ type: 'string', description: '{minLength: 1}' }, { type: 'null' }] },
        list: {
          type: 'array',
          minItems: 1,
          items: { type: ['object', 'null'], properties: {}, additionalProperties: false },
          description: '{maxItems: 2}',
        },
        three: { type: 'array', description: '{minItems: 3}' },
        open: { type: 'object', additionalProperties: { type: 'number' } },
      },
      required: ['age'],
      $defs: { d: { type: 'object', properties: { x: { $ref: '#/$defs/d' } }, additionalProperties: false } },
      additionalProperties: false,
    },
  });
});
