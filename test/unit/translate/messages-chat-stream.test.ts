/** Streams of chat-completion chunks as streamed messages: event by event, and however a host deals them out. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { isObject } from '../../../src/core/json.ts';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { runs } from '../../support/at-length.ts';
import { CONTEXT, eventsIn } from './hosted.ts';
import {
  callChunk,
  chunk,
  FIRST,
  finish,
  piece,
  SECOND,
  START,
  streamOf,
  USAGE,
  USAGE_CHUNK,
} from './messages-chat-chunks.ts';
import { messageIn, responseTo } from './messages-chat-support.ts';

/** The types of events, and what their deltas hold. */
function outline(text: string): readonly string[] {
  return eventsIn(text).map((event) => {
    const { type, index, content_block: block, delta } = event;
    if (isObject(block)) return `${index} ${block.type} ${block.name ?? ''}`.trim();
    if (!isObject(delta)) return index === undefined ? String(type) : `${index} stop`;
    if (delta.stop_reason !== undefined) return `end ${delta.stop_reason}`;
    return `${index} + ${delta.text ?? delta.thinking ?? delta.partial_json ?? `signature ${delta.signature}`}`.trim();
  });
}

const EVERYTHING: readonly Fields[] = [
  START,
  chunk({ reasoning_content: 'Let me ' }),
  chunk({ reasoning_content: 'see.' }),
  chunk({ content: 'One ' }),
  chunk({ content: 'moment.' }),
  callChunk(0, '', FIRST),
  callChunk(0, '{"a":'),
  callChunk(0, '1}'),
  callChunk(1, '{"b"', SECOND),
  callChunk(1, ':2}'),
  finish('tool_calls'),
  USAGE_CHUNK,
];

describe('a stream', () => {
  test('becomes these events', () => {
    assert.equal(
      streamOf([START, chunk({ content: 'Hi' }), finish('stop', { usage: USAGE })]),
      [
        'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_0123","type":"message","role":"assistant","model":"gpt","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}',
        'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}',
        'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}',
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":40,"cache_creation_input_tokens":0,"cache_read_input_tokens":60,"output_tokens":40}}',
        'event: message_stop\ndata: {"type":"message_stop"}',
        '',
      ].join('\n\n'),
    );
  });

  test('with everything has one block after another', () => {
    assert.deepEqual(outline(streamOf(EVERYTHING)), [
      'message_start',
      ...['0 thinking', '0 + Let me', '0 + see.', '0 + signature chat.reasoning_content', '0 stop'],
      ...['1 text', '1 + One', '1 + moment.', '1 stop'],
      ...['2 tool_use first', '2 + {"a":', '2 + 1}', '2 stop'],
      ...['3 tool_use second', '3 + {"b"', '3 + :2}', '3 stop'],
      ...['end tool_use', 'message_stop'],
    ]);
  });

  test('sends what arrives at once, and closes all blocks with the finish reason', () => {
    const stream = responseTo().stream(CONTEXT);
    const sent = EVERYTHING.map((each) => outline(stream.push(each)));
    assert.deepEqual(sent, [
      ['message_start'],
      ['0 thinking', '0 + Let me'],
      ['0 + see.'],
      ['0 + signature chat.reasoning_content', '0 stop', '1 text', '1 + One'],
      ['1 + moment.'],
      ['1 stop', '2 tool_use first'],
      ['2 + {"a":'],
      ['2 + 1}'],
      ['2 stop', '3 tool_use second', '3 + {"b"'],
      ['3 + :2}'],
      ['3 stop'],
      [],
    ]);
  });

  test('that is complete after any of its events has a complete end', () => {
    for (let length = 0; length <= EVERYTHING.length; length++) {
      const chunks = EVERYTHING.slice(0, length);
      // A call that was cut has no complete arguments.
      const isCut = length === 7 || length === 9;
      const text = streamOf(chunks);
      if (isCut) assert.throws(() => messageIn(text), SyntaxError);
      else assert.ok(Array.isArray(messageIn(text).content), `after ${length} events`);
    }
  });

  test('that fails after any of its events ends with one error event', () => {
    for (let length = 0; length <= EVERYTHING.length; length++) {
      const stream = responseTo().stream(CONTEXT);
      for (const each of EVERYTHING.slice(0, length)) stream.push(each);
      assert.equal(
        stream.failure({ code: 'upstream_error', message: 'Broken.' }),
        'event: error\ndata: {"type":"error","error":{"type":"api_error","code":"upstream_error","message":"Broken."},"request_id":"req_0123"}\n\n',
      );
    }
  });

  test('without thinking for a client that does not ask for it', () => {
    const types = (messageIn(streamOf(EVERYTHING, {})).content as Fields[]).map(({ type }) => type);
    assert.deepEqual(types, ['text', 'tool_use', 'tool_use']);
  });
});

