/** Headers that a provider refuses, since they change a price and the body does not say so: they reach no host of it. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { providerOf, refusing, type StageOptions, withStage } from '../failover/stage.ts';
import { completion } from '../support/answers.ts';
import type { FakeUpstream, Script } from '../support/fake-upstream.ts';
import { startTestGateway, type TestKey } from '../support/gateway.ts';

const gateway = await startTestGateway({
  provider: {
    dialects: ['messages', 'responses'],
    refuse_headers: ['anthropic-beta: priced-2026-01-01', 'Anthropic-Beta: Fast-*', 'openai-beta'],
    models: { model: { input: 1, output: 1 } },
  },
});
/** One whose host speaks chat alone, and gets no headers of messages; it refuses them all the same. */
const chatOnly = await startTestGateway({
  provider: { dialects: ['chat'], refuse_headers: ['anthropic-beta'], models: { model: { input: 1, output: 1 } } },
});
after(() => Promise.all([gateway.stop(), chatOnly.stop()]));

const message = { content: [], stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 } };
const response = { id: 'r', status: 'completed', output: [], usage: { input_tokens: 1, output_tokens: 1 } };
const answering: Script = (call) => call.answer(200, call.path.endsWith('/responses') ? response : message);

const BODY = { model: 'fake/model', max_tokens: 10, messages: [{ role: 'user', content: 'Hello!' }] };

function post(key: TestKey, headers: Record<string, string>, fields: object = {}, path = '/v1/messages') {
  return gateway.post(path, key, { ...BODY, ...fields }, { headers });
}

describe('a request is refused, and nothing is sent, with', () => {
  const REFUSED: readonly (readonly [what: string, headers: Record<string, string>, message: RegExp])[] = [
    ['a value that is refused', { 'anthropic-beta': 'priced-2026-01-01' }, /^anthropic-beta: .*priced-2026-01-01/],
    ['the same in other letters', { 'Anthropic-BETA': 'Priced-2026-01-01' }, /^anthropic-beta: .*Priced-2026-01-01/],
    ['one of several', { 'anthropic-beta': 'other-1,\tpriced-2026-01-01 , x' }, /^anthropic-beta: .*priced-2026-01-01/],
    ['one that begins so', { 'anthropic-beta': 'a,fast-mode-2030-12-31' }, /^anthropic-beta: .*fast-mode-2030-12-31/],
  ];
  for (const [what, headers, message] of REFUSED) {
    test(what, async () => {
      gateway.upstream.follow(answering);
      for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
        const reply = await post(gateway.key(), headers, {}, path);
        assert.deepEqual([reply.status, reply.error.code], [400, 'invalid_request']);
        assert.match(reply.error.message, message);
      }
      assert.equal(gateway.upstream.calls.length, 0);
    });
  }

  test('a header that is refused whatever it says', async () => {
    gateway.upstream.follow(answering);
    for (const value of ['anything', '']) {
      const fields = { input: 'Hello!', messages: undefined, max_tokens: undefined };
      const reply = await post(gateway.key(), { 'openai-beta': value }, fields, '/v1/responses');
      assert.match(reply.error.message, /^openai-beta: requests to this provider may not have this header$/);
    }
    assert.equal(gateway.upstream.calls.length, 0);
  });
});

describe('betas in a body', () => {
  test('are refused as in the header, and name the field', async () => {
    gateway.upstream.follow(answering);
    for (const betas of [['other-1', 'Fast-mode-2030-12-31'], 'other-1, fast-mode-2030-12-31']) {
      const reply = await post(gateway.key(), {}, { anthropic_beta: betas });
      assert.deepEqual([reply.status, reply.error.code], [400, 'invalid_request']);
      assert.match(reply.error.message, /^anthropic_beta: .*may not have fast-mode-2030-12-31 in this field$/i);
    }
    assert.equal(gateway.upstream.calls.length, 0);
  });

  test('reach the host as they are where no price is concerned', async () => {
    gateway.upstream.follow(answering);
    assert.equal((await post(gateway.key(), {}, { anthropic_beta: ['other-1'] })).status, 200);
    assert.deepEqual(JSON.parse((await gateway.upstream.call()).body).anthropic_beta, ['other-1']);
  });

  test('have to be texts', async () => {
    for (const betas of [5, [['a']], { a: 'b' }]) {
      const reply = await post(gateway.key(), {}, { anthropic_beta: betas });
      assert.match(reply.error.message, /^anthropic_beta: expected a string, or an array of strings$/);
    }
    assert.equal((await post(gateway.key(), {}, { anthropic_beta: null })).status, 200);
  });
});

