/** Manners of hosts in their streams, and streams that are cut short. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { thinkingBlock } from '../../../src/translate/responses/thinking.ts';
import {
  begin,
  blockStart,
  chunk,
  delta,
  end,
  json,
  MESSAGE_START,
  piece,
  stop,
  THINKING,
  USAGE,
  USAGE_CHUNK,
  use,
  WHOLE,
} from './responses-hosts.ts';
import { eventsIn, type Host, responseIn, streamed, TOOLS } from './responses-support.ts';

/** Calls as `[id, arguments]`. */
function callsIn(stream: string): readonly unknown[] {
  const { output } = responseIn(stream);
  return (output as Fields[]).map((item) => [item.call_id, item.arguments ?? item.input]);
}

const MANNERS: readonly (readonly [what: string, chunks: readonly Fields[], calls: readonly unknown[]])[] = [
  [
    'calls written side by side',
    [begin(0, 'c1', 'a', '{"a'), begin(1, 'c2', 'b', '{"b'), piece(0, '":1}'), piece(1, '":2}')].map((each) =>
      chunk(each),
    ),
    [
      ['c1', '{"a":1}'],
      ['c2', '{"b":2}'],
    ],
  ],
  [
    'calls that begin at another index, with ids and names in every piece',
    [begin(1, 'c1', 'a', '{"a'), begin(1, 'c1', 'a', '":1}'), begin(2, 'c2', 'b', '{}')].map((each) => chunk(each)),
    [
      ['c1', '{"a":1}'],
      ['c2', '{}'],
    ],
  ],
  [
    'whole calls with one index for all',
    [begin(0, 'c1', 'a', '{"a":1}'), begin(0, 'c2', 'a', '{"a":2}')].map((each) => chunk(each)),
    [
      ['c1', '{"a":1}'],
      ['c2', '{"a":2}'],
    ],
  ],
  [
    'calls without an index',
    [begin(undefined, 'c1', 'a', '{"a'), piece(undefined, '":1}'), begin(undefined, 'c2', 'a', '{}')].map((each) =>
      chunk(each),
    ),
    [
      ['c1', '{"a":1}'],
      ['c2', '{}'],
    ],
  ],
  [
    'calls of two functions, without indices, ids and arguments',
    [begin(undefined, '', 'a'), begin(undefined, '', 'b')].map((each) => chunk(each)),
    [
      ['call_1_0', '{}'],
      ['call_1_1', '{}'],
    ],
  ],
  [
    'calls of two functions with one index for both, without ids and arguments',
    [begin(0, '', 'a'), begin(0, '', 'b')].map((each) => chunk(each)),
    [
      ['call_1_0', '{}'],
      ['call_1_1', '{}'],
    ],
  ],
  [
    'calls in one chunk without indices, and then pieces of the last, of the first by its id, and of both',
    [
      { tool_calls: [...begin(undefined, 'c1', 'a').tool_calls, ...begin(undefined, 'c2', 'b').tool_calls] },
      piece(undefined, '{"b"'),
      piece(undefined, '{"a"', { id: 'c1' }),
      { tool_calls: [...piece(undefined, ':1}').tool_calls, ...piece(undefined, ':2}').tool_calls] },
    ].map((each) => chunk(each)),
    [
      ['c1', '{"a":1}'],
      ['c2', '{"b":2}'],
    ],
  ],
  [
    'calls in one chunk without indices, of which the first is whole, and then a piece of the last with its name',
    [
      { tool_calls: [...begin(undefined, '', 'a', '{}').tool_calls, ...begin(undefined, '', 'b').tool_calls] },
      begin(undefined, '', 'b', '{"b":1}'),
    ].map((each) => chunk(each)),
    [
      ['call_1_0', '{}'],
      ['call_1_1', '{"b":1}'],
    ],
  ],
  [
    'calls in one chunk without indices, of which the first is whole, and then a piece without ids and names',
    [
      { tool_calls: [...begin(undefined, 'c1', 'a', '{}').tool_calls, ...begin(undefined, 'c2', 'b').tool_calls] },
      piece(undefined, '{"x":1}'),
    ].map((each) => chunk(each)),
    [
      ['c1', '{}'],
      ['c2', '{"x":1}'],
    ],
  ],
  [
    'calls in one chunk with the end',
    [
      chunk(
        { tool_calls: [...begin(0, 'c1', 'a', '{}').tool_calls, ...begin(1, 'c2', 'a', '{}').tool_calls] },
        'tool_calls',
      ),
    ],
    [
      ['c1', '{}'],
      ['c2', '{}'],
    ],
  ],
  [
    'a list of calls, and beside it the deprecated call, which says nothing',
    [chunk({ function_call: { name: '', arguments: '' }, ...begin(0, 'c1', 'a', '{"a"') }), chunk(piece(0, ':1}'))],
    [['c1', '{"a":1}']],
  ],
  [
    'an empty piece after the end',
    [chunk(begin(0, 'c1', 'a', '{}')), chunk({}, 'tool_calls'), chunk(piece(0, ''))],
    [['c1', '{}']],
  ],
];

