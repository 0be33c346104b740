/** Other names of models: what a request by one reaches, who may use one, and where both names are shown. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { readPriceText } from '../../src/core/charged-price.ts';
import type { Script } from '../support/fake-upstream.ts';
import { startTestGateway, type TestKey } from '../support/gateway.ts';

const price = { input: 1, output: 2 };
const gateway = await startTestGateway({
  provider: {
    dialects: ['messages'],
    refuse_headers: ['anthropic-beta: refused-*'],
    models: {
      'claude-opus-5': {
        upstream: 'vendor-opus',
        ...price,
        context_window: 1_000_000,
        fallback: ['fake/claude-haiku-5'],
      },
      'claude-opus-5[2m]': { upstream: 'vendor-opus-long', ...price },
      'claude-haiku-5': { ...price, context_window: 200_000 },
      'claude-sonnet-5': { ...price, above: { tokens: 200_000, input: 2, output: 4 } },
      'claude-strict': price,
    },
  },
  config: {
    aliases: { 'claude-*': 'fake/claude-*', fast: 'fake/claude-haiku-5', 'old-*': 'fake/claude-haiku-5' },
  },
});
after(() => gateway.stop());

const answering: Script = (call) =>
  call.answer(200, call.path.endsWith('count_tokens') ? { input_tokens: 3 } : MESSAGE);
const MESSAGE = { content: [], stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 } };

function ask(key: TestKey, model: string, headers: Record<string, string> = {}, path = '/v1/messages') {
  return gateway.post(
    path,
    key,
    { model, max_tokens: 10, messages: [{ role: 'user', content: 'Hello!' }] },
    { headers },
  );
}

const BETA = 'context-1m-2025-08-07';
const SENT: readonly (readonly [name: string, model: string, upstream: string, beta: string | undefined])[] = [
  ['fake/claude-opus-5', 'fake/claude-opus-5', 'vendor-opus', undefined],
  ['claude-opus-5', 'fake/claude-opus-5', 'vendor-opus', undefined],
  ['fast', 'fake/claude-haiku-5', 'claude-haiku-5', undefined],
  ['old-thing', 'fake/claude-haiku-5', 'claude-haiku-5', undefined],
  ['claude-opus-5[1m]', 'fake/claude-opus-5', 'vendor-opus', BETA],
  ['fake/claude-opus-5[1m]', 'fake/claude-opus-5', 'vendor-opus', BETA],
  ['claude-sonnet-5[1m]', 'fake/claude-sonnet-5', 'claude-sonnet-5', BETA],
  ['claude-haiku-5[1m]', 'fake/claude-haiku-5', 'claude-haiku-5', undefined],
  ['claude-strict[1m]', 'fake/claude-strict', 'claude-strict', undefined],
  ['claude-opus-5[2m]', 'fake/claude-opus-5[2m]', 'vendor-opus-long', undefined],
];

describe('a request', () => {
  for (const [name, model, upstream, beta] of SENT) {
    test(`for ${name} reaches ${upstream}${beta === undefined ? '' : ' with the header of a long context'}, and is charged as ${model}`, async () => {
      gateway.upstream.follow(answering);
      const key = gateway.key({ allowlist: [model] });
      assert.equal((await ask(key, name)).status, 200);
      const call = await gateway.upstream.call();
      assert.deepEqual([JSON.parse(call.body).model, call.header('anthropic-beta')], [upstream, beta]);
      const row = await gateway.row(key);
      assert.equal(row.model, model);
      assert.equal(readPriceText(String(row.price))?.alias, name === model ? undefined : name);
      const counted = await ask(key, name, {}, '/v1/messages/count_tokens');
      assert.deepEqual(JSON.parse(counted.text), { input_tokens: 3 });
      assert.equal((await gateway.upstream.call(2)).header('anthropic-beta'), beta);
    });
  }

  test('adds the long context to the betas of the client', async () => {
    gateway.upstream.follow(answering);
    const key = gateway.key();
    for (const [i, betas] of ['a-1', `a-1,${BETA}`].entries()) {
      assert.equal((await ask(key, 'claude-opus-5[1m]', { 'anthropic-beta': betas })).status, 200);
      assert.equal((await gateway.upstream.call(i + 1)).header('anthropic-beta'), `a-1,${BETA}`);
    }
  });

  test('may ask for a long context by the header alone, and goes to no fallback that has none', async () => {
    gateway.upstream.follow((call) => call.answer(529, {}));
    for (const model of ['fake/claude-opus-5', 'fake/claude-sonnet-5']) {
      assert.equal((await ask(gateway.key(), model, { 'anthropic-beta': BETA })).status, 502);
    }
    const models = gateway.upstream.calls.map(({ body }) => JSON.parse(body).model);
    assert.deepEqual(new Set(models), new Set(['vendor-opus', 'claude-sonnet-5']));
  });

  test('that asks so for one that has no price is refused, with what to set, and nothing is sent', async () => {
    gateway.upstream.follow(answering);
    for (const model of ['fake/claude-strict', 'fake/claude-haiku-5', 'fake/claude-opus-5[2m]']) {
      for (const beta of [BETA, `a-1,\tContext-1M-2030-12-31`]) {
        for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
          const reply = await ask(gateway.key(), model, { 'anthropic-beta': beta }, path);
          assert.deepEqual([reply.status, reply.error.code], [400, 'invalid_request']);
          assert.match(reply.error.message, /^anthropic-beta: context-1m-.*leave it out.*`above`.*`context_window`/i);
        }
      }
    }
    assert.equal(gateway.upstream.calls.length, 0);
  });

  test('for a long context goes to no fallback that has none', async () => {
    gateway.upstream.follow((call) => call.answer(529, {}));
    assert.equal((await ask(gateway.key(), 'claude-opus-5[1m]')).status, 502);
    const models = gateway.upstream.calls.map(({ body }) => JSON.parse(body).model);
    assert.deepEqual(new Set(models), new Set(['vendor-opus']));
  });

  test('is judged by the model that its name stands for', async () => {
    const other = gateway.key({ allowlist: ['fake/claude-opus-5', 'fast'] });
    const reply = await ask(other, 'fast');
    assert.deepEqual([reply.status, reply.error.code], [403, 'model_not_allowed']);
    assert.match(reply.error.message, /"fake\/claude-haiku-5"/);
  });

  test('is explained with both names', async () => {
    const body = JSON.stringify({ model: 'fast', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] });
    const { status, steps } = await gateway.explain(gateway.key(), body, '/v1/messages');
    assert.equal(status, 200);
    const step = steps.find((each) => each.step === 'model');
    assert.deepEqual(
      [step?.message, step?.model, step?.alias],
      ['fast is an alias of fake/claude-haiku-5', 'fake/claude-haiku-5', 'fast'],
    );
  });

  test('for a name that stands for nothing names those like it that the key may call', async () => {
    const some = gateway.key({ allowlist: ['fake/claude-opus-5', 'fake/claude-strict'] });
    for (const send of [
      () => ask(some, 'claude-opus-4-8[1m]'),
      () => gateway.request('/v1/models/claude-opus-4-8', { key: some }),
    ]) {
      const reply = await send();
      assert.equal(reply.status, 404);
      assert.match(reply.error.message, /Names like it: fake\/claude-opus-5\. GET/);
    }
  });

  test('in another dialect has no mark of a long context', async () => {
    const reply = await gateway.post('/v1/chat/completions', gateway.key(), {
      model: 'claude-opus-5[1m]',
      messages: [{ role: 'user', content: 'x' }],
    });
    assert.equal(reply.status, 404);
  });
});

describe('a listing', () => {
  const namesIn = (text: string) =>
    JSON.parse(text).data.map(({ id, alias_of: of }: { id: string; alias_of?: string }) => [id, of]);

  test('has the aliases of what the key may call, and what they stand for', async () => {
    const key = gateway.key({ allowlist: ['fake/claude-haiku-5'] });
    for (const headers of [{}, { 'anthropic-version': '2023-06-01' }]) {
      assert.deepEqual(namesIn((await gateway.request('/v1/models', { key, headers })).text), [
        ['fake/claude-haiku-5', undefined],
        ['fast', 'fake/claude-haiku-5'],
        ['claude-haiku-5', 'fake/claude-haiku-5'],
      ]);
    }
    assert.equal((await gateway.request('/v1/models/fast', { key })).status, 200);
    const ofPattern = JSON.parse((await gateway.request('/v1/models/old-thing', { key })).text);
    assert.deepEqual([ofPattern.id, ofPattern.alias_of], ['old-thing', 'fake/claude-haiku-5'], 'though not listed');
    assert.equal((await gateway.request('/v1/models/claude-opus-5', { key })).status, 404);
  });
});