describe('a request is sent with', () => {
  for (const [what, headers] of [
    ['no such header', {}],
    ['other values', { 'anthropic-beta': 'priced-2026-01-02,fas,xpriced-2026-01-01,priced-2026-01-01x' }],
    ['a header of another dialect, which does not reach its host', { 'openai-beta': 'anything' }],
  ] as const) {
    test(what, async () => {
      gateway.upstream.follow(answering);
      assert.equal((await post(gateway.key(), headers)).status, 200);
      const call = await gateway.upstream.call();
      assert.equal(call.header('anthropic-beta'), 'anthropic-beta' in headers ? headers['anthropic-beta'] : undefined);
    });
  }

  test('a header that is refused, if it is translated and the header does not reach the host', async () => {
    chatOnly.upstream.follow((call) => call.answer(200, completion('hi')));
    const sending = { key: chatOnly.key(), method: 'POST', headers: { 'anthropic-beta': 'x' } };
    const reply = await chatOnly.request('/v1/messages', { ...sending, body: JSON.stringify(BODY) });
    assert.equal(reply.status, 200);
    assert.equal((await chatOnly.upstream.call()).header('anthropic-beta'), undefined);
  });

  test('betas in a body, if it is translated: they are left out, and named', async () => {
    chatOnly.upstream.follow((call) => call.answer(200, completion('hi')));
    const reply = await chatOnly.post('/v1/messages', chatOnly.key(), { ...BODY, anthropic_beta: ['x'] });
    assert.deepEqual([reply.status, reply.headers.get('x-inf-gw-ignored')], [200, 'anthropic_beta']);
    assert.equal(JSON.parse((await chatOnly.upstream.call()).body).anthropic_beta, undefined);
  });
});

test('other refusals come in their order: of the model and the allowlist before, of money after', async () => {
  gateway.upstream.follow(answering);
  const headers = { 'anthropic-beta': 'fast-1' };
  const [ordinary, poor, kept] = [{}, { spendLimitNanos: 0n }, { allowlist: ['fake/other'] }].map((settings) =>
    gateway.key(settings),
  );
  assert.ok(ordinary && poor && kept);
  assert.equal((await post(ordinary, headers, { model: 'fake/none' })).status, 404);
  assert.equal((await post(kept, headers)).status, 403);
  assert.equal((await post(poor, headers)).status, 400);
  assert.equal((await post(poor, {})).status, 402);
});

test('a fallback model does not serve what its own provider refuses', () => {
  const model = { input: 1, output: 1 };
  const providers: StageOptions['providers'] = ([first, second]) => ({
    open: {
      ...providerOf([first as FakeUpstream], { dialects: ['messages'] }),
      models: { m: { ...model, fallback: ['strict/m'] } },
    },
    strict: {
      ...providerOf([second as FakeUpstream], { dialects: ['messages'], refuse_headers: ['anthropic-beta'] }),
      models: { m: model },
    },
  });
  return withStage(2, { providers }, async (stage) => {
    stage.follow(refusing(503), (call) => call.answer(200, message));
    const ask = (headers: Record<string, string>) =>
      stage.gateway.post('/v1/messages', stage.key(), { ...BODY, model: 'open/m' }, { headers });
    assert.deepEqual([(await ask({ 'anthropic-beta': 'x' })).status, stage.asked], [502, [1, 0]]);
    assert.deepEqual([(await ask({})).status, stage.asked], [200, [2, 1]]);
  });
});
