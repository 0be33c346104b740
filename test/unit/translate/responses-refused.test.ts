/** What responses requests cannot say to hosts of other dialects: each refusal names its field. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { runs } from '../../support/at-length.ts';
import { PNG, translateUnchecked } from './hosted.ts';
import {
  call,
  HOSTS,
  type Host,
  image,
  message,
  namespace,
  output,
  text,
  tool,
  translate,
} from './responses-support.ts';

const input = (...items: readonly unknown[]) => ({ input: items });
const parts = (...content: readonly Fields[]) => input(message('user', ...content));
const TWO = [tool('a'), tool('b')];

/** No text can be made of it. */
const TRICK = { toString: 1, valueOf: 1 };

/** How the problem begins: with the field. */
type Case = readonly [where: string, fields: Fields];

const EVERYWHERE: readonly Case[] = [
  ['seed', { seed: 1 }],
  ['of_tomorrow', { of_tomorrow: false }],
  ['access_programs', { access_programs: {} }],
  ['image', { image: { context_compression: 'auto' } }],
  ['moderation', { moderation: { model: 'm' } }],
  ['truncation', { truncation: 'auto' }],
  ['include', { include: 'x' }],
  ['stream_options', { stream_options: 1 }],
  ['stream_options.x', { stream_options: { x: 1 } }],
  ['prompt_cache_options', { prompt_cache_options: 1 }],
  ['prompt_cache_options.prewarm', { prompt_cache_options: { prewarm: true } }],
  ['prompt_cache_options.x', { prompt_cache_options: { x: 1 } }],
  ['reasoning', { reasoning: 'high' }],
  ['reasoning.effort', { reasoning: { effort: 1 } }],
  ['reasoning.mode', { reasoning: { mode: 'pro' } }],
  ['reasoning.x', { reasoning: { x: 1 } }],
  ['text', { text: 'json' }],
  ['text.x', { text: { x: 1 } }],
  ['text.format.type', { text: { format: { type: 'grammar' } } }],
  ['text.format.x', { text: { format: { type: 'text', x: 1 } } }],
  ['text.format.schema', { text: { format: { type: 'json_schema', name: 'n' } } }],
  ['text.format.name', { text: { format: { type: 'json_schema', schema: {} } } }],

  ...'local_shell mcp file_search code_interpreter image_generation web_searches'
    .split(' ')
    .map((type): Case => ['tools[0].type', { tools: [{ type }] }]),
  [
    'tool_choice.tools',
    { tools: TWO, tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'web_search' }] } },
  ],
  ['tools[0].tools[0].type', { tools: [namespace('n', { type: TRICK })] }],
  ['tools[0].type', { tools: [{ type: 'computer_use_preview' }] }],
  ['tools[1].type', { tools: [tool('a'), { type: 'apply_patch' }] }],
  ['tools[0].name', { tools: [{ type: 'function' }] }],
  ['tools[0].x', { tools: [tool('a', { x: 1 })] }],
  ['tools[0].parameters', { tools: [tool('a', { parameters: 'x' })] }],
  ['tools[0].description', { tools: [tool('a', { description: 1 })] }],
  ['tools[0].format', { tools: [{ type: 'custom', name: 'c', format: { type: 'grammar' } }] }],
  ['tools[0].x', { tools: [{ type: 'custom', name: 'c', x: 1 }] }],
  ['tools[0].tools', { tools: [{ type: 'namespace', name: 'n' }] }],
  ['tools[0].tools[0].type', { tools: [namespace('n', namespace('m'))] }],
  ['tools[0].tools[1]', { tools: [{ type: 'namespace', name: 'n', tools: [tool('a'), 1] }] }],
  ['input[0].tools', input({ type: 'additional_tools', tools: 1 })],
  ['input[0].x', input({ type: 'additional_tools', tools: [], x: 1 })],

  ['tool_choice', { tools: TWO, tool_choice: 'any' }],
  ['tool_choice', { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }],
  ['tool_choice', { tools: [{ type: 'web_search' }], tool_choice: 'required' }],
  ['tool_choice.name', { tools: TWO, tool_choice: tool('c') }],
  ['tool_choice.x', { tools: TWO, tool_choice: tool('a', { x: 1 }) }],
  ['tool_choice.mode', { tools: TWO, tool_choice: { type: 'allowed_tools', mode: 'x', tools: [] } }],
  ['tool_choice.tools', { tools: TWO, tool_choice: { type: 'allowed_tools', mode: 'auto' } }],
  [
    'tool_choice.tools[0]',
    { tools: TWO, tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'mcp' }] } },
  ],
  [
    'tool_choice.tools[0].name',
    { tools: TWO, tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [tool('c')] } },
  ],

  ...'local_shell_call local_shell_call_output shell_call web_search_call tool_search_call compaction computer_call mcp_call program configuration_update compaction_trigger'
    .split(' ')
    .map((type): Case => ['input[1]', input(message('user', text('Hi')), { type, id: 'x' })]),
  ['input[0].tool_calls', input({ ...message('user', text('Hi')), tool_calls: [{}] })],
  ['input[0].role', input(message('tool', text('Hi')))],
  ['input[0].content', input({ role: 'user' })],
  ['input[1]', input(message('user', text('Hi')), { type: TRICK })],
  ['input[0].content[0]', input({ role: 'user', content: [1] })],
  ['input[0].content[0].type', parts({ type: TRICK })],
  ['input[0].content[0].type', parts({ type: 'input_audio', input_audio: {} })],
  ['input[0].content[0].type', input(message('developer', image(PNG)))],
  ['input[0].content[0].type', input(message('assistant', image(PNG)))],
  ['input[0].content[1].type', parts(text('Hi'), { type: 'refusal', refusal: 'No.' })],
  ['input[0].content[0].x', parts(text('Hi', { x: 1 }))],
  ['input[0].content[0].text', parts({ type: 'input_text' })],
  ['input[0].content[0].refusal', input(message('assistant', { type: 'refusal' }))],
  ['input[0].content[0].prompt_cache_breakpoint', parts(text('Hi', { prompt_cache_breakpoint: true }))],
  ['input[0].content[0].file_id', parts({ type: 'input_image', file_id: 1 })],
  ['input[0].content[0].image_url', parts({ type: 'input_image' })],
  ['input[0].content[0].file_id', parts({ type: 'input_file', file_id: 1 })],
  ['input[0].content[0].file_data', parts({ type: 'input_file' })],
  ['input[0].content[0].file_data', parts({ type: 'input_file', file_data: 'x', file_url: 'https://a.test' })],
  ['input[0].call_id', input({ type: 'function_call', name: 'a', arguments: '{}' })],
  ['input[0].name', input({ type: 'function_call', call_id: 'c', arguments: '{}' })],
  ['input[0].arguments', input({ type: 'function_call', call_id: 'c', name: 'a', arguments: {} })],
  ['input[0].x', input(call('c', 'a', '{}', { x: 1 }))],
  ['input[0].input', input({ type: 'custom_tool_call', call_id: 'c', name: 'a' })],
  ['input[0].output', input({ type: 'function_call_output', call_id: 'c', output: {} })],
  ['input[0].output[0].type', input({ type: 'function_call_output', call_id: 'c', output: [{ type: 'x' }] })],
  ['input[0].call_id', input({ type: 'custom_tool_call_output', output: '' })],
  ['input[0].x', input({ type: 'reasoning', summary: [], x: 1 })],
];

