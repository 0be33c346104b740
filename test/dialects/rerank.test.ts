/** `POST /v1/rerank` and `/v1/moderations`: what hosts get, what is held and charged, and what is refused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedGateway, startTestGateway, type TestKey } from '../support/gateway.ts';

/** A search costs 2,000,000 nanodollars, a token 1,000. */
const gateway = await sharedGateway({
  provider: {
    models: {
      searched: { upstream: 'rerank-v4', per: { search: 0.002 } },
      read: { input: 1, output: 0 },
      both: { input: 1, output: 0, per: { search: 0.002 } },
      unheard: { per: { search: 0 } },
      talker: { input: 1, output: 2 },
    },
  },
});

const BODY = { model: 'fake/searched', query: 'rain', documents: ['sun', { text: 'rain' }] };
const RESULTS = [
  { index: 1, relevance_score: 0.9 },
  { index: 0, relevance_score: 0.1 },
];

function post(key: TestKey, fields: object = {}, path = '/v1/rerank') {
  return gateway.post(path, key, { ...BODY, ...fields });
}

const cohere = (search_units: number) => ({ id: 'r1', results: RESULTS, meta: { billed_units: { search_units } } });
const jina = (total_tokens: number) => ({ model: 'jina', results: RESULTS, usage: { total_tokens } });

describe('a ranking', () => {
  test('reaches the host as it was written, but for its model, and its answer the client', async () => {
    const answer = `{ "results": [],\n "meta": {"billed_units": {"search_units": 1}}, "new": 1.50 }`;
    gateway.upstream.follow((call) => call.answer(200, answer));
    const body = `{"query":"a","model":"fake/searched", "documents":["b"],"new":{"a":1.0}}`;
    const reply = await gateway.post('/v1/rerank', gateway.key(), body);
    assert.equal(reply.text, answer);
    const call = await gateway.upstream.call();
    assert.deepEqual([call.path, call.body], ['/base/v1/rerank', body.replace('fake/searched', 'rerank-v4')]);
  });

  for (const [what, model, answer, nanos, price, source] of [
    ['searches, by report', 'searched', cohere(3), 6_000_000, '0/0/0 per_search=0.002 units=3', 'reported'],
    ['searches that nobody reports', 'searched', jina(70), 2_000_000, '0/0/0 per_search=0.002 units=1', 'reported'],
    ['searches of an answer without figures', 'searched', { results: RESULTS }, 2_000_000, undefined, 'counted'],
    ['a part of a search as a whole one', 'searched', cohere(0.5), 2_000_000, undefined, 'reported'],
    ['tokens, by report', 'read', jina(70), 70_000, '1/1/0', 'reported'],
    ['both', 'both', { ...cohere(2), usage: { total_tokens: 70 } }, 4_070_000, undefined, 'reported'],
  ] as const) {
    test(`is charged for ${what}`, async () => {
      const key = gateway.key();
      gateway.upstream.follow((call) => call.answer(200, answer));
      const reply = await post(key, { model: `fake/${model}` });
      assert.equal(reply.status, 200, reply.text);
      const row = await gateway.row(key);
      assert.deepEqual([row.cost_nanos, row.source], [nanos, source]);
      assert.equal(row.completion_tokens, 0);
      if (price !== undefined) assert.equal(row.price, price);
    });
  }

  test('is charged for its tokens as they are held where its host reports searches alone', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, cohere(1)));
    await post(key, { model: 'fake/both' });
    const { prompt_tokens, cost_nanos } = await gateway.row(key);
    assert.ok(prompt_tokens > 0);
    assert.equal(cost_nanos, 2_000_000 + 1_000 * prompt_tokens);
  });

  test('is held at the most searches that its documents can be', async () => {
    const key = gateway.key();
    let held = 0n;
    gateway.upstream.follow((call) => {
      held = gateway.heldNanos(key);
      call.answer(200, cohere(1));
    });
    // 201 short ones, and one that a host cuts in several.
    await post(key, { documents: [...Array(201).fill('short'), 'long '.repeat(2_000)] });
    assert.equal((await gateway.row(key)).cost_nanos, 2_000_000);
    assert.equal(held, 6_000_000n);
  });

  test('is refused without the credit for it, and nothing is sent', async () => {
    const poor = await startTestGateway({
      provider: { models: { searched: { per: { search: 0.002 } } } },
      credit: '0.0019',
    });
    try {
      const reply = await poor.post('/v1/rerank', poor.key(), BODY);
      assert.deepEqual([reply.status, reply.error.code], [402, 'insufficient_credit']);
      assert.equal(poor.upstream.calls.length, 0);
    } finally {
      await poor.stop();
    }
  });

  for (const [fields, problem] of [
    [{ query: undefined }, /^query: expected a string/],
    [{ documents: [] }, /^documents: expected a non-empty array/],
    [{ documents: ['a', 1] }, /^documents\[1\]: expected/],
    [{ documents: [{ image: 'https://a.example/b.png' }] }, /^documents\[0\]: expected/],
    [{ top_n: 0 }, /^top_n: expected a whole number/],
    [{ stream: true }, /^stream: rankings are not streamed/],
    [{ max_tokens: 1 }, /^max_tokens: a field of another format/],
    [{ Documents: ['a'] }, /^Documents: differs/],
  ] as const) {
    test(`is refused: ${JSON.stringify(fields)}`, async () => {
      const reply = await post(gateway.key(), fields);
      assert.equal(reply.status, 400);
      assert.match(reply.error.message, problem);
    });
  }
});

