/**
 * Streams with the oddities of hosts that no recording here has: the client libraries read the same
 * in every dialect, or the same failure.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { countsOf } from '../../support/tools.ts';
import { CLIENTS, type Client, type Relayed, relayed, type Speaker } from './recordings.ts';
import { READERS, type Reading } from './sdk-readings.ts';

const lines = (...values: readonly (Fields | string)[]) =>
  values.map((value) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`).join('');
const named = (...values: readonly Fields[]) =>
  values.map((value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`).join('');

function chunk(delta: Fields | undefined, reason: string | null = null, more: Fields = {}): Fields {
  const choices = delta === undefined ? [] : [{ index: 0, delta, finish_reason: reason }];
  return { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more };
}

const piece = (fields: Fields) => ({ tool_calls: [{ index: 0, type: 'function', ...fields }] });
const USAGE = { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 };
const CALL = { id: 'toolu_1', name: 'look', arguments: { a: 1 } };
const LOOK = { type: 'tool_use', id: CALL.id, name: CALL.name, input: CALL.arguments };

function started(fields: Fields = {}): Fields {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null };
  return { type: 'message_start', message: { ...message, usage: { input_tokens: 20, output_tokens: 1 }, ...fields } };
}

const block = (index: number, content: Fields) => [
  { type: 'content_block_start', index, content_block: content },
  { type: 'content_block_stop', index },
];
const STOP = { type: 'message_stop' };

interface OddStream {
  readonly what: string;
  readonly host: Speaker;
  readonly stream: string;
  /** What clients of other dialects read. */
  readonly reads: Partial<Reading>;
}

const STREAMS: readonly OddStream[] = [
  {
    what: 'a first chunk of filter results, without choices, as Azure sends it',
    host: 'chat',
    stream: lines(
      { id: '', object: '', created: 0, model: '', choices: [], prompt_filter_results: [{ prompt_index: 0 }] },
      chunk({ role: 'assistant', content: 'Hi.', refusal: null }, null, { content_filter_results: {} }),
      chunk({}, 'stop'),
      chunk(undefined, null, { usage: USAGE }),
      '[DONE]',
    ),
    reads: { text: 'Hi.', finish: 'stop' },
  },
  {
    what: 'thinking in parts of the content, as Mistral sends it',
    host: 'chat',
    stream: lines(
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }] }),
      chunk({ content: [{ type: 'text', text: 'Hi.' }] }),
      chunk({ content: '' }, 'stop', { usage: USAGE }),
      '[DONE]',
    ),
    reads: { thinking: 'Hm.', text: 'Hi.', finish: 'stop' },
  },
  {
    what: 'a call in pieces with empty names, as Mistral sends it',
    host: 'chat',
    stream: lines(
      chunk({ ...piece({ id: CALL.id, function: { name: 'look', arguments: '' } }), content: '' }),
      chunk({ ...piece({ function: { name: '', arguments: '{"a":1}' } }), content: '' }),
      chunk({ content: '' }, 'tool_calls', { usage: USAGE }),
      '[DONE]',
    ),
    reads: { text: '', calls: [CALL], finish: 'calls' },
  },
  {
    what: 'a call whose name comes after its arguments have begun',
    host: 'chat',
    stream: lines(
      chunk(piece({ id: CALL.id, function: { arguments: '{"a"' } })),
      chunk(piece({ function: { name: 'look', arguments: ':1}' } })),
      chunk({}, 'tool_calls', { usage: USAGE }),
      '[DONE]',
    ),
    reads: { calls: [CALL], finish: 'calls' },
  },
  {
    what: 'pieces that repeat the name of their call, without an index or further ids',
    host: 'chat',
    stream: lines(
      chunk({ tool_calls: [{ id: CALL.id, function: { name: 'look', arguments: '{"a"' } }] }),
      chunk({ tool_calls: [{ function: { name: 'look', arguments: ':1}' } }] }),
      chunk({ tool_calls: [{ id: 'toolu_2', function: { name: 'look', arguments: '{"a":1}' } }] }),
      chunk({}, 'tool_calls', { usage: USAGE }),
      '[DONE]',
    ),
    reads: { calls: [CALL, { ...CALL, id: 'toolu_2' }], finish: 'calls' },
  },
  {
    what: 'thinking that is empty under one name and not under the other',
    host: 'chat',
    stream: lines(
      chunk({ reasoning_content: '', reasoning: 'Hm.' }),
      chunk({ content: 'Hi.' }),
      chunk({}, 'stop', { usage: USAGE }),
      '[DONE]',
    ),
    reads: { thinking: 'Hm.', text: 'Hi.', finish: 'stop' },
  },
  ...['error', 'abort', 'insufficient_system_resource', 'model_length'].map((reason) => ({
    what: `a call that is cut by the host, which says ${reason}`,
    host: 'chat' as const,
    stream: lines(
      chunk(piece({ id: CALL.id, function: { name: 'look', arguments: '{"a":1}' } })),
      chunk({}, reason, { usage: USAGE }),
      '[DONE]',
    ),
    reads: { calls: [CALL], finish: 'length' },
  })),
  {
    what: 'keep-alive comments, CRLF and no [DONE]',
    host: 'chat',
    stream: `: keep-alive\r\n\r\n${lines(chunk({ content: 'Hi.' }), chunk({}, 'stop', { usage: USAGE })).replaceAll('\n', '\r\n')}`,
    reads: { text: 'Hi.', finish: 'stop' },
  },
  {
    what: 'a start that holds whole blocks and the end, as after a call by a program',
    host: 'messages',
    stream: named(started({ content: [{ type: 'text', text: 'So.' }, LOOK], stop_reason: 'tool_use' }), STOP),
    reads: { text: 'So.', calls: [CALL], finish: 'calls' },
  },
  {
    what: 'a start that holds whole blocks, twice, and more blocks after it',
    host: 'messages',
    stream: named(
      started({ content: [LOOK] }),
      started({ content: [LOOK] }),
      ...block(1, { ...LOOK, id: 'toolu_2' }),
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } },
      STOP,
    ),
    reads: { calls: [CALL, { ...CALL, id: 'toolu_2' }], finish: 'calls' },
  },
  {
    what: 'blocks that nothing ends',
    host: 'messages',
    stream: named(
      started(),
      ...[{ type: 'text', text: 'Hi.' }, LOOK, { ...LOOK, id: 'toolu_2' }].map((content_block, index) => ({
        type: 'content_block_start',
        index,
        content_block,
      })),
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } },
      STOP,
    ),
    reads: { text: 'Hi.', calls: [CALL, { ...CALL, id: 'toolu_2' }], finish: 'calls' },
  },
  {
    what: 'an end without a stop reason',
    host: 'messages',
    stream: named(started(), ...block(0, { type: 'text', text: 'Hi.' }), STOP),
    reads: { text: 'Hi.', finish: 'stop' },
  },
  {
    what: 'an end without a stop reason, after a call',
    host: 'messages',
    stream: named(started(), ...block(0, LOOK), STOP),
    reads: { calls: [CALL], finish: 'calls' },
  },
];

