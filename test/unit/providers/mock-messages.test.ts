/** The mock provider in the messages dialect: its shapes, and the order of its events. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerTo, functionTool, type Json, play, streamOf } from './mock-script.ts';

const TOOLS = [functionTool('messages', 'look_up')];
const SIGNATURE = Buffer.from('reasoning of answer-1').toString('base64');

test('a whole answer has the fields of the format', () => {
  const { usage, ...answer } = answerTo('messages', '/think 2 /words 2');
  assert.deepEqual(answer, {
    id: 'answer-1',
    type: 'message',
    role: 'assistant',
    model: 'mock/echo',
    container: null,
    content: [
      { type: 'thinking', thinking: 'thought thought', signature: SIGNATURE },
      { type: 'text', text: 'word word', citations: null },
    ],
    stop_reason: 'end_turn',
    stop_sequence: null,
    stop_details: null,
  });
  const { input_tokens: input, ...others } = usage as Json;
  assert.ok((input as number) > 0);
  assert.deepEqual(others, {
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    server_tool_use: null,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    service_tier: 'standard',
    output_tokens: 4,
    output_tokens_details: { thinking_tokens: 2 },
  });
});

test('its input leaves out what the cache has', () => {
  const system = (ttl: string) => ({
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl } }],
  });
  const usage = (prompt: string, ttl: string) => answerTo('messages', prompt, system(ttl)).usage as Json;
  const plain = usage('/cache 0 /cache-write 0', '5m');
  const cached = usage('/cache 3 /cache-write 2', '5m');
  assert.equal(cached.input_tokens, (plain.input_tokens as number) - 5);
  assert.deepEqual([cached.cache_read_input_tokens, cached.cache_creation_input_tokens], [3, 2]);
  assert.deepEqual(cached.cache_creation, { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 0 });
  const forAnHour = usage('/cache 3 /cache-write 2', '1h').cache_creation;
  assert.deepEqual(forAnHour, { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 2 });
});

test('without figures it has an object for them all the same', () => {
  assert.deepEqual(answerTo('messages', '/no-usage').usage, {});
});

test('it calls tools, but none that only hosts call', () => {
  const search = { type: 'web_search_20250305', name: 'web_search' };
  const bash = { type: 'bash_20250124', name: 'bash' };
  const contentOf = (...tools: Json[]) => answerTo('messages', '/tool', { tools }).content as Json[];
  const call = { type: 'tool_use', id: 'toolu_answer-1', name: 'look_up', input: {}, caller: { type: 'direct' } };
  assert.deepEqual(contentOf(search, ...TOOLS), [call]);
  assert.deepEqual(contentOf(bash), [{ ...call, name: 'bash' }]);
  assert.match(String(contentOf(search)[0]?.text), /received 1 message, 1 tool\./);
  const [deep] = answerTo('messages', '/call look_up {"a": {"b": [1, null]}}', { tools: TOOLS }).content as Json[];
  assert.deepEqual(deep?.input, { a: { b: [1, null] } });
});

test('/call answers with text once it has the result', () => {
  const prompt = { role: 'user', content: [{ type: 'text', text: '/call look_up {"n": 1}' }] };
  const call = { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look_up', input: { n: 1 } }] };
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'done' };
  const results = (...texts: string[]) => ({
    role: 'user',
    content: [result, ...texts.map((text) => ({ type: 'text', text }))],
  });
  const ask = (...messages: Json[]) => answerTo('messages', '', { messages, tools: TOOLS });
  const stopReason = (...messages: Json[]) => ask(...messages).stop_reason;
  assert.equal(stopReason(prompt), 'tool_use');
  assert.equal(stopReason(prompt, call, results()), 'end_turn');
  assert.match(JSON.stringify(ask(prompt, call, results()).content), /You said: \/call look_up/);
  assert.equal(stopReason(prompt, call, results('<system-reminder>x</system-reminder>')), 'end_turn');
  assert.equal(stopReason(prompt, call, results('/call look_up {"n": 2}')), 'tool_use');
  assert.equal(stopReason(prompt, { role: 'system', content: 'Be brief.' }), 'tool_use');
});

describe('a stream', () => {
  test('has its events in order, each with its name', () => {
    const prompt = '/think 2 /call look_up {"a": 1}';
    const events = streamOf('messages', prompt, { tools: TOOLS });
    for (const { name, data } of events) assert.equal(name, data.type);
    const whole = answerTo('messages', prompt, { tools: TOOLS });
    const { output_tokens: output, output_tokens_details: details, ...input } = whole.usage as Json;
    const { cache_creation: _, service_tier: __, ...repeated } = input;
    const start = { ...whole, content: [], stop_reason: null, usage: { ...input, output_tokens: 1 } };
    const use = { type: 'tool_use', id: 'toolu_answer-1', name: 'look_up', input: {}, caller: { type: 'direct' } };
    const delta = (index: number, change: Json) => ({ type: 'content_block_delta', index, delta: change });
    assert.deepEqual(
      events.map(({ data }) => data),
      [
        { type: 'message_start', message: start },
        { type: 'ping' },
        { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
        delta(0, { type: 'thinking_delta', thinking: 'thought' }),
        delta(0, { type: 'thinking_delta', thinking: ' thought' }),
        delta(0, { type: 'signature_delta', signature: SIGNATURE }),
        { type: 'content_block_stop', index: 0 },
        { type: 'content_block_start', index: 1, content_block: use },
        delta(1, { type: 'input_json_delta', partial_json: '{"a":' }),
        delta(1, { type: 'input_json_delta', partial_json: ' 1}' }),
        { type: 'content_block_stop', index: 1 },
        {
          type: 'message_delta',
          delta: { stop_reason: 'tool_use', stop_sequence: null, stop_details: null, container: null },
          usage: { ...repeated, output_tokens: output, output_tokens_details: details },
        },
        { type: 'message_stop' },
      ],
    );
  });

  test('fails with an error event', () => {
    const last = streamOf('messages', '/words 9 /fail 1').at(-1);
    const message = 'The mock provider failed mid-stream, as the prompt asked.';
    const data = { type: 'error', error: { type: 'api_error', message }, request_id: 'req_answer-1' };
    assert.deepEqual(last, { name: 'error', data });
  });
});

test('an error has the type of its status', () => {
  const body = JSON.parse(play('messages', '/error 529').text);
  const message = 'The mock provider responded with status 529, as the prompt asked.';
  assert.deepEqual(body, { type: 'error', error: { type: 'overloaded_error', message }, request_id: 'req_answer-1' });
});
