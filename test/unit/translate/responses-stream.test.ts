/** Streams of hosts of both dialects, event by event, as clients of responses read them: manners of hosts, and streams cut short. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { encryptedContent, thinkingBlock } from '../../../src/translate/responses/thinking.ts';
import { eventsIn, MODEL } from './hosted.ts';
import { blockStart, delta, stop, THINKING } from './messages-host.ts';
import { begin, chunk, end, json, MESSAGE_START, piece, USAGE, USAGE_CHUNK, use, WHOLE } from './responses-hosts.ts';
import { CONTEXT, type Host, responseIn, responseTo, streamed, TOOLS } from './responses-support.ts';

const SEAL: Readonly<Record<Host, Fields>> = {
  chat: { encrypted_content: 'chat.reasoning_content' },
  messages: { encrypted_content: encryptedContent(THINKING) },
};

/** What both streams become: the type of each event, with what it holds of its own. */
function expected(host: Host): readonly (readonly [type: string, fields: Fields])[] {
  const [rs, msg, fc1, ctc, fc2] = ['rs_1_0', 'msg_1_1', 'fc_1_2', 'ctc_1_3', 'fc_1_4'];
  const summary = { type: 'summary_text', text: 'Hm.' };
  const part = { type: 'output_text', text: 'I look.', annotations: [], logprobs: [] };
  const thought = { id: rs, type: 'reasoning', status: 'completed', summary: [summary], ...SEAL[host] };
  const message = { id: msg, type: 'message', status: 'completed', role: 'assistant', content: [part] };
  const look = {
    id: fc1,
    type: 'function_call',
    status: 'completed',
    call_id: 'c1',
    name: 'look',
    arguments: '{"a":1}',
  };
  const patch = {
    id: ctc,
    type: 'custom_tool_call',
    status: 'completed',
    call_id: 'c2',
    name: 'patch',
    input: 'a \nä',
  };
  const spawn = { ...look, id: fc2, call_id: 'c3', name: 'spawn', namespace: 'agents', arguments: '{}' };
  const begun = (item: Fields, more: Fields) => ({ item: { ...item, status: 'in_progress', ...more } });
  const { encrypted_content: _, ...unsealed } = thought as Fields;
  const done = (index: number, item: Fields) => ['response.output_item.done', { output_index: index, item }] as const;
  const at = (index: number, id: string | undefined, more: Fields) => ({ output_index: index, item_id: id, ...more });
  const lookEnd = [
    ['response.function_call_arguments.done', at(2, fc1, { name: 'look', arguments: '{"a":1}' })],
    done(2, look),
  ] as const;
  const patchEnd = [['response.custom_tool_call_input.done', at(3, ctc, { input: 'a \nä' })], done(3, patch)] as const;
  const spawnStart = [['response.output_item.added', { output_index: 4, ...begun(spawn, { arguments: '' }) }]] as const;
  const spawnWritten = ['response.function_call_arguments.delta', at(4, fc2, { delta: '{}' })] as const;
  const spawnEnd = [
    ['response.function_call_arguments.done', at(4, fc2, { name: 'spawn', arguments: '{}' })],
    done(4, spawn),
  ] as const;
  const patchStart = [
    ['response.output_item.added', { output_index: 3, ...begun(patch, { input: '' }) }],
    ['response.custom_tool_call_input.delta', at(3, ctc, { delta: 'a ' })],
    ['response.custom_tool_call_input.delta', at(3, ctc, { delta: '\nä' })],
  ] as const;
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 15,
  };
  const response = { status: 'completed', output: [thought, message, look, patch, spawn], usage };
  return [
    ['response.created', { response: { status: 'in_progress', output: [], usage: null } }],
    ['response.in_progress', { response: { status: 'in_progress', output: [], usage: null } }],
    ['response.output_item.added', { output_index: 0, ...begun(unsealed, { summary: [] }) }],
    ['response.reasoning_summary_part.added', at(0, rs, { summary_index: 0, part: { ...summary, text: '' } })],
    ['response.reasoning_summary_text.delta', at(0, rs, { summary_index: 0, delta: 'H' })],
    ['response.reasoning_summary_text.delta', at(0, rs, { summary_index: 0, delta: 'm.' })],
    ['response.reasoning_summary_text.done', at(0, rs, { summary_index: 0, text: 'Hm.' })],
    ['response.reasoning_summary_part.done', at(0, rs, { summary_index: 0, part: summary })],
    done(0, thought),
    ['response.output_item.added', { output_index: 1, ...begun(message, { content: [] }) }],
    ['response.content_part.added', at(1, msg, { content_index: 0, part: { ...part, text: '' } })],
    ['response.output_text.delta', at(1, msg, { content_index: 0, delta: 'I ', logprobs: [] })],
    ['response.output_text.delta', at(1, msg, { content_index: 0, delta: 'look.', logprobs: [] })],
    ['response.output_text.done', at(1, msg, { content_index: 0, text: 'I look.', logprobs: [] })],
    ['response.content_part.done', at(1, msg, { content_index: 0, part })],
    done(1, message),
    ['response.output_item.added', { output_index: 2, ...begun(look, { arguments: '' }) }],
    ['response.function_call_arguments.delta', at(2, fc1, { delta: '{"a"' })],
    ['response.function_call_arguments.delta', at(2, fc1, { delta: ':1}' })],
    // At a chat host calls may be written side by side.
    ...(host === 'chat'
      ? [...patchStart, ...spawnStart, ...lookEnd, ...patchEnd, spawnWritten, ...spawnEnd]
      : [...lookEnd, ...patchStart, ...patchEnd, ...spawnStart, spawnWritten, ...spawnEnd]),
    ['response.completed', { response }],
  ];
}

