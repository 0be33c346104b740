/** How answers of hosts of both dialects end, what they have used, what responses repeat. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { MODEL } from './hosted.ts';
import { answer, completion, toolCall, use } from './responses-hosts.ts';
import { CONTEXT, type Host, responseTo, TOOLS } from './responses-support.ts';

const CUT = 'max_output_tokens';
const REASONS: readonly (readonly [host: Host, reason: string, incomplete: string | undefined])[] = [
  ['chat', 'stop', undefined],
  ['chat', 'tool_calls', undefined],
  ['chat', 'of_tomorrow', undefined],
  ['chat', 'length', CUT],
  ['chat', 'model_length', CUT],
  ['chat', 'insufficient_system_resource', CUT],
  ['chat', 'content_filter', 'content_filter'],
  ['messages', 'end_turn', undefined],
  ['messages', 'tool_use', undefined],
  ['messages', 'stop_sequence', undefined],
  ['messages', 'pause_turn', undefined],
  ['messages', 'max_tokens', CUT],
  ['messages', 'model_context_window_exceeded', CUT],
  ['messages', 'refusal', 'content_filter'],
];

describe('how answers end', () => {
  for (const [host, reason, incomplete] of REASONS) {
    test(`${host}: ${reason}`, () => {
      const given =
        host === 'chat'
          ? completion({ content: 'Hi', tool_calls: [toolCall('c', 'look', '{}')] }, reason)
          : answer([{ type: 'text', text: 'Hi' }, use('c', 'look', {})], reason);
      const response = responseTo(host).answer(given, CONTEXT);
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

const USAGES: readonly (readonly [what: string, host: Host, given: unknown, read: Fields | null])[] = [
  ['none', 'chat', undefined, null],
  ['none', 'messages', undefined, null],
  ['one that is impossible', 'chat', { prompt_tokens: -1, completion_tokens: 2 }, null],
  ['the least', 'chat', { prompt_tokens: 10, completion_tokens: 5 }, usage(10, 0, 0, 5, 0)],
  [
    'everything',
    'chat',
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 3 },
    },
    usage(10, 4, 2, 5, 3),
  ],
  [
    'reasoning beside the output',
    'chat',
    { prompt_tokens: 10, completion_tokens: 5, total_tokens: 18 },
    usage(10, 0, 0, 8, 0),
  ],
  [
    'a cache beside the input',
    'messages',
    {
      input_tokens: 10,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 20,
      cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 15 },
      output_tokens: 7,
      output_tokens_details: { thinking_tokens: 3 },
    },
    usage(130, 100, 20, 7, 3),
  ],
];

describe('what answers have used', () => {
  for (const [what, host, given, read] of USAGES) {
    test(`${what}: ${host}`, () => {
      const body =
        host === 'chat'
          ? completion({ content: 'Hi' }, 'stop', { usage: given })
          : answer([], 'end_turn', { usage: given });
      assert.deepEqual(responseTo(host).answer(body, CONTEXT).usage, read);
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