/** Streams of hosts with habits of their own, and the blocks and the end that they become. */
const HABITS: readonly (readonly [what: string, chunks: readonly Fields[], expected: readonly string[]])[] = [
  ['nothing but an end', [], ['end end_turn']],
  ['no finish reason', [chunk({ content: 'Hi' })], ['0 text', '0 + Hi', '0 stop', 'end end_turn']],
  [
    'calls that are interleaved',
    [callChunk(0, '{"a":', FIRST), callChunk(1, '{', SECOND), callChunk(0, '1'), callChunk(1, '}'), callChunk(0, '}')],
    [
      '0 tool_use first',
      '0 + {"a":',
      '0 + 1',
      '0 + }',
      '0 stop',
      '1 tool_use second',
      '1 + {}',
      '1 stop',
      'end tool_use',
    ],
  ],
  [
    'text between the pieces of a call',
    [callChunk(0, '{', FIRST), chunk({ content: 'Hi' }), callChunk(0, '}'), finish('stop')],
    ['0 tool_use first', '0 + {', '0 + }', '0 stop', '1 text', '1 + Hi', '1 stop', 'end tool_use'],
  ],
  [
    'braces in strings',
    [callChunk(0, '{"a":"}\\"', FIRST), callChunk(1, '{}', SECOND), callChunk(0, '}"}'), finish('tool_calls')],
    [
      '0 tool_use first',
      '0 + {"a":"}\\"',
      '0 + }"}',
      '0 stop',
      '1 tool_use second',
      '1 + {}',
      '1 stop',
      'end tool_use',
    ],
  ],
  [
    'all calls at index 0',
    [callChunk(0, '{}', FIRST), callChunk(0, '{}', SECOND), finish('stop')],
    ['0 tool_use first', '0 + {}', '0 stop', '1 tool_use second', '1 + {}', '1 stop', 'end tool_use'],
  ],
  [
    'calls without an index, and the finish reason in their chunk',
    [
      chunk(
        {
          tool_calls: [
            { ...FIRST, function: { name: 'first', arguments: '{}' } },
            { id: 'x', function: { name: 'b' } },
          ],
        },
        { finish_reason: 'stop' },
      ),
    ],
    ['0 tool_use first', '0 + {}', '0 stop', '1 tool_use b', '1 stop', 'end tool_use'],
  ],
  [
    'a name after its arguments',
    [callChunk(3, '{'), callChunk(3, '}', FIRST), finish('tool_calls')],
    ['0 tool_use first', '0 + {}', '0 stop', 'end tool_use'],
  ],
  [
    'white space after the arguments',
    [callChunk(0, '{}', FIRST), callChunk(1, '{}', SECOND), callChunk(0, '\n'), finish('tool_calls')],
    ['0 tool_use first', '0 + {}', '0 stop', '1 tool_use second', '1 + {}', '1 stop', 'end tool_use'],
  ],
  [
    'id and name in every piece',
    [callChunk(0, '{', FIRST), callChunk(0, '}', FIRST), finish('tool_calls')],
    ['0 tool_use first', '0 + {', '0 + }', '0 stop', 'end tool_use'],
  ],
  [
    'id and name in every piece, and one too many',
    [callChunk(0, '{}', FIRST), callChunk(1, '{}', SECOND), callChunk(0, '', FIRST)],
    ['0 tool_use first', '0 + {}', '0 stop', '1 tool_use second', '1 + {}', '1 stop', 'end tool_use'],
  ],
  [
    'calls without ids, all at index 0',
    [callChunk(0, '{', { name: 'first' }), callChunk(0, '}', { name: 'first' }), callChunk(0, '{}', { name: 'b' })],
    ['0 tool_use first', '0 + {', '0 + }', '0 stop', '1 tool_use b', '1 + {}', '1 stop', 'end tool_use'],
  ],
  [
    'a name in every piece of a call that waits',
    [callChunk(0, '{', FIRST), callChunk(1, '{', SECOND), callChunk(1, '}', SECOND), finish('tool_calls')],
    ['0 tool_use first', '0 + {', '0 stop', '1 tool_use second', '1 + {}', '1 stop', 'end tool_use'],
  ],
  [
    'another id in every piece, and a name in the first',
    [callChunk(0, '{', FIRST), callChunk(0, '}', { id: 'x' }), callChunk(0, '\n', { id: 'y' })],
    ['0 tool_use first', '0 + {', '0 + }', '0 +', '0 stop', 'end tool_use'],
  ],
  [
    'a name without an id once more at the end',
    [callChunk(0, '{}', { name: 'first' }), callChunk(0, '', { name: 'first' }), finish('tool_calls')],
    ['0 tool_use first', '0 + {}', '0 stop', 'end tool_use'],
  ],
  [
    'the deprecated call',
    [chunk({ function_call: { name: 'first', arguments: '{' } }), chunk({ function_call: { arguments: '}' } })],
    ['0 tool_use first', '0 + {', '0 + }', '0 stop', 'end tool_use'],
  ],
  [
    'a refusal',
    [chunk({ refusal: 'No' }), chunk({ refusal: '.' }), finish('stop')],
    ['0 text', '0 + No', '0 + .', '0 stop', 'end refusal'],
  ],
  [
    'text in parts',
    [chunk({ content: [{ type: 'text', text: 'Hi' }] })],
    ['0 text', '0 + Hi', '0 stop', 'end end_turn'],
  ],
  [
    'text after the end',
    [finish('length'), chunk({ content: 'Hi' })],
    ['0 text', '0 + Hi', '0 stop', 'end max_tokens'],
  ],
  [
    'a first chunk without choices',
    [{ id: '', choices: [] }, chunk({ content: 'Hi' })],
    ['0 text', '0 + Hi', '0 stop', 'end end_turn'],
  ],
];

