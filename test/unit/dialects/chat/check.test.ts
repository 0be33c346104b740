/**
 * Request validation, field by field: which values are valid, and which field the problem names.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chatRequest, checked } from './chat.ts';

const VALID = { model: 'a/b', messages: [{ role: 'user', content: 'hi' }] };
const FUNCTION = { name: 'look_up' };
const message = (fields: unknown) => ({ messages: [VALID.messages[0], fields] });
const tool = (fields: unknown) => ({ tools: [{ type: 'function', function: FUNCTION }, fields] });

/** Changes that keep a valid request valid. */
const GOOD: readonly (readonly [what: string, change: object])[] = [
  ...['system', 'developer', 'user', 'tool'].map((role) => [`role ${role}`, message({ role, content: '' })] as const),
  ...['assistant', 'function'].flatMap((role) => [
    [`${role} without content`, message({ role })] as const,
    [`${role} with null content`, message({ role, content: null })] as const,
    [`${role} with content`, message({ role, content: 'x' })] as const,
  ]),
  ['content in parts', message({ role: 'user', content: [{ type: 'text', text: 'x' }, { type: 'of_tomorrow' }] })],
  ['max_tokens of 1', { max_tokens: 1 }],
  ['max_completion_tokens of 1', { max_completion_tokens: 1 }],
  ['both maxima', { max_tokens: 5, max_completion_tokens: 6 }],
  ['n of 1', { n: 1 }],
  ['n of 128', { n: 128 }],
  ['stream: true', { stream: true }],
  ['stream: false', { stream: false }],
  ['stream_options with a stream', { stream: true, stream_options: {} }],
  ['temperature of 0', { temperature: 0 }],
  ['temperature of 2', { temperature: 2 }],
  ['top_p of 0', { top_p: 0 }],
  ['top_p of 1', { top_p: 1 }],
  ['penalties of -2', { presence_penalty: -2, frequency_penalty: -2 }],
  ['penalties of 2', { presence_penalty: 2, frequency_penalty: 2 }],
  ['a stop', { stop: 'x' }],
  ['one stop in an array', { stop: ['x'] }],
  ['four stops', { stop: ['a', 'b', 'c', 'd'] }],
  ['no tools', { tools: [] }],
  ['a tool without parameters', tool({ type: 'function', function: FUNCTION })],
  ['a tool with parameters', tool({ type: 'function', function: { ...FUNCTION, parameters: { type: 'object' } } })],
  ['a tool with null parameters', tool({ type: 'function', function: { ...FUNCTION, parameters: null } })],
  ['a tool of another type', tool({ type: 'custom', custom: { name: 'x' } })],
  [
    'null for every optional field',
    Object.fromEntries(
      ['max_tokens', 'max_completion_tokens', 'n', 'stream', 'stream_options', 'temperature', 'top_p']
        .concat(['presence_penalty', 'frequency_penalty', 'stop', 'tools'])
        .map((name) => [name, null]),
    ),
  ],
  ['unknown fields', { seed: 1.5, logit_bias: 'x', reasoning_effort: null, x: [1] }],
];

const NOT_WHOLE = [0, -1, 1.5, '1', true, [], {}];
const NOT_NUMBERS = ['1', true, [], {}];

