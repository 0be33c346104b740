/** Paths, methods and the list of models, and the headers of every response. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { formatUsd } from '../../src/core/money.ts';
import { answering, chunk, completion, DONE, streaming } from '../support/answers.ts';
import { assertError, ratesOf } from '../support/expect.ts';
import { chat, type Reply, sharedGateway, withGateway } from '../support/gateway.ts';

const gateway = await sharedGateway();
const key = gateway.key();

function assertErrorOf({ status, error }: Reply): Reply['error'] {
  assert.deepEqual([status, error.code], [404, 'invalid_request']);
  return error;
}

describe('paths and methods', () => {
  const unknown = [
    '/v1',
    '/v1/',
    '/v1/chat',
    '/v1/chat/completions/',
    '/v1/chat/completions/x',
    '/v1/models/',
    '/v2/models',
  ];
  const stranger = [
    '/',
    '/models',
    '/chat/completions',
    '/v1/files',
    '/v1/models/%zz',
    '/V1/models',
    '//v1/models',
    '/v1/responses/compact',
    '/v1/responses/input_tokens',
  ];
  for (const path of [...unknown, ...stranger]) {
    test(`${path} does not exist`, async () => {
      const answer = await gateway.request(path, { key });
      assert.equal(answer.status, 404);
      assert.equal(answer.error.code, 'invalid_request');
      assert.match(answer.headers.get('x-request-id') ?? '', /^req_/);
      if (path === '/v1' || path.startsWith('/v1/')) ratesOf(answer.headers);
    });
  }

  for (const path of ['/v1/responses/compact', '/v1/responses/input_tokens']) {
    test(`${path} is not served with POST either, also not as a response of that name, and nothing is sent`, async () => {
      const answer = await gateway.post(path, key, { model: 'fake/echo', input: 'x' });
      assertErrorOf(answer);
      assert.equal(gateway.rows(key).length, 0);
    });
  }

  const hints: readonly (readonly [path: string, hint: RegExp])[] = [
    ['/', /base_url .*followed by \/v1\./],
    ['/v1', /base_url .*followed by \/v1\./],
    ['/v1/', /base_url .*followed by \/v1\./],
    ['/chat/completions', /lacks \/v1.*base_url/],
    ['/models', /lacks \/v1.*base_url/],
    ['/responses', /lacks \/v1.*base_url/],
    ['/v1/v1/chat/completions', /more than once.*base_url.*once/],
    ['/v1/v1/messages', /more than once.*base_url/],
    ['/v1//chat/completions', /two slashes.*base_url/],
    ['/openai/v1/chat/completions', /before \/v1.*base_url/],
    ['/v1/chat/completions/chat/completions', /base_url.*not to an endpoint/],
    ['/v1/chat/completions/', /slash at the end/],
    ['/v1/completions', /Legacy completions are not served/],
    ['/v1/files', /Files are not served: .* all keys share\. Send the content in the request itself/],
    ['/v1/files/file-abc123/content', /Files are not served/],
    ['/v1beta/files', /Files are not served/],
    ['/upload/v1beta/files', /Files are not served/],
    ['/v1/uploads', /Files are not served/],
    ['/v1/batches', /Batches are not served: .* later, .*limits and budgets.* Send the requests one by one/],
    ['/v1/batches/batch_1/cancel', /Batches are not served/],
    ['/v1/messages/batches', /Batches are not served/],
    ['/v1/conversations', /Conversations are not served: .* all keys share\. .*previous_response_id/],
    ['/v1/conversations/conv_1/items', /Conversations are not served/],
    ['/v1/models/fake/echo:predict', /Served are/],
    ['/nowhere', /Served are/],
  ];
  for (const [path, hint] of hints) {
    test(`the 404 of ${path} says what is served, and what to set`, async () => {
      const answer = await gateway.request(path, { key, method: 'POST' });
      assert.equal(answer.status, 404);
      const { message } = answer.error;
      assert.match(message, hint);
      assert.match(message, /POST \/v1\/chat\/completions.*GET \/v1\/models/);
    });
  }

  test('the 404 of a path says nothing that does not belong to it', async () => {
    const { message } = assertErrorOf(await gateway.request('/v1/nowhere', { key }));
    assert.doesNotMatch(message, /base_url/);
  });

  const wrong: readonly (readonly [method: string, path: string, allow: string])[] = [
    ['GET', '/v1/chat/completions', 'POST'],
    ['HEAD', '/v1/chat/completions', 'POST'],
    ['PUT', '/v1/chat/completions', 'POST'],
    ['PATCH', '/v1/chat/completions', 'POST'],
    ['DELETE', '/v1/chat/completions', 'POST'],
    ['OPTIONS', '/v1/chat/completions', 'POST'],
    ['POST', '/v1/models', 'GET, HEAD'],
    ['DELETE', '/v1/models/fake/echo', 'GET, HEAD'],
    ['POST', '/v1/models/fake/llama3:8b', 'GET, HEAD'],
    ['POST', '/healthz', 'GET, HEAD'],
    ['PUT', '/readyz', 'GET, HEAD'],
  ];
  for (const [method, path, allow] of wrong) {
    test(`${path} does not allow ${method}`, async () => {
      const answer = await gateway.request(path, { method });
      assert.equal(answer.status, 405);
      assert.equal(answer.headers.get('allow'), allow);
      if (method !== 'HEAD') assert.equal(answer.error.code, 'invalid_request');
      if (path.startsWith('/v1')) ratesOf(answer.headers);
    });
  }

  test('a WebSocket for responses is refused in the way after which Codex uses HTTP at once', async () => {
    const connection = await gateway.sending(
      'GET /v1/responses HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    const { status, headers, body } = await connection.answer();
    assert.deepEqual([status, headers.get('upgrade')], [426, 'HTTP/1.1']);
    assert.equal(JSON.parse(body).error.code, 'invalid_request');
    connection.leave();
    assert.equal((await gateway.request('/v1/responses', { key })).status, 405);
  });

  test('unknown paths still show the limits of the key, and take nothing from them', async () => {
    const own = gateway.key({ rpm: 5, tpm: 1000 });
    for (const path of ['/v1/nowhere', '/v1/chat/completions']) {
      const rates = ratesOf((await gateway.request(path, { key: own })).headers);
      assert.deepEqual([rates.limitRequests, rates.remainingRequests, rates.limitTokens], [5, 5, 1000]);
    }
  });

  for (const path of ['/v1/models?limit=1', '/v1/models?', '/v1/models/fake/echo?a=b&c']) {
    test(`the query is ignored: ${path}`, async () => {
      assert.equal((await gateway.request(path, { key })).status, 200);
    });
  }

  test('Codex reads a table of the models that it can call, with instructions, tools and efforts', async () => {
    const { data, models } = JSON.parse((await gateway.request('/v1/models?client_version=0.169.0', { key })).text);
    const slugs = models.map(({ slug }: { slug: string }) => slug);
    const callable = data.filter(({ dialects }: { dialects: string[] }) => dialects.includes('responses'));
    assert.deepEqual(
      slugs,
      callable.map(({ id }: { id: string }) => id),
    );
    const [{ base_instructions: instructions, apply_patch_tool_type: patch, supported_reasoning_levels: levels }] =
      models;
    assert.ok(instructions.length > 100);
    assert.deepEqual([patch, levels.length], ['freeform', 3]);
    assert.equal('models' in JSON.parse((await gateway.request('/v1/models', { key })).text), false);
  });

  test('an absolute URL is accepted as a target', async () => {
    const connection = await gateway.sending(
      'GET http://gateway.example/healthz HTTP/1.1\r\nHost: gateway.example\r\n\r\n',
    );
    assert.equal((await connection.answer()).status, 200);
    connection.leave();
  });

  test('HEAD gets the headers of GET, and no body', async () => {
    for (const path of ['/v1/models', '/v1/models/fake/echo', '/healthz', '/readyz']) {
      const get = await gateway.request(path, { key });
      const head = await gateway.request(path, { key, method: 'HEAD' });
      assert.equal(head.status, 200);
      assert.equal(head.text, '');
      for (const name of ['content-type', 'content-length']) {
        assert.equal(head.headers.get(name), get.headers.get(name));
      }
    }
  });

  for (const path of ['/healthz', '/readyz']) {
    test(`${path} needs no key and shows no limits`, async () => {
      const answer = await gateway.request(path);
      assert.equal(answer.status, 200);
      assert.match(answer.headers.get('x-request-id') ?? '', /^req_/);
      assert.equal(answer.headers.get('x-ratelimit-limit-requests'), null);
    });
  }
});

describe('a key that asks about itself', () => {
  test('reads its limits with what is left, its spend limit and its models', async () => {
    const own = gateway.key({
      rpm: 9,
      tpm: 5_000,
      concurrency: 3,
      spendLimitNanos: 2_000_000_000n,
      allowlist: ['fake/echo'],
      budgets: [{ period: 'total', limitNanos: 7_000_000_000n }],
      expiresAtMs: Date.UTC(2099, 0),
    });
    gateway.upstream.follow((call) => call.answer(200, completion('hi')));
    await gateway.complete(own);
    const answer = await gateway.request('/v1/key', { key: own });
    const { name, ...rest } = JSON.parse(answer.text);
    const { cost_nanos: nanos, prompt_tokens: input, completion_tokens: output } = await gateway.row(own);
    assert.equal(typeof name, 'string');
    assert.deepEqual(rest, {
      state: 'enabled',
      limits: { rpm: 9, tpm: 5_000, concurrency: 3 },
      remaining: { requests: 8, tokens: 5_000 - input - output, concurrency: 3 },
      spend_limit_usd: '2.00',
      budgets: [{ period: 'total', limit_usd: '7.00', spent_usd: formatUsd(BigInt(nanos)), resets_at: null }],
      expires_at: '2099-01-01T00:00:00.000Z',
      month: { cost_usd: formatUsd(BigInt(nanos)) },
      models: ['fake/echo'],
      groups: [],
    });
  });

  test('is refused like any other', async () => {
    const disabled = gateway.key();
    gateway.setState(disabled, 'disabled');
    assert.equal((await gateway.request('/v1/key', { key: disabled })).status, 403);
    assert.equal((await gateway.request('/v1/key')).status, 401);
  });
});

describe('an error under a path that several dialects have', () => {
  const PATHS = ['/v1/models', '/v1/models/fake/none', '/v1/files', '/v1/files/file_1/content'];
  const shapeOf = async (path: string, headers: Record<string, string>) => {
    const answer = await gateway.request(path, { headers });
    const body = JSON.parse(answer.text);
    assert.ok(answer.status >= 400 && typeof body.error.message === 'string', path);
    return body.type === 'error' ? `${Object.keys(body).sort()}` : Object.keys(body.error).sort().join();
  };

  for (const path of PATHS) {
    test(`${path} has the shape that its client reads`, async () => {
      for (const headers of [{ 'anthropic-version': '2023-06-01' }, { 'x-api-key': 'sk-inf-wrong' }]) {
        assert.equal(await shapeOf(path, headers), 'error,request_id,type');
      }
      assert.equal(await shapeOf(path, { authorization: 'Bearer sk-inf-wrong' }), 'code,message');
    });
  }

  test('and no other path is judged by the headers', async () => {
    const headers = { 'anthropic-version': '2023-06-01', 'x-api-key': 'sk-inf-wrong' };
    for (const path of ['/v1/key', '/v1/modelsx', '/v1/threads']) {
      assert.equal(await shapeOf(path, headers), 'code,message');
    }
    const posted = await gateway.request('/v1/chat/completions', { method: 'POST', body: '{}', headers });
    assert.deepEqual(Object.keys(JSON.parse(posted.text)), ['error']);
  });
});

describe('the list of models', () => {
  const ids = (text: string) => JSON.parse(text).data.map((model: { id: string }) => model.id);

  test('has the shape that client libraries expect', async () => {
    const answer = await gateway.request('/v1/models', { key });
    const list = JSON.parse(answer.text);
    assert.deepEqual(Object.keys(list), ['object', 'data']);
    assert.equal(list.object, 'list');
    for (const model of list.data) {
      assert.deepEqual(Object.keys(model).slice(0, 4), ['id', 'object', 'created', 'owned_by']);
      assert.equal(model.object, 'model');
      assert.ok(Number.isInteger(model.created));
      assert.equal(model.owned_by, 'fake');
    }
    assert.deepEqual(ids(answer.text), ['fake/echo', 'fake/free', 'fake/team/nested']);
  });

  test('says of each model what it costs and which clients can use it', async () => {
    const { data } = JSON.parse((await gateway.request('/v1/models', { key })).text);
    assert.deepEqual(data[0].dialects, [
      'chat',
      'responses',
      'embeddings',
      'messages',
      'gemini',
      'gemini_embeddings',
      'moderations',
      'rerank',
    ]);
    assert.deepEqual(
      [data[0].max_output, data[0].prices.output_usd, data[0].prices.cached_input_usd],
      [1000, '2.00', '0.25'],
    );
  });

  test('has the shape of the messages API for its clients', async () => {
    const answer = await gateway.request('/v1/models', { key, headers: { 'anthropic-version': '2023-06-01' } });
    const list = JSON.parse(answer.text);
    assert.deepEqual([list.has_more, list.first_id, list.last_id], [false, 'fake/echo', 'fake/team/nested']);
    assert.deepEqual([list.data[0].type, list.data[0].display_name], ['model', 'fake/echo']);
    assert.ok(Number.isFinite(Date.parse(list.data[0].created_at)));
  });

  test('contains the models of the allowlist that exist, in any order', async () => {
    const limited = gateway.key({ allowlist: ['fake/team/nested', 'fake/echo', 'fake/gone'] });
    assert.deepEqual(ids((await gateway.request('/v1/models', { key: limited })).text), [
      'fake/echo',
      'fake/team/nested',
    ]);
    const nothing = gateway.key({ allowlist: [] });
    assert.deepEqual(ids((await gateway.request('/v1/models', { key: nothing })).text), []);
  });

  for (const path of ['fake/echo', 'fake%2Fecho', 'fake%2fecho', 'fake/team/nested', 'fake%2Fteam%2Fnested']) {
    test(`shows one model at ${path}`, async () => {
      const answer = await gateway.request(`/v1/models/${path}`, { key });
      assert.equal(answer.status, 200);
      const model = JSON.parse(answer.text);
      assert.deepEqual(Object.keys(model).slice(0, 4), ['id', 'object', 'created', 'owned_by']);
      assert.equal(model.id, decodeURIComponent(path));
    });
  }

  for (const path of ['fake/free', 'fake/none', 'echo', 'fake', 'fake/echo/', 'Fake/echo', 'fake%2Fecho%20']) {
    test(`has no model ${path} for a key that may not see it`, async () => {
      const limited = gateway.key({ allowlist: ['fake/echo'] });
      const answer = await gateway.request(`/v1/models/${path}`, { key: limited });
      assertError(answer, 404, 'model_not_found');
    });
  }

  test('has a rate limit of its own, which its headers show', () =>
    withGateway({ config: { tiers: { standard: { rpm: 2, tpm: 100, models_rpm: 3 } } } }, async (own) => {
      own.upstream.follow(answering(completion('hi')));
      const lister = own.key();
      for (const [path, remaining] of [
        ['/v1/models', 2],
        ['/v1/models/none', 2],
        ['/v1/models/fake/echo', 1],
        ['/v1/models', 0],
      ] as const) {
        const rates = ratesOf((await own.request(path, { key: lister })).headers);
        assert.deepEqual([rates.limitRequests, rates.remainingRequests, rates.limitTokens], [3, remaining, 100]);
      }
      const refused = await own.request('/v1/models', { key: lister });
      assertError(refused, 429, 'rate_limited');
      const wait = Number(refused.headers.get('retry-after'));
      assert.ok(Number.isInteger(wait) && wait >= 1 && wait <= 60);
      assertError(await own.request('/v1/models/none', { key: lister }), 404, 'model_not_found');
      const answer = await own.complete(lister);
      assert.equal(answer.status, 200);
      assert.equal(ratesOf(answer.headers).remainingRequests, 1);
      assert.equal(ratesOf((await own.request('/v1/models')).headers).limitRequests, 3);
      assert.equal(own.rows(lister).length, 1);
    }));
});

describe('every response under /v1', () => {
  test('has the six rate-limit headers and an id, which is that of the journal row', async () => {
    const used = gateway.key();
    gateway.upstream.follow(answering(completion('hi')));
    const json = await gateway.complete(used);
    gateway.upstream.follow(streaming(chunk('hi', 'stop'), DONE));
    const stream = await gateway.complete(used, chat({ stream: true }));
    gateway.upstream.follow(answering('busy', 503));
    const failure = await gateway.complete(used);
    const answers = [json, stream, failure];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 502],
    );
    assert.deepEqual(
      gateway.rows(used).map((row) => row.request_id),
      answers.map(({ headers }) => headers.get('x-request-id')),
    );
    assert.deepEqual(
      answers.map(({ headers }) => ratesOf(headers).remainingRequests),
      [599, 598, 597],
    );
  });

  test('shows the limits of the key itself', async () => {
    const own = gateway.key({ rpm: 7, tpm: 12_345 });
    gateway.upstream.follow(answering(completion('hi')));
    const first = ratesOf((await gateway.complete(own)).headers);
    assert.deepEqual(
      [first.limitRequests, first.remainingRequests, first.limitTokens, first.remainingTokens],
      [7, 6, 12_345, 12_330],
    );
    assert.ok(first.resetRequests >= 1 && first.resetRequests <= 60);
    assert.ok(first.resetTokens >= 1 && first.resetTokens <= 60);
  });
});
