/** What the gateway reads in a message and in its usage: the larger figure wherever two differ, and none that is impossible. And its errors. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ClientError, ERROR_STATUS, type ErrorCode } from '../../../../src/core/errors.ts';
import type { ToolCall } from '../../../../src/core/host-tools.ts';
import { MESSAGES } from '../../../../src/dialects/messages/messages.ts';
import { readUsage } from '../../../../src/dialects/messages/messages-answer.ts';
import { messagesErrorBody } from '../../../../src/dialects/messages/messages-errors.ts';

const MOST = 1_000_000_000;
const USAGE = { input_tokens: 10, output_tokens: 4 };
const ITERATION = { type: 'message', input_tokens: 10, output_tokens: 1 };

type Figures = readonly [input: number, cached: number, written5m: number, written1h: number, output: number];

/** A report, and what is billed; undefined if the report is unusable. */
const ROWS: readonly (readonly [what: string, usage: unknown, figures: Figures | undefined])[] = [
  ['input and output', USAGE, [10, 0, 0, 0, 4]],
  ['no usage', undefined, undefined],
  ['zeros', { input_tokens: 0, output_tokens: 0 }, undefined],
  ['no input', { output_tokens: 4 }, undefined],
  ['an input of null', { input_tokens: null, output_tokens: 4 }, undefined],
  ['no input but what was read from the cache', { cache_read_input_tokens: 5, output_tokens: 4 }, undefined],
  ['input in an iteration alone', { output_tokens: 4, iterations: [ITERATION] }, [10, 0, 0, 0, 4]],
  ['a fraction', { ...USAGE, output_tokens: 1.5 }, undefined],
  ['more than any model takes', { ...USAGE, input_tokens: MOST + 1 }, undefined],
  ['parts that come to more', { ...USAGE, input_tokens: MOST, cache_read_input_tokens: 1 }, undefined],
  ['cache writes', { ...USAGE, cache_creation_input_tokens: 7 }, [17, 0, 7, 0, 4]],
  [
    'cache writes by their lifetimes alone',
    { ...USAGE, cache_creation: { ephemeral_5m_input_tokens: 1_000, ephemeral_1h_input_tokens: 100_000 } },
    [101_010, 0, 1_000, 100_000, 4],
  ],
  [
    'cache writes that lifetimes exceed',
    { ...USAGE, cache_creation_input_tokens: 5, cache_creation: { ephemeral_1h_input_tokens: 8 } },
    [18, 0, 0, 8, 4],
  ],
  [
    'cache writes that exceed lifetimes',
    { ...USAGE, cache_creation_input_tokens: 9, cache_creation: { ephemeral_1h_input_tokens: 8 } },
    [19, 0, 1, 8, 4],
  ],
  ['several iterations', { ...USAGE, iterations: [ITERATION, ITERATION] }, [20, 0, 0, 0, 4]],
  [
    'iterations that are lower',
    { input_tokens: 1_000, output_tokens: 400, iterations: [ITERATION] },
    [1_000, 0, 0, 0, 400],
  ],
  ['iterations without figures', { ...USAGE, iterations: [{ usage: {} }, { output_tokens: 1 }] }, [10, 0, 0, 0, 4]],
  [
    'cache writes beside and in iterations',
    {
      ...USAGE,
      cache_creation_input_tokens: 9,
      iterations: [{ ...ITERATION, cache_creation: { ephemeral_1h_input_tokens: 9 } }],
    },
    [19, 0, 0, 9, 4],
  ],
  [
    'an iteration with an impossible figure',
    { ...USAGE, iterations: [{ ...ITERATION, output_tokens: -1 }] },
    undefined,
  ],
  [
    'iterations that come to more than any model takes',
    { ...USAGE, iterations: [ITERATION, { ...ITERATION, input_tokens: MOST }] },
    undefined,
  ],
  ['too many iterations', { ...USAGE, iterations: Array.from({ length: 1_001 }, () => ITERATION) }, undefined],
];

describe('usage in the messages dialect', () => {
  for (const [what, usage, figures] of ROWS) {
    test(what, () => {
      const read = readUsage(usage);
      const { promptTokens = 0, cachedTokens = 0, completionTokens = 0, parts } = read ?? {};
      const written = [parts?.cacheWriteTokens ?? 0, parts?.cacheWrite1hTokens ?? 0];
      assert.deepEqual(read && [promptTokens, cachedTokens, ...written, completionTokens], figures);
    });
  }
});

/** A content block, and the calls of the host's tools that it stands for. */
const BLOCKS: readonly (readonly [block: unknown, calls: readonly string[]])[] = [
  [{ type: 'server_tool_use', id: 'a', name: 'code_execution', input: {} }, ['code_execution']],
  [{ type: 'server_tool_use', id: 'a', name: 'bash_code_execution', input: {} }, ['code_execution']],
  [{ type: 'server_tool_use', id: 'a', name: 'text_editor_code_execution', input: {} }, ['code_execution']],
  [{ type: 'server_tool_use', id: 'a', name: 'advisor', input: {} }, ['advisor']],
  [{ type: 'tool_use', id: 'a', name: 'advisor', input: {} }, []],
  [{ type: 'text', text: 'x' }, []],
  [null, []],
];