describe('manners of chat hosts', () => {
  for (const [what, chunks, calls] of MANNERS) {
    test(what, () => assert.deepEqual(callsIn(streamed('chat', chunks)), calls));
  }

  test('usage comes with the finish chunk, in every chunk, or after it', () => {
    for (const chunks of [
      [chunk({ content: 'Hi' }), chunk({}, 'stop', { usage: USAGE })],
      [chunk({ content: 'Hi' }, null, { usage: { ...USAGE, prompt_tokens: 1 } }), chunk({}, 'stop', { usage: USAGE })],
      [chunk({ content: 'Hi' }, 'stop', { usage: USAGE }), chunk({})],
      [chunk({ content: 'Hi' }, null, { usage: null }), chunk({}, 'stop', { usage: null }), USAGE_CHUNK],
    ]) {
      assert.equal((responseIn(streamed('chat', chunks)).usage as Fields).total_tokens, 15);
    }
  });

  test('a text after calls, and reasoning after a text, are items of their own', () => {
    const stream = streamed('chat', [
      chunk({ content: 'A' }),
      chunk({ reasoning: 'B' }),
      chunk(begin(0, 'c1', 'a', '{')),
      chunk({ content: 'C' }),
      chunk(piece(0, '}')),
      chunk({ refusal: 'D' }, 'stop'),
      chunk({ content: 'E' }),
    ]);
    const types = (responseIn(stream).output as Fields[]).map(({ type }) => type);
    assert.deepEqual(types, ['message', 'reasoning', 'function_call', 'message', 'message']);
  });

  test('other choices, and things that are no chunks, are nothing', () => {
    for (const each of [{}, { choices: 1 }, { choices: [] }, { choices: [1, {}] }, chunk({ tool_calls: [1, {}] })]) {
      assert.deepEqual(responseIn(streamed('chat', [each])).output, []);
    }
  });
});

describe('a stream that is cut short', () => {
  const cutChat = (name: string, text: string) => [
    chunk(begin(0, 'c1', 'a', '{}')),
    chunk(begin(1, 'c2', name, text)),
    chunk({}, 'length'),
  ];
  /** What is there of the last call. */
  const CUT: readonly (readonly [what: string, host: Host, written: string, events: readonly Fields[]])[] = [
    ['a function', 'chat', '{"a":', cutChat('look', '{"a":')],
    ['a custom tool', 'chat', 'rm -', cutChat('patch', '{"input":"rm -')],
    [
      'a custom tool',
      'messages',
      'rm -',
      [
        MESSAGE_START,
        blockStart(0, use('c1', 'a')),
        json(0, '{}'),
        stop(0),
        blockStart(1, use('c2', 'patch')),
        json(1, '{"input":"rm -'),
        stop(1),
        end('max_tokens'),
      ],
    ],
  ];
  for (const [what, host, written, events] of CUT) {
    test(`does not say that its last call of ${what} is done: ${host}`, () => {
      const stream = streamed(host, events, { tools: TOOLS });
      const done = eventsIn(stream).filter(({ type }) => type === 'response.output_item.done');
      assert.deepEqual(
        done.map(({ item }) => (item as Fields).call_id),
        ['c1'],
      );
      const { status, output } = responseIn(stream);
      assert.equal(status, 'incomplete');
      assert.deepEqual(
        (output as Fields[]).map((item) => [item.status, item.input ?? item.arguments]),
        [
          ['completed', '{}'],
          ['incomplete', written],
        ],
      );
    });
  }

  test('says that its text is done, and incomplete', () => {
    const stream = streamed('chat', [chunk({ content: 'Hi' }), chunk({}, 'content_filter')]);
    const done = eventsIn(stream).filter(({ type }) => type === 'response.output_item.done');
    assert.deepEqual(
      done.map(({ item }) => (item as Fields).status),
      ['incomplete'],
    );
    assert.deepEqual(responseIn(stream).incomplete_details, { reason: 'content_filter' });
  });
});

describe('manners of hosts of the messages dialect', () => {
  test('blocks that do not end', () => {
    const events = WHOLE.messages.filter(({ type }) => type !== 'content_block_stop');
    const whole = responseIn(streamed('messages', WHOLE.messages, { tools: TOOLS }));
    assert.deepEqual(responseIn(streamed('messages', events, { tools: TOOLS })), whole);
    const [thought] = responseIn(streamed('messages', [blockStart(0, THINKING), end('end_turn')])).output as Fields[];
    assert.deepEqual(thinkingBlock(thought?.encrypted_content), THINKING);
  });

  test('input that comes with the start of a call', () => {
    const block = { ...use('c1', 'look'), input: { a: 1 } };
    assert.deepEqual(callsIn(streamed('messages', [blockStart(0, block), stop(0), end('tool_use')])), [
      ['c1', '{"a":1}'],
    ]);
  });

  test('calls written side by side, and one without arguments', () => {
    const starts = ['patch', 'look', 'patch'].map((name, index) => blockStart(index, use(`c${index}`, name)));
    const pieces = [json(1, '{"a"'), json(2, '{"input":'), json(1, ':1}'), json(2, '"x"}')];
    const events = [...starts, ...pieces, stop(0), stop(1), stop(2), end('tool_use')];
    assert.deepEqual(callsIn(streamed('messages', events, { tools: TOOLS })), [
      ['c0', '{}'],
      ['c1', '{"a":1}'],
      ['c2', 'x'],
    ]);
  });

  test('usage comes in parts, of which the last that are not null count', () => {
    const start = {
      type: 'message_start',
      message: { usage: { input_tokens: 3, cache_read_input_tokens: 4, output_tokens: 1 } },
    };
    const last = end('end_turn', { input_tokens: null, output_tokens: 9 });
    const { usage } = responseIn(streamed('messages', [start, start, end('end_turn'), last]));
    const { input_tokens: input, output_tokens: output, input_tokens_details: details } = usage as Fields;
    assert.deepEqual([input, output, (details as Fields).cached_tokens], [7, 9, 4]);
  });

  test('things that are no events are nothing', () => {
    for (const each of [
      {},
      { type: 'content_block_start' },
      blockStart(0, {}),
      delta(0, {}),
      stop(7),
      { type: 'message_delta' },
    ]) {
      assert.deepEqual(responseIn(streamed('messages', [each])).output, []);
    }
  });
});
