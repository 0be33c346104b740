/** Google's embeddings: what hosts get, what is charged, what is refused, and the same for clients and hosts of OpenAI's. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { assertError } from '../support/expect.ts';
import { startTestGateway } from '../support/gateway.ts';

const MODEL = { input: 1, output: 0, upstream: 'embed-x' };
const google = await startTestGateway({ provider: { kind: 'gemini', models: { embed: MODEL } } });
const openai = await startTestGateway({ provider: { dialects: ['embeddings'], models: { embed: MODEL } } });
const BOTH = [google, openai];
after(() => Promise.all(BOTH.map((gateway) => gateway.stop())));
afterEach(() => Promise.all(BOTH.map((gateway) => gateway.assertSettled())));

const PATH = '/v1beta/models/fake/embed';
const content = (text: string) => ({ content: { parts: [{ text }] } });
const USAGE = { usageMetadata: { promptTokenCount: 7 } };
const OF_OPENAI = {
  object: 'list',
  data: [
    { object: 'embedding', index: 1, embedding: [0.5, 1] },
    { object: 'embedding', index: 0, embedding: [0.25, 0] },
  ],
  usage: { prompt_tokens: 7, total_tokens: 7 },
};

function post(gateway: typeof google, path: string, body: object, key = gateway.key()) {
  return gateway.post(path, key, body);
}

describe("embeddings at Google's hosts", () => {
  test('of one content: path and body reach the host as they are, its answer the client, and its report is charged', async () => {
    const answer = `{ "embedding": {"values": [0.10, 1]},\n "usageMetadata": {"promptTokenCount": 7} }`;
    google.upstream.follow((call) => call.answer(200, answer));
    const key = google.key();
    const body = {
      model: 'models/fake/embed',
      ...content('Hello!'),
      taskType: 'RETRIEVAL_QUERY',
      outputDimensionality: 2,
    };
    const reply = await post(google, `${PATH}:embedContent`, body, key);
    assert.equal(reply.text, answer);
    const call = await google.upstream.call();
    assert.equal(call.path, '/base/v1/models/embed-x:embedContent');
    assert.deepEqual(JSON.parse(call.body), {
      ...content('Hello!'),
      taskType: 'RETRIEVAL_QUERY',
      outputDimensionality: 2,
    });
    const row = await google.row(key);
    assert.deepEqual([row.prompt_tokens, row.completion_tokens, row.cost_nanos, row.source], [7, 0, 7_000, 'reported']);
  });

  test('of several: each request names the model of the host', async () => {
    google.upstream.follow((call) => call.answer(200, { embeddings: [{ values: [1] }, { values: [2] }], ...USAGE }));
    const requests = [
      { model: 'models/fake/embed', ...content('a') },
      { ...content('b'), title: 'B' },
    ];
    const reply = await post(google, `${PATH}:batchEmbedContents`, { requests });
    assert.deepEqual(JSON.parse(reply.text).embeddings, [{ values: [1] }, { values: [2] }]);
    const call = await google.upstream.call();
    assert.equal(call.path, '/base/v1/models/embed-x:batchEmbedContents');
    assert.deepEqual(
      JSON.parse(call.body).requests,
      requests.map((each) => ({ ...each, model: 'models/embed-x' })),
    );
  });

  test('without a report are charged by their texts', async () => {
    google.upstream.follow((call) => call.answer(200, { embedding: { values: [1] } }));
    const key = google.key();
    await post(google, `${PATH}:embedContent`, content('one two three'), key);
    const row = await google.row(key);
    assert.equal(row.source, 'counted');
    assert.ok(Number(row.prompt_tokens) >= 3, String(row.prompt_tokens));
  });

  for (const [what, method, body, problem] of [
    [
      'a request of another model',
      'batchEmbedContents',
      { requests: [{ model: 'models/dear', ...content('a') }] },
      /^requests\[0\]\.model: /,
    ],
    [
      'another spelling of it',
      'batchEmbedContents',
      { requests: [{ ...content('a'), Model: 'models/dear' }] },
      /^requests\[0\]\.Model: /,
    ],
    ['a body of another model', 'embedContent', { model: 'models/dear', ...content('a') }, /^model: /],
    ['several in the path of one', 'embedContent', { requests: [content('a')] }, /^requests: expected only with/],
    ['one in the path of several', 'batchEmbedContents', content('a'), /^requests: expected an array/],
    ['both forms at once', 'batchEmbedContents', { ...content('a'), requests: [content('a')] }, /^content: /],
    ['no request', 'batchEmbedContents', { requests: [] }, /^requests: /],
    ['no part', 'embedContent', { content: { parts: [] } }, /^content: /],
    ['an image', 'embedContent', { content: { parts: [{ inlineData: { data: '' } }] } }, /^content\.parts\[0\]: /],
    [
      'an image beside a text',
      'embedContent',
      { content: { parts: [{ text: '', fileData: {} }] } },
      /^content\.parts\[0\]: /,
    ],
    [
      'dimensions that are none',
      'embedContent',
      { ...content('a'), outputDimensionality: 0 },
      /^outputDimensionality: /,
    ],
    [
      'dimensions that are none, in its config',
      'batchEmbedContents',
      { requests: [{ ...content('a'), embed_content_config: { output_dimensionality: 'x' } }] },
      /^requests\[0\]\.embedContentConfig\.outputDimensionality: /,
    ],
  ] as const) {
    test(`refuses ${what}`, async () => {
      const reply = await post(google, `${PATH}:${method}`, body);
      assert.equal(reply.status, 400, reply.text);
      assert.match(JSON.parse(reply.text).error.message, problem);
    });
  }

  test("are listed among the methods of a model, for Google's clients", async () => {
    const listed = JSON.parse((await google.request('/v1beta/models', { key: google.key() })).text);
    const methods = ['generateContent', 'countTokens', 'embedContent', 'batchEmbedContents'];
    assert.deepEqual(listed.models[0].supportedGenerationMethods, methods);
  });
});

describe("a client of OpenAI's at a host of Google's", () => {
  const BODY = { model: 'fake/embed', input: ['a', 'b'], dimensions: 2 };

  test('gets vectors as numbers, and as base64', async () => {
    google.upstream.follow((call) =>
      call.answer(200, { embeddings: [{ values: [0.25, 0] }, { values: [0.5, 1] }], ...USAGE }),
    );
    const key = google.key();
    const reply = await post(google, '/v1/embeddings', { ...BODY, user: 'u' }, key);
    assert.deepEqual(JSON.parse(reply.text), { ...OF_OPENAI, data: OF_OPENAI.data.toReversed(), model: 'fake/embed' });
    assert.equal(reply.headers.get('x-inf-gw-ignored'), 'user');
    const call = await google.upstream.call();
    assert.equal(call.path, '/base/v1/models/embed-x:batchEmbedContents');
    const request = { outputDimensionality: 2, model: 'models/embed-x' };
    assert.deepEqual(JSON.parse(call.body), {
      requests: [
        { ...content('a'), ...request },
        { ...content('b'), ...request },
      ],
    });
    assert.equal((await google.row(key)).cost_nanos, 7_000);
    const { data } = JSON.parse((await post(google, '/v1/embeddings', { ...BODY, encoding_format: 'base64' })).text);
    assert.equal(data[1].embedding, Buffer.from(Float32Array.of(0.5, 1).buffer).toString('base64'));
  });

  test('is refused what only tokens of another model say', async () => {
    assertError(await post(google, '/v1/embeddings', { ...BODY, input: [[1, 2]] }), 400, 'invalid_request');
    assertError(await post(google, '/v1/embeddings', { ...BODY, of_tomorrow: 1 }), 400, 'invalid_request');
  });
});

describe('an answer with another number of vectors than texts is blamed on its host, and charged as reported', () => {
  const values = [0.25, 0];
  for (const [what, vectors] of [
    ['1 vector', [values]],
    ['1 vector', [values, []]],
    ['3 vectors', [values, values, values]],
  ] as const) {
    const check = async (gateway: typeof google, path: string, body: object) => {
      const key = gateway.key();
      const reply = await post(gateway, path, body, key);
      assert.deepEqual([reply.status, reply.headers.get('x-should-retry')], [502, 'false'], reply.text);
      assert.equal(reply.error.message, `The provider did not answer what it was asked: it sent ${what} for 2 texts.`);
      const { cost_nanos, source, failure_reason } = await gateway.row(key);
      assert.deepEqual([cost_nanos, source, failure_reason], [7_000, 'reported', 'not_the_protocol']);
    };
    test(`${what} of ${vectors.length} of Google's`, async () => {
      const embeddings = vectors.map((each) => ({ values: each }));
      google.upstream.follow((call) => call.answer(200, { embeddings, ...USAGE }));
      await check(google, '/v1/embeddings', { model: 'fake/embed', input: ['a', 'b'] });
    });
    test(`${what} of ${vectors.length} of OpenAI's`, async () => {
      const data = vectors.map((embedding, index) => ({ index, embedding }));
      openai.upstream.follow((call) => call.answer(200, { data, usage: OF_OPENAI.usage }));
      await check(openai, `${PATH}:batchEmbedContents`, { requests: [content('a'), content('b')] });
    });
  }
});

describe("a client of Google's at a host of OpenAI's", () => {
  test('gets the vectors in the order of its texts', async () => {
    openai.upstream.follow((call) => call.answer(200, OF_OPENAI));
    const key = openai.key();
    const requests = ['a', 'b'].map((text) => ({ ...content(text), outputDimensionality: 2, taskType: 'CLUSTERING' }));
    const reply = await post(openai, `${PATH}:batchEmbedContents`, { requests }, key);
    assert.deepEqual(JSON.parse(reply.text), {
      embeddings: [{ values: [0.25, 0] }, { values: [0.5, 1] }],
      usageMetadata: { promptTokenCount: 7, totalTokenCount: 7 },
    });
    assert.equal(reply.headers.get('x-inf-gw-ignored'), 'taskType');
    const call = await openai.upstream.call();
    assert.equal(call.path, '/base/v1/embeddings');
    assert.deepEqual(JSON.parse(call.body), {
      model: 'embed-x',
      input: ['a', 'b'],
      dimensions: 2,
      encoding_format: 'float',
    });
    assert.equal((await openai.row(key)).cost_nanos, 7_000);
  });

  test('gets one vector for one content, also where a host writes base64', async () => {
    const embedding = Buffer.from(Float32Array.of(0.5, 1).buffer).toString('base64');
    openai.upstream.follow((call) => call.answer(200, { data: [{ index: 0, embedding }] }));
    const reply = await post(openai, `${PATH}:embedContent`, content('a'));
    assert.deepEqual(JSON.parse(reply.text).embedding, { values: [0.5, 1] });
  });

  for (const [what, body] of [
    ['several dimensions', { requests: [{ ...content('a'), outputDimensionality: 1 }, content('b')] }],
    ['a content of two texts', { requests: [{ content: { parts: [{ text: 'a' }, { text: 'b' }] } }] }],
    ['an unknown setting', { requests: [{ ...content('a'), embedContentConfig: { ofTomorrow: true } }] }],
  ] as const) {
    test(`is refused ${what}`, async () => {
      const reply = await post(openai, `${PATH}:batchEmbedContents`, body);
      assert.equal(reply.status, 400, reply.text);
    });
  }
});