/** Changes that make a request invalid, and how the problem starts: with the field. */
const BAD: readonly (readonly [field: string, change: object])[] = [
  ...[undefined, null, [], {}, 'hi', 1].map((messages) => ['messages:', { messages }] as const),
  ...[null, 'hi', 1, []].map((fields) => ['messages[1]:', message(fields)] as const),
  ...[undefined, null, 'User', 'bot', '', 1].map(
    (role) => ['messages[1].role:', message({ role, content: 'x' })] as const,
  ),
  ...['system', 'developer', 'user', 'tool'].flatMap((role) => [
    ['messages[1].content:', message({ role })] as const,
    ['messages[1].content:', message({ role, content: null })] as const,
  ]),
  ...[1, true, {}].map((content) => ['messages[1].content:', message({ role: 'assistant', content })] as const),
  ...[null, 'x', 1, {}, { type: 1 }, { text: 'x' }].map(
    (part) =>
      ['messages[1].content[1]', message({ role: 'user', content: [{ type: 'text', text: 'x' }, part] })] as const,
  ),
  ...['max_tokens', 'max_completion_tokens', 'n'].flatMap((name) =>
    NOT_WHOLE.map((value) => [`${name}:`, { [name]: value }] as const),
  ),
  ['n:', { n: 129 }],
  ...['true', 1, 0, [], {}].map((stream) => ['stream:', { stream }] as const),
  ...['x', 1, true, []].map((options) => ['stream_options:', { stream: true, stream_options: options }] as const),
  ...['true', 1, 0, {}, []].map(
    (asked) => ['stream_options.include_usage:', { stream: true, stream_options: { include_usage: asked } }] as const,
  ),
  ['stream_options:', { stream_options: {} }],
  ['stream_options:', { stream: false, stream_options: { include_usage: true } }],
  ...[-0.01, 2.01, ...NOT_NUMBERS].map((temperature) => ['temperature:', { temperature }] as const),
  ...[-0.01, 1.01, ...NOT_NUMBERS].map((top_p) => ['top_p:', { top_p }] as const),
  ...['presence_penalty', 'frequency_penalty'].flatMap((name) =>
    [-2.01, 2.01, ...NOT_NUMBERS].map((value) => [`${name}:`, { [name]: value }] as const),
  ),
  ...[[], ['a', 'b', 'c', 'd', 'e'], [1], ['a', null], 1, {}, false].map((stop) => ['stop:', { stop }] as const),
  ...[{}, 'x', 1, true].map((tools) => ['tools:', { tools }] as const),
  ...[null, 'x', []].map((fields) => ['tools[1]:', tool(fields)] as const),
  ['tools[1].type:', tool({ type: 1 })],
  ...[undefined, null, 'look_up', []].map(
    (definition) => ['tools[1].function:', tool({ type: 'function', function: definition })] as const,
  ),
  ...[undefined, null, '', 1].map(
    (name) => ['tools[1].function.name:', tool({ type: 'function', function: { name } })] as const,
  ),
  ...['{}', 1, true, []].map(
    (parameters) =>
      ['tools[1].function.parameters:', tool({ type: 'function', function: { ...FUNCTION, parameters } })] as const,
  ),
];

describe('a request is valid with', () => {
  for (const [what, change] of GOOD) {
    test(what, () => {
      const result = checked(JSON.stringify({ ...VALID, ...change }));
      assert.equal(result.ok ? '' : result.problem, '');
    });
  }
});

describe('the problem names the field and what was expected:', () => {
  for (const [field, change] of BAD) {
    const text = JSON.stringify({ ...VALID, ...change });
    test(`${field} in ${text}`, () => {
      const result = checked(text);
      assert.ok(!result.ok);
      assert.ok(result.problem.startsWith(field), result.problem);
      assert.match(result.problem, /: expected /);
    });
  }

  test('a number too large for floating point is a problem', () => {
    const result = checked('{"model":"a/b","messages":[{"role":"user","content":"hi"}],"temperature":1e999}');
    assert.ok(!result.ok && result.problem.startsWith('temperature:'));
  });
});

describe('from a valid request the gateway reads', () => {
  const MAXIMA: readonly (readonly [fields: object, maxOutput: number | undefined])[] = [
    [{}, undefined],
    [{ max_tokens: 5 }, 5],
    [{ max_completion_tokens: 6 }, 6],
    [{ max_tokens: 5, max_completion_tokens: 6 }, 6],
    [{ max_tokens: 5, max_completion_tokens: null }, 5],
    [{ max_tokens: null }, undefined],
  ];
  for (const [fields, maxOutput] of MAXIMA) {
    test(`${maxOutput ?? 'no'} maximum of output from ${JSON.stringify(fields)}`, () => {
      assert.equal(chatRequest({ ...VALID, ...fields }).maxOutput, maxOutput);
    });
  }

  test('whether it is a stream, whether the client wants usage, and the number of choices', () => {
    const plain = chatRequest(VALID);
    assert.deepEqual([plain.stream, plain.includeUsage, plain.choices, plain.tools], [false, false, 1, []]);
    const stream = chatRequest({ ...VALID, stream: true, stream_options: { include_usage: true }, n: 3 });
    assert.deepEqual([stream.stream, stream.includeUsage, stream.choices], [true, true, 3]);
    assert.equal(chatRequest({ ...VALID, stream: true, stream_options: { include_usage: null } }).includeUsage, false);
  });
});
