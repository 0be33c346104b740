/** Chat requests for hosts of the messages dialect: what each field but the messages becomes, and what they cannot say. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Fields } from '../../../src/dialects/dialect.ts';
import {
  allowed,
  call,
  customSchema,
  EPHEMERAL,
  file,
  functionTool,
  HI,
  HI_BLOCKS,
  HOUR,
  image,
  named,
  TWO,
  text,
  translate,
  translated,
} from './chat-messages.ts';
import { checked, MODEL, PDF, PNG } from './hosted.ts';
import { THINKING } from './messages-host.ts';

const PLAIN = { model: MODEL, max_tokens: 64_000, messages: [HI_BLOCKS] };
const GRAMMAR = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } };
function hostTool(name: string, more: Fields = {}): Fields {
  return { name, input_schema: { type: 'object', properties: {} }, ...more };
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