const ONLY: Readonly<Record<Host, readonly Case[]>> = {
  chat: [['input[0].content[0].file_url', parts({ type: 'input_file', file_url: 'https://a.test/b.pdf' })]],
  messages: [
    ['temperature', { temperature: 1.1 }],
    ['top_logprobs', { top_logprobs: 1 }],
    ['include', { include: ['message.output_text.logprobs'] }],
    ['user', { user: 'a', safety_identifier: 'b' }],
    ['service_tier', { service_tier: 'priority' }],
    ['reasoning.effort', { reasoning: { effort: 'some' } }],
    ['input', input(message('developer', text('A')))],
    ['input', { input: '' }],
    ['input[0].content[0].image_url', parts(image('http://a.test/b.png'))],
    ['input[0].content[0].file_data', parts({ type: 'input_file', file_data: 'data:image/x;base64,AAAA' })],
    ['input[0].content[0].file_url', parts({ type: 'input_file', file_url: 'file:///etc/passwd' })],
  ],
};

for (const host of HOSTS) {
  describe(`refused for hosts of ${host}`, () => {
    for (const [where, fields] of [...EVERYWHERE, ...ONLY[host]]) {
      test(`${where} of ${JSON.stringify(fields).slice(0, 100)}`, () => {
        const result = translate(host, fields);
        assert.ok(!result.ok, 'it was translated');
        assert.ok(result.problem.startsWith(`${where}: `), result.problem);
        assert.match(result.problem, /^[^\n]{10,300}$/);
      });
    }
  });
}

test('no number of items, parts or tools breaks the translation', () => {
  const many = (count: number, make: (index: number) => Fields) =>
    Array.from({ length: count }, (_, index) => make(index));
  const instructions = { role: 'developer', content: many(130_000, () => text('Hi')) };
  const results = many(130_000, () => output('c', 'x'));
  const requests: readonly (readonly [host: Host, fields: Fields])[] = [
    // More than a function takes as arguments.
    ['messages', { input: [instructions, message('user', text('Hi'))] }],
    ['chat', { input: [call('c', 'a', '{}'), ...results] }],
    // Too many to be compared with each other.
    ['chat', { tools: many(10_000, (index) => namespace('n'.repeat(64), tool(`tool${index}`))) }],
  ];
  for (const [host, fields] of requests) assert.ok(translateUnchecked('responses', host, fields).ok);
});

test('no value of any field, item, part or tool breaks the translation', () => {
  const anything = fc.jsonValue({ maxDepth: 2 });
  const types = fc.constantFrom(
    ...'message function_call function_call_output custom_tool_call reasoning input_text input_image input_file function custom namespace additional_tools allowed_tools json_schema'.split(
      ' ',
    ),
  );
  const names = fc.constantFrom(
    ...'role content call_id name arguments input output text image_url file_data tools namespace format summary encrypted_content detail mode effort'.split(
      ' ',
    ),
  );
  const object = fc
    .tuple(types, fc.dictionary(names, fc.oneof(anything, fc.array(fc.record({ type: types, text: anything })))))
    .map(([type, fields]) => ({ type, ...fields }));
  const fields = fc.record(
    {
      input: fc.array(object, { minLength: 1, maxLength: 3 }),
      tools: fc.array(object, { maxLength: 3 }),
      tool_choice: fc.oneof(anything, object),
      text: fc.oneof(anything, object, fc.record({ format: object })),
      reasoning: fc.oneof(anything, object),
      prompt_cache_options: fc.oneof(anything, object),
    },
    { requiredKeys: ['input'] },
  );
  fc.assert(
    fc.property(fields, fc.constantFrom(...HOSTS), (request, host) => {
      const result = translate(host, request as Fields);
      if (!result.ok) assert.match(result.problem, /^[a-z_]+.*: /s);
    }),
    { numRuns: runs(150) },
  );
});