describe('a moderation', () => {
  const MODERATION = { model: 'fake/read', input: ['Hello!', 'You.'] };
  const answer = { id: 'modr-1', model: 'omni', results: [{ flagged: false }, { flagged: false }] };

  test('is sent to its host, and charged for its input alone', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, answer));
    const reply = await post(key, MODERATION, '/v1/moderations');
    assert.deepEqual(JSON.parse(reply.text), answer);
    assert.equal((await gateway.upstream.call()).path, '/base/v1/moderations');
    const row = await gateway.row(key);
    assert.deepEqual([row.cost_nanos, row.completion_tokens], [1_000 * row.prompt_tokens, 0]);
    assert.ok(row.prompt_tokens >= 3);
  });

  test('may hold pictures, which are held as such', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, answer));
    const url = { type: 'image_url', image_url: { url: 'https://a.example/b.png' } };
    await post(key, { ...MODERATION, input: [{ type: 'text', text: 'Hello!' }, url] }, '/v1/moderations');
    assert.ok((await gateway.row(key)).prompt_tokens > 40_000);
  });

  for (const [fields, problem] of [
    [{ input: undefined }, /^input: expected a string/],
    [{ input: ['a', { type: 'text', text: 'b' }] }, /^input: expected a string/],
    [{ stream: true }, /^stream: moderations are not streamed/],
  ] as const) {
    test(`is refused: ${JSON.stringify(fields)}`, async () => {
      const reply = await post(gateway.key(), { ...MODERATION, ...fields }, '/v1/moderations');
      assert.equal(reply.status, 400);
      assert.match(reply.error.message, problem);
    });
  }
});

describe('a model that is billed by units alone', () => {
  for (const [path, fields] of [
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
    ['/v1/responses', { input: 'Hi' }],
    ['/v1/embeddings', { input: 'Hi' }],
    ['/v1/moderations', { input: 'Hi' }],
  ] as const) {
    test(`is refused at ${path}, also where the unit costs nothing`, async () => {
      const reply = await gateway.post(path, gateway.key(), { model: 'fake/unheard', ...fields });
      assert.equal(reply.status, 400);
      assert.match(reply.error.message, /^model: this model has no price for \w+; have its input and output set/);
    });
  }

  test('is listed with what can reach it alone', async () => {
    const { text } = await gateway.request('/v1/models/fake/searched', { key: gateway.key() });
    const { dialects, prices } = JSON.parse(text);
    assert.deepEqual([dialects, prices], [['rerank'], { per_search_usd: '0.002000' }]);
    const { data } = JSON.parse(
      (await gateway.request('/v1/models', { key: gateway.key(), headers: { 'anthropic-version': '1' } })).text,
    );
    assert.deepEqual(
      data.map(({ id }: { id: string }) => id),
      ['fake/read', 'fake/both', 'fake/talker'],
    );
  });
});
