/** The mock provider in the responses dialect: its shapes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerTo, functionTool, type Json, streamOf } from './mock-script.ts';

const TOOLS = [functionTool('responses', 'look_up')];
const CUSTOM = { type: 'custom', name: 'patch' };
const GROUP = { type: 'namespace', name: 'agents', description: '', tools: [functionTool('responses', 'spawn')] };

const outputOf = (prompt: string, fields: Json = {}) => answerTo('responses', prompt, fields).output;
const text = (value: string) => ({ type: 'output_text', annotations: [], logprobs: [], text: value });

test('a whole answer has the fields of the format, and repeats the settings', () => {
  const settings = {
    instructions: 'Be brief.',
    max_output_tokens: 50,
    tools: TOOLS,
    tool_choice: 'auto',
    temperature: 0.5,
  };
  const { usage, ...answer } = answerTo('responses', '/think 2 /words 2', {
    ...settings,
    reasoning: { effort: 'low' },
  });
  assert.deepEqual(answer, {
    id: 'answer-1',
    object: 'response',
    created_at: 1_700_000_000,
    status: 'completed',
    background: false,
    error: null,
    incomplete_details: null,
    max_tool_calls: null,
    metadata: {},
    model: 'mock/echo',
    output: [
      { id: 'rs_answer-1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'thought thought' }] },
      {
        id: 'msg_answer-1',
        type: 'message',
        status: 'completed',
        content: [text('word word')],
        role: 'assistant',
      },
    ],
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: 'low', summary: null },
    store: false,
    text: { format: { type: 'text' } },
    top_p: 1,
    truncation: 'disabled',
    user: null,
    ...settings,
  });
  const { input_tokens: input, total_tokens: total, ...others } = usage as Json;
  assert.equal(total, (input as number) + 4);
  assert.deepEqual(others, {
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 4,
    output_tokens_details: { reasoning_tokens: 2 },
  });
});

test('its usage shows the cache, within the input', () => {
  const plain = answerTo('responses', '/cache 0 /cache-write 0').usage as Json;
  const cached = answerTo('responses', '/cache 3 /cache-write 2').usage as Json;
  assert.equal(cached.input_tokens, plain.input_tokens);
  assert.deepEqual(cached.input_tokens_details, { cached_tokens: 3, cache_write_tokens: 2 });
  assert.equal(answerTo('responses', '/no-usage').usage, null);
});

test('it calls tools of every kind, but none that only hosts call', () => {
  const call = { id: 'fc_answer-1', type: 'function_call', arguments: '{}', call_id: 'call_answer-1', name: 'look_up' };
  assert.deepEqual(outputOf('/tool', { tools: [{ type: 'web_search' }, ...TOOLS] }), [
    { ...call, status: 'completed' },
  ]);
  assert.deepEqual(outputOf('/call patch {"input": "a\\nb"}', { tools: [...TOOLS, CUSTOM] }), [
    {
      id: 'ctc_answer-1',
      type: 'custom_tool_call',
      input: 'a\nb',
      call_id: 'call_answer-1',
      name: 'patch',
      status: 'completed',
    },
  ]);
  assert.deepEqual(outputOf('/call spawn {}', { tools: [GROUP] }), [
    { ...call, name: 'spawn', namespace: 'agents', status: 'completed' },
  ]);
});

test('/call answers with text once it has the result', () => {
  const typeOf = (...input: Json[]) => (outputOf('', { input, tools: [...TOOLS, CUSTOM] }) as Json[])[0]?.type;
  const prompt = { role: 'user', content: [{ type: 'input_text', text: '/call look_up {"n": 1}' }] };
  const call = { type: 'function_call', call_id: 'call_1', name: 'look_up', arguments: '{"n": 1}' };
  const result = { type: 'function_call_output', call_id: 'call_1', output: 'done' };
  assert.equal(typeOf({ role: 'developer', content: '/tool' }, prompt), 'function_call');
  assert.equal(typeOf(prompt, { type: 'reasoning', id: 'rs_1', summary: [] }, call), 'function_call');
  assert.equal(typeOf(prompt, call, result), 'message');
  assert.equal(typeOf(prompt, call, { ...result, type: 'custom_tool_call_output' }), 'message');
  assert.equal(typeOf(prompt, call, result, { type: 'message', ...prompt }), 'function_call');
});

test('reasoning is encrypted if the request asks for it', () => {
  const [item] = outputOf('/think 1', { include: ['reasoning.encrypted_content'] }) as Json[];
  assert.equal(item?.encrypted_content, Buffer.from('thought').toString('base64'));
});

test('an answer at the maximum is incomplete', () => {
  const answer = answerTo('responses', '/think 1 /words 9', { max_output_tokens: 3 });
  const [reasoning, message] = answer.output as Json[];
  assert.deepEqual([answer.status, answer.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }]);
  assert.deepEqual([reasoning?.status, message?.status], [undefined, 'incomplete']);
});

describe('a stream', () => {
  const typesOf = (prompt: string, fields: Json = {}) =>
    streamOf('responses', prompt, fields).map(({ data }) => String(data.type).slice('response.'.length));

  test('numbers its events, and names each by its type', () => {
    for (const [position, { name, data }] of streamOf('responses', '/think 2 /words 2').entries()) {
      assert.deepEqual([data.type, data.sequence_number], [name, position]);
    }
  });

  test('opens and closes every item, in order', () => {
    assert.deepEqual(typesOf('/think 2 /words 1'), [
      'created',
      'in_progress',
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
    const call = (kind: string) => ['created', 'in_progress', 'output_item.added', `${kind}.delta`, `${kind}.done`];
    const end = ['output_item.done', 'completed'];
    assert.deepEqual(typesOf('/tool', { tools: TOOLS }), [...call('function_call_arguments'), ...end]);
    assert.deepEqual(typesOf('/tool', { tools: [CUSTOM] }), [...call('custom_tool_call_input'), ...end]);
    assert.equal(typesOf('/words 9', { max_output_tokens: 2 }).at(-1), 'incomplete');
  });

  test('has every field in the events of an item', () => {
    const events = streamOf('responses', '/think 1 /words 1').map(({ data: { sequence_number: _, ...data } }) => data);
    const place = { output_index: 1, item_id: 'msg_answer-1', content_index: 0 };
    const item = {
      id: 'msg_answer-1',
      type: 'message',
      status: 'completed',
      content: [text('word')],
      role: 'assistant',
    };
    assert.deepEqual(events.slice(8, -1), [
      { type: 'response.output_item.added', output_index: 1, item: { ...item, status: 'in_progress', content: [] } },
      { type: 'response.content_part.added', ...place, part: text('') },
      { type: 'response.output_text.delta', ...place, delta: 'word', logprobs: [] },
      { type: 'response.output_text.done', ...place, text: 'word', logprobs: [] },
      { type: 'response.content_part.done', ...place, part: text('word') },
      { type: 'response.output_item.done', output_index: 1, item },
    ]);
    assert.deepEqual(events[4], {
      type: 'response.reasoning_summary_text.delta',
      output_index: 0,
      item_id: 'rs_answer-1',
      summary_index: 0,
      delta: 'thought',
    });
  });

  test('fails with the failed response, and what was complete of it', () => {
    const { name, data } = streamOf('responses', '/think 1 /words 9 /fail 2').at(-1) ?? { name: '', data: {} };
    const { status, error, output, usage } = data.response as Json;
    assert.equal(name, 'response.failed');
    const message = 'The mock provider failed mid-stream, as the prompt asked.';
    assert.deepEqual([status, error, usage], ['failed', { code: 'server_error', message }, null]);
    assert.deepEqual(
      (output as Json[]).map(({ type }) => type),
      ['reasoning'],
    );
  });
});