const others = (host: Speaker) => CLIENTS[host].filter((client) => client !== host);

describe('a stream with', () => {
  for (const { what, host, stream, reads } of STREAMS) {
    for (const client of others(host)) {
      test(`${what}, for ${client}`, async () => {
        const received = await relayed(host, client, [Buffer.from(stream)]);
        assert.equal(received.failure, undefined);
        const reading = await READERS[client](received.text);
        const names = Object.keys(reads) as (keyof Reading)[];
        assert.deepEqual(Object.fromEntries(names.map((name) => [name, reading[name]])), reads);
        assert.equal(reading.usage?.input, 20);
        assert.equal(received.metered.usage.promptTokens, 20);
      });
    }
  }
});

const TEXT = chunk({ content: 'Hi.' });
const CREATED = { type: 'response.created', sequence_number: 0, response: { id: 'resp_1', status: 'in_progress' } };
const DELTA = { type: 'response.output_text.delta', output_index: 0, content_index: 0, item_id: 'a', delta: 'Hi.' };
const FAULT = { code: 'server_error', message: 'Broken.' };

/** How hosts say in a stream that they have failed. */
const FAILURES: readonly (readonly [what: string, host: Speaker, stream: string])[] = [
  ['an error beside the choices, as OpenRouter sends it', 'chat', lines(TEXT, chunk({}, 'error', { error: FAULT }))],
  ['an error in place of a chunk, as vLLM sends it', 'chat', lines(TEXT, { error: { ...FAULT, code: 500 } }, '[DONE]')],
  ['an error with a name, as Groq sends it', 'chat', `${lines(TEXT)}event: error\ndata: {"error":{"message":"B"}}\n\n`],
  [
    'an error event',
    'messages',
    named(started(), ...block(0, { type: 'text', text: 'Hi.' }), {
      type: 'error',
      error: { type: 'overloaded_error' },
    }),
  ],
  ['an error event and a failure', 'responses', named(CREATED, DELTA, { type: 'error', error: FAULT })],
  [
    'a failure',
    'responses',
    named(CREATED, DELTA, { type: 'response.failed', response: { id: 'resp_1', status: 'failed', error: FAULT } }),
  ],
];

describe('a stream that fails with', () => {
  for (const [what, host, stream] of FAILURES) {
    for (const client of CLIENTS[host]) {
      test(`${what}, for ${client}`, async () => {
        const received = await relayed(host, client, [Buffer.from(stream)]);
        assert.equal(received.failure, 'stream');
        await assert.rejects(READERS[client](received.text));
      });
    }
  }
});

describe('the meter', () => {
  const read = (host: Client, stream: string): Promise<Relayed> => relayed(host, host, [Buffer.from(stream)]);

  test('counts what a start holds of a message that reports no output', async () => {
    const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} };
    const content = [search, { type: 'text', text: 'one two three' }];
    const { metered } = await read('messages', named(started({ content, stop_reason: 'end_turn', usage: {} })));
    assert.deepEqual(countsOf(metered), { web_search: 1 });
    assert.equal(metered.source, 'counted');
    assert.ok(metered.usage.completionTokens >= 3);
  });

  test('counts what is new in a chunk, not all that is repeated beside it', async () => {
    const words = ['one ', 'two ', 'three ', 'four '];
    const chunks = words.map((word, index) => {
      const message = { role: 'assistant', content: words.slice(0, index + 1).join('') };
      const choices = [{ index: 0, message, delta: { content: word }, finish_reason: null }];
      return { ...chunk(undefined), choices };
    });
    const repeated = await read('chat', lines(...chunks));
    const plain = await read('chat', lines(...words.map((content) => chunk({ content }))));
    assert.equal(repeated.metered.usage.completionTokens, plain.metered.usage.completionTokens);
  });
});
