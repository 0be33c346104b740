/** Messages that a host would charge for otherwise, or that reach what it keeps for all keys: they are not sent. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startTestGateway, type TestKey } from '../support/gateway.ts';

const PRICES = { input: 1, output: 5, cache_write: 1.25, cache_write_1h: 2 };
const gateway = await startTestGateway({ provider: { kind: 'anthropic', models: { claude: PRICES } } });
after(() => gateway.stop());

const BODY = { model: 'fake/claude', max_tokens: 100, messages: [{ role: 'user', content: 'Hello!' }] };

function post(key: TestKey, fields: object) {
  return gateway.post('/v1/messages', key, { ...BODY, ...fields });
}

describe('a message is refused that', () => {
  for (const [what, fields, problem] of [
    ['continues a thread of the host', { thread: { type: 'create' } }, /^thread: /],
    ['asks for a faster mode', { speed: 'fast' }, /^speed: /],
    ['asks for the same in other letters', { Speed: 'fast' }, /^Speed: /],
    ['asks for a place', { inference_geo: 'us' }, /^inference_geo: /],
    ['names other models', { fallbacks: [{ model: 'claude-opus' }] }, /^fallbacks: /],
    ['names a message of the host', { diagnostics: { previous_message_id: 'msg_0' } }, /^diagnostics/],
    ['names a container', { container: 'container_1' }, /^container: /],
    [
      'names a file of the host',
      { messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'file_1' } }] }] },
      /^messages\[0\]\.content\[0\]\.source\.file_id: it names/,
    ],
    ['has two maxima', { max_completion_tokens: 5 }, /^max_completion_tokens: /],
  ] as const) {
    test(what, async () => {
      const reply = await post(gateway.key(), fields);
      assert.deepEqual([reply.status, reply.error.code], [400, 'invalid_request']);
      assert.match(reply.error.message, problem);
    });
  }

  test('continues a thread, in words that its client can act on', async () => {
    const { error } = JSON.parse((await post(gateway.key(), { thread: { type: 'create' } })).text);
    assert.deepEqual(error.details, { error_code: 'thread_unsupported_request', unsupported: ['thread'] });
  });

  test('does not ask for anything unusual is sent', async () => {
    gateway.upstream.follow((call) =>
      call.answer(200, { content: [], stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 } }),
    );
    const reply = await post(gateway.key(), { speed: 'standard', inference_geo: 'global', thread: null });
    assert.equal(reply.status, 200);
  });
});
