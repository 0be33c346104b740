/** Embeddings of Google's Vertex AI: what its hosts get from clients of OpenAI's and Google's, and what is held and charged. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GoogleGenAI } from '@google/genai';
import { UserRefreshClient } from 'google-auth-library';
import { isEmbeddedAlone, vertexDialectsOf } from '../../src/core/vertex.ts';
import { assertError } from '../support/expect.ts';
import { vertex } from '../support/fake-vertex.ts';
import { sharedGateway } from '../support/gateway.ts';

const PRICES = { input: 1, output: 0 };
const models = {
  several: { ...PRICES, upstream: 'text-embedding-005' },
  single: { ...PRICES, upstream: 'gemini-embedding-2' },
  letters: { per: { character: 0.000001 }, upstream: 'text-multilingual-embedding-002' },
  chat: { input: 1, output: 2, upstream: 'gemini-3.6-flash' },
};
const PUBLISHED = '/v1/projects/my-project/locations/europe-west1/publishers/google/models';
const gateway = await sharedGateway({
  basePath: PUBLISHED.replace(/\/publishers.*/, ''),
  provider: { kind: 'vertex', project: 'my-project', region: 'europe-west1', headers: {}, models },
});

const NOTHING = { whole: {}, events: [] };
const host = vertex({ google: NOTHING, anthropic: NOTHING });

async function post(path: string, body: object, key = gateway.key()) {
  gateway.upstream.follow(host);
  const reply = await gateway.post(path, key, body);
  return { reply, row: gateway.rows(key)[0], call: gateway.upstream.calls[0] };
}

const OPENAI = '/v1/embeddings';
const GOOGLE = '/v1beta/models/fake';
const content = (text: string) => ({ content: { parts: [{ text }] } });

describe('a model that embeds several texts at once', () => {
  test("answers OpenAI's client, for the tokens that its host reports of each", async () => {
    const body = { model: 'fake/several', input: ['one', 'three'], dimensions: 1 };
    const { reply, row, call } = await post(OPENAI, body);
    const { data, usage } = JSON.parse(reply.text);
    assert.deepEqual(
      data.map(({ embedding }: { embedding: number[] }) => embedding),
      [[3], [5]],
    );
    assert.deepEqual([usage.prompt_tokens, row?.cost_nanos, row?.source], [8, 8_000, 'reported']);
    assert.equal(call?.path, `${PUBLISHED}/text-embedding-005:predict`);
    assert.deepEqual(JSON.parse(call?.body ?? ''), {
      instances: [{ content: 'one' }, { content: 'three' }],
      parameters: { outputDimensionality: 1 },
    });
  });

  test("tells its host what Google's client says that they are for", async () => {
    const requests = [
      {
        ...content('one'),
        taskType: 'RETRIEVAL_DOCUMENT',
        title: 'Numbers',
        embedContentConfig: { autoTruncate: false },
      },
      { ...content('three'), taskType: 'CLUSTERING', embedContentConfig: { autoTruncate: false } },
    ];
    const { reply, row, call } = await post(`${GOOGLE}/several:batchEmbedContents`, { requests });
    assert.deepEqual(JSON.parse(reply.text), {
      embeddings: [{ values: [3] }, { values: [5] }],
      usageMetadata: { promptTokenCount: 8, totalTokenCount: 8 },
    });
    assert.deepEqual([reply.headers.get('x-inf-gw-ignored'), row?.cost_nanos], [null, 8_000]);
    assert.deepEqual(JSON.parse(call?.body ?? ''), {
      instances: [
        { content: 'one', task_type: 'RETRIEVAL_DOCUMENT', title: 'Numbers' },
        { content: 'three', task_type: 'CLUSTERING' },
      ],
      parameters: { autoTruncate: false },
    });
    const mixed = [requests[0], content('three')];
    const { reply: refused } = await post(`${GOOGLE}/several:batchEmbedContents`, { requests: mixed });
    assert.match(refused.error.message, /^autoTruncate: expected the same in all requests/);
  });

  test('is refused tokens of another model', async () => {
    for (const model of ['fake/several', 'fake/single']) {
      assertError((await post(OPENAI, { model, input: [1, 2] })).reply, 400, 'invalid_request');
    }
  });

  test('is charged by its texts where its host reports nothing', async () => {
    gateway.upstream.follow((call) => call.answer(200, { predictions: [{ embeddings: { values: [1] } }] }));
    const key = gateway.key();
    assert.equal((await gateway.post(OPENAI, key, { model: 'fake/several', input: 'Hello there.' })).status, 200);
    const { source, cost_nanos: cost } = await gateway.row(key);
    assert.ok(source === 'counted' && cost >= 3_000 && cost <= 6_000, `${source} ${cost}`);
  });

  const prediction = (values: unknown, tokens: number) => ({
    embeddings: { values, statistics: { token_count: tokens } },
  });
  for (const [what, predictions, sent, cost] of [
    ['one text too few', [prediction([1], 8)], '1 vector', 8_000],
    ['one text with other than numbers', [prediction([1], 4), prediction([1, null, 'x'], 4)], '1 vector', 8_000],
    // What reports nothing of one is not believed: the gateway counts.
    ['one text too many, with nothing', [prediction([1], 4), null, prediction([2], 4)], '3 vectors', 6_000],
  ] as const) {
    test(`that answers for ${what} is at fault, and charged`, async () => {
      gateway.upstream.follow((call) => call.answer(200, { predictions }));
      const key = gateway.key();
      const reply = await gateway.post(OPENAI, key, { model: 'fake/several', input: ['one', 'three'] });
      assertError(reply, 502, 'upstream_error');
      assert.ok(reply.error.message.endsWith(`it sent ${sent} for 2 texts.`), reply.text);
      assert.equal((await gateway.row(key)).cost_nanos, cost);
    });
  }
});

