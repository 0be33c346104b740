/** Whole answers of hosts of both dialects, as clients of responses read them: what they say, how they end, what they have used. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { RESPONSES } from '../../../src/dialects/responses/responses.ts';
import { encryptedContent } from '../../../src/translate/responses/thinking.ts';
import { MODEL } from './hosted.ts';
import { answer, completion, toolCall } from './responses-hosts.ts';
import { CONTEXT, type Host, responseTo, TOOLS } from './responses-support.ts';

const outputText = (text: string, more: Fields = {}) => ({
  type: 'output_text',
  text,
  annotations: [],
  logprobs: [],
  ...more,
});
const item = (index: number, content: readonly Fields[], status = 'completed') => ({
  id: `msg_1_${index}`,
  type: 'message',
  status,
  role: 'assistant',
  content,
});
const thought = (index: number, text: string, more: Fields = {}) => ({
  id: `rs_1_${index}`,
  type: 'reasoning',
  status: 'completed',
  summary: text === '' ? [] : [{ type: 'summary_text', text }],
  ...more,
});
const called = (index: number, id: string, name: string, json: string, more: Fields = {}) => ({
  id: `fc_1_${index}`,
  type: 'function_call',
  status: 'completed',
  call_id: id,
  name,
  arguments: json,
  ...more,
});
const patched = (index: number, id: string, input: string, more: Fields = {}) => ({
  id: `ctc_1_${index}`,
  type: 'custom_tool_call',
  status: 'completed',
  call_id: id,
  name: 'patch',
  input,
  ...more,
});

const HI = [item(0, [outputText('Hi')])];
const THINKING = { type: 'thinking', thinking: 'Hm.', signature: 'sig' };
const REDACTED = { type: 'redacted_thinking', data: 'x' };
const CITATION = { start_index: 0, end_index: 2, url: 'https://a.test', title: 'A' };
const LOGPROBS = [{ token: 'Hi', logprob: -0.1, bytes: [72, 105], top_logprobs: [] }];

const OUTPUTS: readonly (readonly [what: string, host: Host, answer: Fields, output: readonly Fields[]])[] = [
  ['a text', 'chat', completion({ content: 'Hi', refusal: null, annotations: [] }), HI],
  ['nothing', 'chat', completion({ content: null }), []],
  [
    'thinking in parts',
    'chat',
    completion({
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
        { type: 'text', text: 'Hi' },
      ],
    }),
    [thought(0, 'Hm.'), item(1, [outputText('Hi')])],
  ],
  [
    'thinking, for the host to read again',
    'messages',
    answer([THINKING, REDACTED, { ...THINKING, thinking: 'So.' }, { type: 'text', text: 'Hi' }]),
    [
      thought(0, 'Hm.', { encrypted_content: encryptedContent(THINKING) }),
      thought(1, '', { encrypted_content: encryptedContent(REDACTED) }),
      thought(2, 'So.', { encrypted_content: encryptedContent({ ...THINKING, thinking: 'So.' }) }),
      item(3, [outputText('Hi')]),
    ],
  ],
  [
    'a refusal',
    'chat',
    completion({ content: null, refusal: 'No.' }),
    [item(0, [{ type: 'refusal', refusal: 'No.' }])],
  ],
  [
    'a text and a refusal',
    'chat',
    completion({ content: 'Hi', refusal: 'No.' }),
    [item(0, [outputText('Hi'), { type: 'refusal', refusal: 'No.' }])],
  ],
  [
    'an explanation of a refusal',
    'messages',
    answer([], 'refusal', { stop_details: { type: 'refusal', explanation: 'No.' } }),
    [item(0, [{ type: 'refusal', refusal: 'No.' }], 'incomplete')],
  ],
  [
    'citations',
    'chat',
    completion({ content: 'Hi', annotations: [{ type: 'url_citation', url_citation: CITATION }] }),
    [item(0, [outputText('Hi', { annotations: [{ type: 'url_citation', ...CITATION }] })])],
  ],
  [
    'logprobs',
    'chat',
    { choices: [{ message: { content: 'Hi' }, logprobs: { content: LOGPROBS }, finish_reason: 'stop' }] },
    [item(0, [outputText('Hi', { logprobs: LOGPROBS })])],
  ],
  [
    'calls of every kind, after a text',
    'chat',
    completion(
      {
        content: 'Hi',
        tool_calls: [
          toolCall('c1', 'look', '{"a": 1}'),
          toolCall('c2', 'patch', '{"input":"a \\"b\\"\\n"}'),
          toolCall('c3', 'agents__spawn', '{}'),
          toolCall('c4', 'unknown', '{}'),
        ],
      },
      'tool_calls',
    ),
    [
      ...HI,
      called(1, 'c1', 'look', '{"a": 1}'),
      patched(2, 'c2', 'a "b"\n'),
      called(3, 'c3', 'spawn', '{}', { namespace: 'agents' }),
      called(4, 'c4', 'unknown', '{}'),
    ],
  ],
  [
    'calls without ids, or with the same, and indices that say nothing',
    'chat',
    completion({
      tool_calls: [
        toolCall('', 'look', '{"a":1}', { index: 0 }),
        toolCall('c', 'look', '{"a":2}', { index: 0 }),
        toolCall('c', 'look', '{"a":3}', { index: 0 }),
      ],
    }),
    [
      called(0, 'call_1_0', 'look', '{"a":1}'),
      called(1, 'c', 'look', '{"a":2}'),
      called(2, 'call_1_2', 'look', '{"a":3}'),
    ],
  ],
  [
    'a list of calls, and the deprecated call beside it',
    'chat',
    completion({
      function_call: { name: 'look', arguments: '{}' },
      tool_calls: [toolCall('c1', 'look', '{"a":1}'), toolCall('c2', 'look', '{"a":2}')],
    }),
    [called(0, 'c1', 'look', '{"a":1}'), called(1, 'c2', 'look', '{"a":2}')],
  ],
  ['no choices', 'chat', { choices: [] }, []],
];

describe('what becomes of answers', () => {
  for (const [what, host, given, output] of OUTPUTS) {
    test(`${what}: ${host}`, () => {
      const response = responseTo(host, { tools: TOOLS }).answer(given, CONTEXT);
      assert.deepEqual(response.output, output);
      assert.equal(RESPONSES.readAnswer(response).choices, 1);
    });
  }
});

describe('how answers end', () => {
  for (const [reason, incomplete] of [
    ['stop', undefined],
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ] as const) {
    test(reason, () => {
      const given = completion({ content: 'Hi', tool_calls: [toolCall('c', 'look', '{}')] }, reason);
      const response = responseTo('chat').answer(given, CONTEXT);
      const status = incomplete === undefined ? 'completed' : 'incomplete';
      assert.equal(response.status, status);
      assert.deepEqual(response.incomplete_details, incomplete === undefined ? null : { reason: incomplete });
      // What comes before the last item is whole.
      assert.deepEqual(
        (response.output as Fields[]).map((each) => each.status),
        ['completed', status],
      );
    });
  }
});

const usage = (input: number, cached: number, written: number, output: number, reasoning: number) => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: input + output,
});

const USAGES: readonly (readonly [what: string, given: unknown, read: Fields | null])[] = [
  ['none', undefined, null],
  [
    'everything',
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 3 },
    },
    usage(10, 4, 2, 5, 3),
  ],
  ['reasoning beside the output', { prompt_tokens: 10, completion_tokens: 5, total_tokens: 18 }, usage(10, 0, 0, 8, 0)],
];

describe('what answers have used', () => {
  for (const [what, given, read] of USAGES) {
    test(what, () => {
      const body = completion({ content: 'Hi' }, 'stop', { usage: given });
      assert.deepEqual(responseTo('chat').answer(body, CONTEXT).usage, read);
    });
  }
});

test('a response says what the request was', () => {
  const said = {
    instructions: 'Be brief.',
    max_output_tokens: 9,
    metadata: { a: 'b' },
    parallel_tool_calls: false,
    prompt_cache_key: 'k',
    reasoning: { effort: 'low' },
    temperature: 0.5,
    text: { verbosity: 'low' },
    tool_choice: 'required',
    tools: TOOLS,
    top_p: 0.5,
    user: 'u',
  };
  const { output: _, ...response } = responseTo('chat', said).answer(completion({ content: 'Hi' }), CONTEXT);
  assert.deepEqual(response, {
    id: 'resp_1',
    object: 'response',
    created_at: CONTEXT.nowS,
    status: 'completed',
    background: false,
    error: null,
    incomplete_details: null,
    max_tool_calls: null,
    model: MODEL,
    previous_response_id: null,
    safety_identifier: null,
    service_tier: null,
    store: false,
    top_logprobs: 0,
    truncation: 'disabled',
    usage: null,
    ...said,
  });
});

test('the service tier is the one that the host has served', () => {
  const body = { service_tier: 'auto' };
  const tierOf = (host: Host, given: Fields) => responseTo(host, body).answer(given, CONTEXT).service_tier;
  assert.equal(tierOf('chat', completion({}, 'stop', { service_tier: 'flex' })), 'flex');
  assert.equal(tierOf('chat', completion({})), 'auto');
  assert.equal(tierOf('messages', answer([], 'end_turn', { usage: { service_tier: 'priority' } })), 'priority');
});
