/** Streams of hosts of the messages dialect, for clients of the chat dialect. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { DONE_EVENT } from '../../../src/wire/sse.ts';
import { CONTEXT, chunksIn, readBack, STREAM, streamed, translated } from './chat-messages.ts';
import { blockStart, delta, end, json, MESSAGE_STOP, PING, start, stop, toolUse } from './messages-host.ts';

const FUNCTIONS = { ...STREAM, tools: [], functions: [{ name: 'f' }] };
const ERROR = { code: 'upstream_error', message: 'It broke.' } as const;

const HEAD = { id: 'msg_1', object: 'chat.completion.chunk', created: CONTEXT.nowS, model: 'claude-x' };
const chunk = (fields: Fields, reason: string | null = null) => ({
  ...HEAD,
  choices: [{ index: 0, delta: fields, finish_reason: reason }],
  usage: null,
});
const FIRST = chunk({ role: 'assistant', content: '' });
const toolCall = (fields: Fields) => chunk({ tool_calls: [fields] });

/** What each event becomes. */
const GOLDEN: readonly (readonly [event: Fields, chunks: readonly Fields[]])[] = [
  [start({ usage: { input_tokens: 5, cache_read_input_tokens: 7, output_tokens: 1 } }), [FIRST]],
  [PING, []],
  [start({ id: 'msg_2' }), []],
  [blockStart(0, { type: 'thinking', thinking: '', signature: '' }), []],
  [delta(0, { type: 'thinking_delta', thinking: 'Hm' }), [chunk({ reasoning_content: 'Hm' })]],
  [delta(0, { type: 'thinking_delta', thinking: '.' }), [chunk({ reasoning_content: '.' })]],
  [delta(0, { type: 'signature_delta', signature: 'sig' }), []],
  [stop(0), [chunk({ thinking_blocks: [{ index: 0, type: 'thinking', thinking: 'Hm.', signature: 'sig' }] })]],
  [blockStart(1, { type: 'redacted_thinking', data: 'xyz' }), []],
  [stop(1), [chunk({ thinking_blocks: [{ index: 1, type: 'redacted_thinking', data: 'xyz' }] })]],
  [blockStart(2, { type: 'text', text: '' }), []],
  [delta(2, { type: 'text_delta', text: 'Let me ' }), [chunk({ content: 'Let me ' })]],
  [delta(2, { type: 'text_delta', text: '' }), []],
  [delta(2, { type: 'citations_delta', citation: {} }), []],
  [stop(2), []],
  [
    blockStart(3, toolUse('t1', 'f')),
    [toolCall({ index: 0, id: 't1', type: 'function', function: { name: 'f', arguments: '' } })],
  ],
  [delta(3, json('')), []],
  [delta(3, json('{"x"')), [toolCall({ index: 0, function: { arguments: '{"x"' } })]],
  [delta(3, json(': 1}')), [toolCall({ index: 0, function: { arguments: ': 1}' } })]],
  [stop(3), []],
  [blockStart(4, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }), []],
  [delta(4, json('{"query"')), []],
  [stop(4), []],
  [
    blockStart(5, toolUse('t2', 'f')),
    [toolCall({ index: 1, id: 't2', type: 'function', function: { name: 'f', arguments: '' } })],
  ],
  [stop(5), [toolCall({ index: 1, function: { arguments: '{}' } })]],
  [
    blockStart(6, toolUse('t3', 'c')),
    [toolCall({ index: 2, id: 't3', type: 'custom', custom: { name: 'c', input: '' } })],
  ],
  [delta(6, json('{"inp')), []],
  [delta(6, json('ut": "a\\n\\u00')), [toolCall({ index: 2, custom: { input: 'a\n' } })]],
  [delta(6, json('fc\\')), [toolCall({ index: 2, custom: { input: 'ü' } })]],
  [delta(6, json('"b"')), [toolCall({ index: 2, custom: { input: '"b' } })]],
  [delta(6, json('}')), []],
  [stop(6), []],
  [{ type: 'new_event', delta: { stop_reason: 'end_turn' } }, []],
  [end('tool_use', { output_tokens: 9, input_tokens: null }), [chunk({}, 'tool_calls')]],
  [end('end_turn', { output_tokens: 10 }), []],
  [MESSAGE_STOP, []],
];
const GOLDEN_EVENTS = GOLDEN.map(([event]) => event);
const GOLDEN_CHUNKS = GOLDEN.flatMap(([, chunks]) => chunks);
const GOLDEN_USAGE = {
  prompt_tokens: 12,
  completion_tokens: 10,
  total_tokens: 22,
  prompt_tokens_details: { cached_tokens: 7, cache_write_tokens: 0 },
};