describe('a stream with', () => {
  for (const [what, chunks, expected] of HABITS) {
    test(what, () => assert.deepEqual(outline(streamOf(chunks)), ['message_start', ...expected, 'message_stop']));
  }

  test('a call without an id gets one', () => {
    const { content } = messageIn(streamOf([callChunk(0, '{}', { name: 'first' })]));
    assert.deepEqual(content, [{ type: 'tool_use', id: 'toolu_0123_0', name: 'first', input: {} }]);
  });

  test('usage in every chunk, of which the last one counts', () => {
    const first = { ...USAGE, completion_tokens: 1 };
    const text = streamOf([chunk({ content: 'Hi' }, { usage: first }), finish('stop', { usage: USAGE })]);
    const known = eventsIn(text).map(({ message, usage }) => (isObject(message) ? message.usage : usage));
    const tokens = known.filter(isObject).map(({ input_tokens: input, output_tokens: output }) => [input, output]);
    assert.deepEqual(tokens, [
      [40, 1],
      [40, 40],
    ]);
  });
});

const ARGUMENTS = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })).map((value) => JSON.stringify(value));

/** A text in pieces, none of them empty but for an empty text. */
function inPieces(text: fc.Arbitrary<string>): fc.Arbitrary<readonly string[]> {
  return fc.tuple(text, fc.array(fc.nat(40), { maxLength: 4 })).map(([whole, cuts]) => {
    const places = [0, ...cuts.map((cut) => Math.min(cut, whole.length)).toSorted((a, b) => a - b), whole.length];
    return places.slice(1).map((end, index) => whole.slice(places[index], end));
  });
}

/** What a host sends of one thing, in order. */
interface Strand {
  readonly deltas: readonly Fields[];
}