/** The fields of an event that its expectation has. */
function shown(event: Fields, like: Fields): Fields {
  const { response, ...rest } = event;
  if (like.response === undefined) return event;
  const names = Object.keys(like.response as Fields);
  return { ...rest, response: Object.fromEntries(names.map((name) => [name, (response as Fields)[name]])) };
}

for (const host of ['chat', 'messages'] as const) {
  describe(`a stream of a ${host} host`, () => {
    const events = eventsIn(streamed(host, WHOLE[host], { tools: TOOLS }));

    test('becomes these events', () => {
      const wanted = expected(host);
      assert.deepEqual(
        events.map((event, index) => shown(event, wanted[index]?.[1] ?? {})),
        wanted.map(([type, fields], index) => ({ type, sequence_number: index, ...fields })),
      );
    });

    test('can fail after every event of the host', () => {
      for (let length = 0; length <= WHOLE[host].length; length++) {
        const stream = responseTo(host, { tools: TOOLS }).stream(CONTEXT);
        const before = WHOLE[host].slice(0, length).map((event) => stream.push(event));
        const failed = eventsIn(before.join('') + stream.failure({ code: 'upstream_error', message: 'Broken.' }));
        const written = Math.max(2, eventsIn(before.join('')).length);
        assert.deepEqual(failed.slice(0, -1), events.slice(0, written));
        const { type, response } = failed.at(-1) as { type: string; response: Fields };
        const { id, model, status, error } = response;
        assert.deepEqual(
          [type, id, model, status, error],
          ['response.failed', 'resp_1', MODEL, 'failed', { code: 'upstream_error', message: 'Broken.' }],
        );
        const added = failed.filter((event) => event.type === 'response.output_item.added');
        assert.equal((response.output as Fields[]).length, added.length);
        assert.ok(
          (response.output as Fields[]).every((item) => item.status !== 'in_progress' && item.id !== undefined),
        );
      }
    });

    test('can end after every event of the host', () => {
      for (let length = 0; length <= WHOLE[host].length; length++) {
        responseIn(streamed(host, WHOLE[host].slice(0, length), { tools: TOOLS }));
      }
    });
  });
}

/** Calls as `[id, arguments]`. */
function callsIn(stream: string): readonly unknown[] {
  const { output } = responseIn(stream);
  return (output as Fields[]).map((item) => [item.call_id, item.arguments ?? item.input]);
}

const MANNERS: readonly (readonly [what: string, chunks: readonly Fields[], calls: readonly unknown[]])[] = [
  [
    'whole calls with one index for all',
    [begin(0, 'c1', 'a', '{"a":1}'), begin(0, 'c2', 'a', '{"a":2}')].map((each) => chunk(each)),
    [
      ['c1', '{"a":1}'],
      ['c2', '{"a":2}'],
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