describe('a stream', () => {
  const translator = translated(STREAM).response.stream(CONTEXT);
  for (const [index, [event, chunks]] of GOLDEN.entries()) {
    test(`${index}: ${JSON.stringify(event).slice(0, 80)}`, () => {
      assert.deepEqual(chunksIn(translator.push(event)), chunks);
    });
  }

  test('ends with its usage', () => {
    const completion = translator.completion();
    assert.deepEqual(chunksIn(completion), [{ ...HEAD, choices: [], usage: GOLDEN_USAGE }]);
    assert.ok(completion.endsWith(DONE_EVENT));
  });

  test('has no usage if the client has not asked for it', () => {
    const stream = streamed(GOLDEN_EVENTS, { ...STREAM, stream_options: undefined });
    const without = GOLDEN_CHUNKS.map(({ usage: _, ...rest }) => rest);
    assert.deepEqual(chunksIn(stream), without);
  });

  test('that is cut after any event fails with what came before', () => {
    for (const cut of [...GOLDEN.keys(), GOLDEN.length]) {
      const partial = translated(STREAM).response.stream(CONTEXT);
      const pushed = GOLDEN_EVENTS.slice(0, cut).map((event) => partial.push(event));
      const chunks = chunksIn(pushed.join('') + partial.failure(ERROR));
      const before = GOLDEN.slice(0, cut).flatMap(([, each]) => each);
      assert.deepEqual(chunks, [...before, { error: ERROR }]);
      assert.ok(partial.failure(ERROR).endsWith(DONE_EVENT));
    }
  });

  test('of a refusal without blocks', () => {
    const details = { stop_details: { type: 'refusal', explanation: 'Not this.' } };
    const stream = streamed([start(), end('refusal', { output_tokens: 1 }, details), MESSAGE_STOP]);
    assert.deepEqual(chunksIn(stream).slice(0, 2), [FIRST, chunk({ refusal: 'Not this.' }, 'content_filter')]);
  });

  test('without a start has the id of the request', () => {
    const chunks = chunksIn(streamed([delta(0, { type: 'text_delta', text: 'a' }), end('end_turn')]));
    assert.deepEqual(
      chunks.map((each) => [each.id, (each.choices as Fields[])[0]?.delta]),
      [
        [CONTEXT.requestId, { role: 'assistant', content: '' }],
        [CONTEXT.requestId, { content: 'a' }],
        [CONTEXT.requestId, {}],
      ],
    );
  });

  test('with a call of a deprecated function', () => {
    const events = [
      start(),
      blockStart(0, toolUse('t1', 'f')),
      delta(0, json('{"x":1}')),
      stop(0),
      blockStart(1, toolUse('t2', 'f')),
      delta(1, json('{"y":2}')),
      stop(1),
      end('tool_use'),
    ];
    assert.deepEqual(chunksIn(streamed(events, FUNCTIONS)), [
      FIRST,
      chunk({ function_call: { name: 'f', arguments: '' } }),
      chunk({ function_call: { arguments: '{"x":1}' } }),
      chunk({}, 'function_call'),
    ]);
  });

  test('with input that is whole at the start of its block', () => {
    const events = [
      start(),
      blockStart(0, toolUse('t', 'f', { x: 1 })),
      blockStart(1, toolUse('u', 'c', { input: 'y' })),
    ];
    const { message } = readBack(streamed([...events, end('tool_use')]));
    assert.deepEqual(message.tool_calls, [
      { id: 't', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
      { id: 'u', type: 'custom', custom: { name: 'c', input: 'y' } },
    ]);
  });

  test('with a block that begins where another has not ended', () => {
    const events = [start(), blockStart(0, toolUse('t', 'f')), blockStart(0, toolUse('u', 'f')), end('tool_use')];
    const calls = readBack(streamed(events)).message.tool_calls as { function: Fields }[];
    assert.deepEqual(
      calls.map((call) => call.function.arguments),
      ['{}', '{}'],
    );
  });

  test('never splits a character of a custom call', () => {
    const pieces = ['{"input":"a\\ud83d', '\\ude00', 'b\ud83d', '\ude00', '\\ud83d"}'];
    const events = [
      start(),
      blockStart(0, toolUse('t', 'c')),
      ...pieces.map((piece) => delta(0, json(piece))),
      stop(0),
    ];
    const inputs = chunksIn(streamed(events)).flatMap(({ choices }) => {
      const [choice] = choices as { delta: { tool_calls?: { custom: { input: string } }[] } }[];
      return choice?.delta.tool_calls?.map(({ custom }) => custom.input) ?? [];
    });
    assert.deepEqual(inputs, ['', 'a', '😀', 'b', '😀', '\ud83d']);
  });

  test('with a custom call that has other arguments', () => {
    for (const text of ['{"patch": 1}', '{"input": 7}', '["x"]', '{"pa']) {
      const events = [start(), blockStart(0, toolUse('t', 'c')), delta(0, json(text)), stop(0), end('tool_use')];
      const calls = readBack(streamed(events)).message.tool_calls as { custom: Fields }[];
      const expected = text.endsWith('a') ? text : JSON.stringify(JSON.parse(text));
      assert.equal(calls[0]?.custom.input, expected);
    }
  });

  test('of anything at all never throws', () => {
    const types = [...new Set(GOLDEN_EVENTS.map(({ type }) => type))];
    const block = fc.record({
      type: fc.constantFrom('text', 'thinking', 'redacted_thinking', 'tool_use', 'text_delta', 'input_json_delta'),
      name: fc.constantFrom('f', 'c', 1),
      text: fc.jsonValue({ maxDepth: 0 }),
      thinking: fc.jsonValue({ maxDepth: 0 }),
      partial_json: fc.jsonValue({ maxDepth: 0 }),
      input: fc.jsonValue({ maxDepth: 1 }),
      stop_reason: fc.jsonValue({ maxDepth: 0 }),
    });
    const event = fc.record({
      type: fc.constantFrom(...types),
      index: fc.constantFrom(0, 1, undefined, 'x'),
      message: fc.oneof(fc.jsonValue(), fc.record({ id: fc.jsonValue(), usage: fc.jsonValue() })),
      content_block: fc.oneof(block, fc.jsonValue()),
      delta: fc.oneof(block, fc.jsonValue()),
      usage: fc.jsonValue(),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 8 }), (events) => void chunksIn(streamed(events))),
      { numRuns: 200 },
    );
  });
});