function strands(
  thinking: readonly string[],
  text: readonly string[],
  calls: readonly (readonly string[])[],
): Strand[] {
  return [
    { deltas: thinking.map((reasoning_content) => ({ reasoning_content })) },
    { deltas: text.map((content) => ({ content })) },
    ...calls.map((pieces, index) => ({
      deltas: pieces.map((args, at) => ({
        tool_calls: [piece(index, args, at === 0 ? { id: `call_${index}`, name: `tool_${index}` } : {})],
      })),
    })),
  ];
}

/** Deals the deltas of all strands: each number chooses the next one among the strands that are left. */
function dealt(list: readonly Strand[], choices: readonly number[]): readonly Fields[] {
  const left = list.map(({ deltas }) => [...deltas]).filter((deltas) => deltas.length > 0);
  const result: Fields[] = [];
  for (let at = 0; left.length > 0; at++) {
    const chosen = (choices[at % choices.length] ?? 0) % left.length;
    const delta = left[chosen]?.shift();
    if (delta !== undefined) result.push(delta);
    if (left[chosen]?.length === 0) left.splice(chosen, 1);
  }
  return result;
}

/** The content, with all text in one block and all thinking in one, and calls in the order of their names. */
function gathered(message: Fields): Fields {
  const blocks = message.content as readonly Fields[];
  const all = (field: string) => blocks.map((block) => block[field] ?? '').join('');
  const calls = blocks.filter(({ type }) => type === 'tool_use');
  const { content: _, ...others } = message;
  return {
    ...others,
    text: all('text'),
    thinking: all('thinking'),
    calls: calls.toSorted((a, b) => (String(a.name) < String(b.name) ? -1 : 1)),
  };
}

test('a translated stream says what the translated answer says, however a host deals it out', () => {
  const cases = fc.record({
    thinking: inPieces(fc.string()),
    text: inPieces(fc.string({ unit: 'grapheme' })),
    calls: fc.array(inPieces(ARGUMENTS), { maxLength: 4 }),
    choices: fc.array(fc.nat(7), { minLength: 1, maxLength: 20 }),
    reason: fc.constantFrom('stop', 'tool_calls', 'length', 'content_filter'),
    place: fc.constantFrom('finish', 'own', 'none'),
  });
  fc.assert(
    fc.property(cases, ({ thinking, text, calls, choices, reason, place }) => {
      const deltas = dealt(strands(thinking, text, calls), choices).map((delta) => chunk(delta));
      const end = finish(reason, place === 'finish' ? { usage: USAGE } : {});
      const streamed = messageIn(streamOf([START, ...deltas, end, ...(place === 'own' ? [USAGE_CHUNK] : [])]));
      const message = {
        content: text.join(''),
        reasoning_content: thinking.join(''),
        tool_calls: calls.map((pieces, index) => ({
          id: `call_${index}`,
          ...piece(index, pieces.join(''), { name: `tool_${index}` }),
        })),
      };
      const whole = {
        model: 'gpt',
        choices: [{ message, finish_reason: reason }],
        ...(place !== 'none' && { usage: USAGE }),
      };
      assert.deepEqual(gathered(streamed), gathered(responseTo().answer(whole, CONTEXT)));
    }),
    { numRuns: runs(200) },
  );
});

test('no chunk is too strange for a stream', () => {
  const names = ['index', 'id', 'function', 'name', 'arguments', 'content', 'reasoning', 'refusal', 'tool_calls'];
  const value = fc.constantFrom<unknown>(null, true, -1, '', 'x', [], {}, [null], ['x'], [{ text: 1 }], '{"a":');
  const part = fc.dictionary(fc.constantFrom(...names), value);
  const delta = fc.dictionary(fc.constantFrom(...names), fc.oneof(value, part, fc.array(part)));
  const choice = fc.record({ delta: fc.oneof(delta, value), finish_reason: value }, { requiredKeys: [] });
  const strange = fc.record(
    { choices: fc.oneof(fc.array(choice), value), usage: value, model: value },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.array(strange), (chunks) => {
      const events = eventsIn(streamOf(chunks));
      assert.deepEqual([events[0]?.type, events.at(-1)?.type], ['message_start', 'message_stop']);
      for (const each of chunks) responseTo().answer(each, CONTEXT);
    }),
    { numRuns: runs(100) },
  );
});
