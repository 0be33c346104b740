/** The official client library reads translated answers, streams and errors. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { CONTEXT } from './hosted.ts';
import {
  callChunk,
  chunk,
  FIRST,
  finish,
  SECOND,
  START,
  streamOf,
  USAGE,
  USAGE_CHUNK,
} from './messages-chat-chunks.ts';
import { responseTo } from './messages-chat-support.ts';

function clientOf(body: string, type: string): Anthropic {
  const fetch = async () => new Response(body, { headers: { 'content-type': type } });
  return new Anthropic({ apiKey: 'none', maxRetries: 0, fetch });
}

const REQUEST = { model: 'host/model', max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hello' }] };

const CONTENT: readonly Fields[] = [
  { type: 'thinking', thinking: 'Hm.', signature: 'chat.reasoning_content' },
  { type: 'text', text: 'One moment.' },
  { type: 'tool_use', id: 'call_1', name: 'first', input: { a: { b: ['}'] } } },
  { type: 'tool_use', id: 'call_2', name: 'second', input: {} },
];
const MESSAGE_USAGE = {
  input_tokens: 40,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 60,
  output_tokens: 40,
};

/** What the library has read, without what it adds itself. */
function plain(message: object): Fields {
  return JSON.parse(JSON.stringify(message)) as Fields;
}

test('the stream helper of the library puts a translated stream together', async () => {
  const body = streamOf([
    START,
    chunk({ reasoning_content: 'Hm.' }),
    chunk({ content: 'One ' }),
    chunk({ content: 'moment.' }),
    callChunk(0, '{"a":{', FIRST),
    callChunk(1, '', SECOND),
    callChunk(0, '"b":["}"]}}'),
    finish('tool_calls'),
    USAGE_CHUNK,
  ]);
  const message = plain(await clientOf(body, 'text/event-stream').messages.stream(REQUEST).finalMessage());
  assert.deepEqual(message.content, CONTENT);
  assert.deepEqual([message.id, message.stop_reason, message.usage], ['msg_0123', 'tool_use', MESSAGE_USAGE]);
});

test('the library reads a translated answer', async () => {
  const calls = [
    { id: 'call_1', function: { name: 'first', arguments: '{"a":{"b":["}"]}}' } },
    { id: 'call_2', function: { name: 'second', arguments: '' } },
  ];
  const message = { reasoning_content: 'Hm.', content: 'One moment.', tool_calls: calls };
  const answer = { choices: [{ message, finish_reason: 'tool_calls' }], usage: USAGE };
  const body = JSON.stringify(responseTo().answer(answer, CONTEXT));
  const read = plain(await clientOf(body, 'application/json').messages.create(REQUEST));
  assert.deepEqual([read.content, read.stop_reason, read.usage], [CONTENT, 'tool_use', MESSAGE_USAGE]);
});

test('the library throws the error in a translated stream', async () => {
  const stream = responseTo().stream(CONTEXT);
  const body = stream.push(chunk({ content: 'Hi' })) + stream.failure({ code: 'upstream_error', message: 'Broken.' });
  const reading = clientOf(body, 'text/event-stream').messages.stream(REQUEST).finalMessage();
  await assert.rejects(reading, (error) => {
    assert.ok(error instanceof Anthropic.APIError);
    assert.equal(error.type, 'api_error');
    assert.match(error.message, /Broken\./);
    return true;
  });
});