describe('a model that is billed by the character', () => {
  test('is charged for those that its host reports, and held for all', async () => {
    const { reply, row } = await post(OPENAI, { model: 'fake/letters', input: ['a b', 'c'] });
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual([row?.cost_nanos, row?.source, row?.prompt_tokens], [3_000, 'reported', 0]);
    const body = JSON.stringify({ model: 'fake/letters', input: ['a b', 'c'] });
    const { steps } = await gateway.explain(gateway.key(), body, OPENAI);
    assert.equal(steps.find(({ step }) => step === 'hold')?.hold_usd, '0.000004');
  });

  test('is charged as held where its host reports none', async () => {
    gateway.upstream.follow((call) => call.answer(200, { predictions: [{ embeddings: { values: [1] } }] }));
    const key = gateway.key();
    await gateway.post(OPENAI, key, { model: 'fake/letters', input: 'a b' });
    assert.equal((await gateway.row(key)).cost_nanos, 3_000);
  });

  test('is listed for embeddings alone', async () => {
    const { text } = await gateway.request('/v1beta/models', { key: gateway.key() });
    const methods = (JSON.parse(text).models as { name: string; supportedGenerationMethods: string[] }[]).map(
      ({ name, supportedGenerationMethods }) => `${name.replace('models/fake/', '')} ${supportedGenerationMethods}`,
    );
    assert.deepEqual(methods.toSorted(), [
      'chat generateContent,countTokens',
      'letters embedContent,batchEmbedContents',
      'several embedContent,batchEmbedContents',
      'single embedContent,batchEmbedContents',
    ]);
  });
});

describe('a model that embeds one text with each request', () => {
  test("answers OpenAI's client for one, and is refused two", async () => {
    const { reply, row, call } = await post(OPENAI, { model: 'fake/single', input: ['one'], dimensions: 1 });
    assert.deepEqual(JSON.parse(reply.text).data[0].embedding, [3]);
    assert.deepEqual([row?.cost_nanos, row?.source], [3_000, 'reported']);
    assert.equal(call?.path, `${PUBLISHED}/gemini-embedding-2:embedContent`);
    assert.deepEqual(JSON.parse(call?.body ?? ''), {
      content: { role: 'user', parts: [{ text: 'one' }] },
      embedContentConfig: { outputDimensionality: 1 },
    });
    const { reply: refused } = await post(OPENAI, { model: 'fake/single', input: ['one', 'two'] });
    assertError(refused, 400, 'invalid_request');
    assert.match(refused.error.message, /^input: expected one text/);
  });

  test("answers Google's own client", async () => {
    gateway.upstream.follow(host);
    const key = gateway.key();
    const baseUrl = `http://127.0.0.1:${gateway.port}`;
    const client = new GoogleGenAI({ apiKey: key.secret, httpOptions: { baseUrl } });
    const config = { taskType: 'RETRIEVAL_QUERY' };
    const { embeddings } = await client.models.embedContent({ model: 'fake/single', contents: 'three', config });
    assert.deepEqual(embeddings?.[0]?.values, [5]);
    assert.equal((await gateway.row(key)).cost_nanos, 5_000);
    assert.equal(JSON.parse((await gateway.upstream.call()).body).embedContentConfig.taskType, 'RETRIEVAL_QUERY');
  });
});

test('a model that embeds texts is known by its name', () => {
  for (const [model, dialect, isAlone] of [
    ['text-embedding-005', 'vertex_embeddings', false],
    ['text-multilingual-embedding-002', 'vertex_embeddings', false],
    ['textembedding-gecko@003', 'vertex_embeddings', false],
    ['gemini-embedding-001', 'vertex_embeddings', false],
    ['gemini-embedding-2', 'vertex_embeddings', true],
    ['gemini-3.6-flash', 'gemini', true],
    ['claude-sonnet-5', 'messages', false],
  ] as const) {
    assert.deepEqual([vertexDialectsOf(model), isEmbeddedAlone(model)], [[dialect], isAlone], model);
  }
  assert.deepEqual(vertexDialectsOf('text-embedding-005', ['gemini']), ['gemini'], 'as the config says');
});

test("the host of these tests is what Google's own client expects of Vertex AI", async () => {
  gateway.upstream.follow(host);
  const authClient = new UserRefreshClient('id', 'secret', 'refresh');
  authClient.setCredentials({ access_token: 'one', expiry_date: Date.now() + 3_600_000 });
  const client = new GoogleGenAI({
    ...{ vertexai: true, project: 'my-project', location: 'europe-west1', apiVersion: 'v1' },
    // Of another copy of that package.
    googleAuthOptions: { authClient: authClient as never },
    httpOptions: { baseUrl: `http://127.0.0.1:${gateway.upstream.port}` },
  });
  const vectors = async (model: string, contents: string[]) => {
    const config = { taskType: 'CLUSTERING', title: 'T', outputDimensionality: 1, autoTruncate: true };
    const { embeddings } = await client.models.embedContent({ model, contents, config });
    return embeddings?.map(({ values, statistics }) => [values, statistics?.tokenCount]);
  };
  assert.deepEqual(await vectors('text-embedding-005', ['one', 'three']), [
    [[3], 3],
    [[5], 5],
  ]);
  assert.deepEqual(await vectors('gemini-embedding-2', ['three']), [[[5], 5]]);
});