const namesOf = (calls: readonly ToolCall[] = []) => calls.map(({ name }) => name);

describe("calls of the host's tools", () => {
  for (const [block, calls] of BLOCKS) {
    test(`${JSON.stringify(block)} in an answer and in a stream`, () => {
      assert.deepEqual(namesOf(MESSAGES.readAnswer({ content: [block], usage: USAGE }).toolCalls), calls);
      const data = JSON.stringify({ type: 'content_block_start', index: 0, content_block: block });
      const read = MESSAGES.startStream('req_1').judge(event('content_block_start', data));
      assert.ok(read.kind === 'part');
      assert.deepEqual(namesOf(read.facts.toolCalls), calls);
    });
  }
});

function event(name: string | undefined, data: string) {
  return { bytes: Buffer.from(''), data, name, complete: true };
}

/** The name and the data of an event, and what it is. */
const EVENTS: readonly (readonly [name: string | undefined, data: string, kind: string])[] = [
  ['message_stop', '{"type":"message_stop"}', 'end'],
  [undefined, '{"type":"message_stop"}', 'end'],
  ['message_stop', '{}', 'end'],
  ['message_stop', '{"type":"message_delta"}', 'end'],
  ['message_stop', '[]', 'invalid'],
  ['ping', '{}', 'part'],
  ['error', '{}', 'error'],
];

describe('an event of the messages dialect', () => {
  for (const [name, data, kind] of EVENTS) {
    test(`${name} with ${data} is ${kind}`, () => {
      assert.equal(MESSAGES.startStream('req_1').judge(event(name, data)).kind, kind);
    });
  }

  test('without a type is read by its name', () => {
    const read = MESSAGES.startStream('req_1').judge(event('message_delta', JSON.stringify({ usage: USAGE })));
    assert.ok(read.kind === 'part');
    assert.equal(read.facts.usage?.completionTokens, 4);
  });

  test('that starts a message counts its blocks once, although it comes twice', () => {
    const stream = MESSAGES.startStream('req_1');
    const content = [
      { type: 'server_tool_use', name: 'web_search', input: {} },
      { type: 'text', text: 'Hi.' },
    ];
    const start = JSON.stringify({ type: 'message_start', message: { content, stop_reason: 'end_turn' } });
    const reads = [1, 2].map(() => stream.judge(event('message_start', start)));
    const calls = reads.map((read) => (read.kind === 'part' ? namesOf(read.facts.toolCalls) : undefined));
    const written = reads.map((read) => (read.kind === 'part' ? read.facts.progress[0]?.written : undefined));
    assert.deepEqual(calls, [['web_search'], []]);
    assert.deepEqual(written, [['web_search', 'Hi.'], []]);
  });

  test('adds to the usage that came before it', () => {
    const stream = MESSAGES.startStream('req_1');
    const start = { type: 'message_start', message: { usage: { ...USAGE, iterations: [ITERATION] } } };
    stream.judge(event('message_start', JSON.stringify(start)));
    const delta = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2_000 } };
    const read = stream.judge(event('message_delta', JSON.stringify(delta)));
    assert.ok(read.kind === 'part');
    assert.deepEqual(read.facts.usage, { promptTokens: 10, cachedTokens: 0, completionTokens: 2_000 });
  });
});

const TYPES: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'invalid_request_error',
  unauthorized: 'authentication_error',
  invalid_api_key: 'authentication_error',
  insufficient_credit: 'billing_error',
  spend_limit_reached: 'billing_error',
  api_key_disabled: 'permission_error',
  model_not_allowed: 'permission_error',
  model_not_found: 'not_found_error',
  rate_limited: 'rate_limit_error',
  upstream_error: 'api_error',
  internal_error: 'api_error',
};

/** Statuses other than the usual one of a code. */
const STATUSES: readonly (readonly [status: number, type: string])[] = [
  [405, 'invalid_request_error'],
  [408, 'invalid_request_error'],
  [413, 'request_too_large'],
  [431, 'invalid_request_error'],
  [503, 'api_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
];

function typeOf(error: ClientError): unknown {
  return (JSON.parse(messagesErrorBody(error, 'req_1')) as { error: { type: unknown } }).error.type;
}

describe('an error of the messages dialect', () => {
  test('has exactly these fields', () => {
    const body = messagesErrorBody({ code: 'rate_limited', message: 'Wait.', retryAfterS: 3 }, 'req_1');
    assert.equal(
      body,
      '{"type":"error","error":{"type":"rate_limit_error","code":"rate_limited","message":"Wait."},"request_id":"req_1"}',
    );
  });

  for (const code of Object.keys(ERROR_STATUS) as ErrorCode[]) {
    test(`${code} is ${TYPES[code]}`, () => assert.equal(typeOf({ code, message: '' }), TYPES[code]));
  }

  for (const [status, type] of STATUSES) {
    test(`status ${status} is ${type}`, () =>
      assert.equal(typeOf({ code: 'invalid_request', message: '', status }), type));
  }
});
