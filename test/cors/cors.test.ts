/** Pages of other origins: what their browsers are told, on every answer there is. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { completion, DONE } from '../support/answers.ts';
import { browserReads, preflightAllows } from '../support/browser.ts';
import { chat, type Reply, type Sending, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';

const PAGE = 'https://app.example';
const DEV = 'http://localhost:5173';
const STRANGER = 'https://other.example';
const CHAT = '/v1/chat/completions';

const gateway = await startTestGateway({
  config: { cors: { origins: [PAGE, DEV] }, max_body: '1kb' },
  provider: { dialects: ['chat', 'messages'] },
});
after(() => gateway.stop());
gateway.upstream.follow((call) => {
  if (!call.body.includes('"stream":true')) return call.answer(200, completion('Hello!'));
  call.stream();
  call.send(`data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n${DONE}`);
  call.end();
});
const key = gateway.key();

const asked = (headers: string, method = 'POST') => ({
  'access-control-request-method': method,
  'access-control-request-headers': headers,
});

/** The headers of an answer that are about other origins. */
function corsOf({ headers }: Reply | Response): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary'));
}

describe('a preflight', () => {
  const BASE =
    'Authorization, Content-Type, X-Api-Key, Idempotency-Key, X-Client-Request-Id, X-Inf-Gw-Tag, X-Inf-Gw-User, User-Agent, Cache-Control';
  const ALLOWED: readonly (readonly [path: string, headers: Record<string, string>, allowed: string])[] = [
    [CHAT, asked('authorization,content-type'), BASE],
    [CHAT, asked('X-Stainless-Lang, x-stainless-os,x-stainless-lang'), `${BASE}, x-stainless-lang, x-stainless-os`],
    ['/v1/messages', asked('anthropic-version,x-api-key'), `${BASE}, anthropic-version`],
    ['/v1/responses', asked('openai-beta'), `${BASE}, openai-beta`],
    [CHAT, asked('cookie,x-evil,x-stainless-a b,x-stainless-,:,'), BASE],
    ['/v1/models', asked('authorization', 'GET'), BASE],
    ['/v1/models/fake%2Fecho?x=y', asked('authorization', 'GET'), BASE],
    ['/v1/nothing', asked('authorization', 'PUT'), BASE],
    ['/v1/responses/resp_1', asked('authorization', 'DELETE'), BASE],
    ['/v1/key', { 'access-control-request-method': 'GET' }, BASE],
  ];
  for (const [path, headers, allowed] of ALLOWED) {
    test(`of ${path} for ${headers['access-control-request-headers'] ?? 'no header'} needs no key`, async () => {
      const answer = await gateway.request(path, { method: 'OPTIONS', headers: { origin: PAGE, ...headers } });
      assert.deepEqual([answer.status, answer.text], [204, '']);
      const { 'access-control-expose-headers': _, ...cors } = corsOf(answer);
      assert.deepEqual(cors, {
        'access-control-allow-origin': PAGE,
        'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
        'access-control-allow-headers': allowed,
        'access-control-max-age': '7200',
        vary: 'Origin',
      });
      assert.equal(answer.headers.get('content-length'), null);
      assert.match(answer.headers.get('x-request-id') ?? '', /^req_/);
    });
  }

  const NONE: readonly (readonly [what: string, path: string, headers: Record<string, string>, status: number])[] = [
    ['from another origin', CHAT, { origin: STRANGER, ...asked('authorization') }, 405],
    ['from the same host at another port', CHAT, { origin: `${PAGE}:8443`, ...asked('authorization') }, 405],
    ['from a page without an origin', CHAT, { origin: 'null', ...asked('authorization') }, 405],
    ['from two origins', CHAT, { origin: `${PAGE}, ${DEV}`, ...asked('authorization') }, 405],
    ['without an origin', CHAT, asked('authorization'), 405],
    ['outside of /v1', '/healthz', { origin: PAGE, ...asked('authorization', 'GET') }, 405],
  ];
  for (const [what, path, headers, status] of NONE) {
    test(`${what} is an ordinary OPTIONS`, async () => {
      const answer = await gateway.request(path, { method: 'OPTIONS', headers });
      assert.equal(answer.status, status);
      assert.deepEqual(corsOf(answer), path === '/healthz' ? {} : { vary: 'Origin' });
    });
  }

  test('is what asks for a method: another OPTIONS is refused, and its page can read why', async () => {
    const answer = await gateway.request(CHAT, { method: 'OPTIONS', headers: { origin: PAGE } });
    assert.equal(answer.status, 405);
    assert.equal(corsOf(answer)['access-control-allow-origin'], PAGE);
  });
});

/** Every kind of answer: what is sent, and the status. */
const ANSWERS: readonly (readonly [what: string, path: string, sending: () => Sending, status: number])[] = [
  ['a completion', CHAT, () => ({ method: 'POST', key, body: chat() }), 200],
  ['a stream', CHAT, () => ({ method: 'POST', key, body: chat({ stream: true }) }), 200],
  ['a list of models', '/v1/models', () => ({ key }), 200],
  ['a request without a key', CHAT, () => ({ method: 'POST', body: chat() }), 401],
  ['an unknown key', CHAT, () => ({ method: 'POST', headers: { authorization: 'Bearer x' }, body: chat() }), 401],
  ['a path that does not exist', '/v1/nothing', () => ({ key }), 404],
  ['a wrong method', CHAT, () => ({ key }), 405],
  ['a body that is too large', CHAT, () => ({ method: 'POST', key, body: 'x'.repeat(2_000) }), 413],
  ['a body that is not JSON', CHAT, () => ({ method: 'POST', key, body: '{' }), 400],
  ['a model that does not exist', CHAT, () => ({ method: 'POST', key, body: chat({ model: 'a/b' }) }), 404],
  ['a rate limit', CHAT, () => ({ method: 'POST', key: gateway.key({ tpm: 1 }), body: chat() }), 429],
  ['no money', CHAT, () => ({ method: 'POST', key: gateway.key({ spendLimitNanos: 0n }), body: chat() }), 402],
];

describe('the answer to', () => {
  for (const [what, path, sending, status] of ANSWERS) {
    test(`${what} can be read by a page that is listed, and by no other`, async () => {
      const to = (origin?: string) => {
        const { headers, ...rest } = sending();
        return gateway.request(path, { ...rest, headers: { ...headers, ...(origin && { origin }) } });
      };
      const listed = await to(DEV);
      assert.equal(listed.status, status);
      // All that is there but for what any HTTP server sends.
      const own = [...listed.headers.keys()].filter((name) => /^(?:x-|retry|request)/.test(name));
      assert.ok(own.includes('x-request-id') && own.includes('x-ratelimit-remaining-requests'));
      if (status === 429) assert.ok(own.includes('retry-after'));
      assert.deepEqual(
        browserReads(listed.headers, DEV)?.filter((name) => own.includes(name)),
        own,
      );
      assert.equal(listed.headers.get('vary'), 'Origin');
      assert.deepEqual(corsOf(await to(STRANGER)), { vary: 'Origin' });
      assert.deepEqual(corsOf(await to()), { vary: 'Origin' });
    });
  }

  test('Anthropic’s client has its id where that looks for it', async () => {
    const headers = { origin: PAGE, 'anthropic-version': '2023-06-01' };
    const answer = await gateway.post('/v1/messages', key, '{}', { headers });
    assert.equal(answer.headers.get('request-id'), answer.headers.get('x-request-id'));
    assert.ok(browserReads(answer.headers, PAGE)?.includes('request-id'));
  });

  test('a body that breaks HTTP can be read as well', async () => {
    const connection = await RawConnection.open(gateway.port);
    const head = `POST ${CHAT} HTTP/1.1\r\nhost: x\r\norigin: ${PAGE}\r\ntransfer-encoding: chunked\r\n`;
    connection.send(`${head}authorization: Bearer ${key.secret}\r\n\r\nzz\r\n`);
    const { status, headers } = await connection.answer();
    assert.equal(status, 400);
    assert.equal(headers.get('access-control-allow-origin'), PAGE);
  });
});

describe('official clients in a browser', () => {
  /** Sends requests as a browser does: a preflight first, and no header that it does not allow. */
  function browserFetch(origin: string): typeof fetch {
    return async (input, init) => {
      const request = new Request(input, init);
      const { pathname } = new URL(request.url);
      const names = [...request.headers.keys()].join();
      const headers = { origin, ...asked(names, request.method) };
      const preflight = await gateway.request(pathname, { method: 'OPTIONS', headers });
      assert.deepEqual(preflightAllows(preflight, origin, request), []);
      request.headers.set('origin', origin);
      const response = await fetch(request);
      assert.ok(browserReads(response.headers, origin) !== undefined);
      return response;
    };
  }
  const options = { apiKey: key.secret, dangerouslyAllowBrowser: true, maxRetries: 0, fetch: browserFetch(PAGE) };
  const messages = [{ role: 'user' as const, content: 'Hello!' }];

  test('of OpenAI send nothing that a preflight does not allow', async () => {
    const client = new OpenAI({ ...options, baseURL: `http://127.0.0.1:${gateway.port}/v1`, organization: 'org' });
    const stream = await client.chat.completions.create({ model: 'fake/echo', messages, stream: true });
    for await (const _ of stream);
    await assert.rejects(client.chat.completions.create({ model: 'fake/none', messages }), { status: 404 });
  });

  test('of Anthropic do neither', async () => {
    const client = new Anthropic({ ...options, baseURL: `http://127.0.0.1:${gateway.port}` });
    const body = { model: 'fake/none', max_tokens: 5, messages };
    await assert.rejects(client.messages.create(body), { status: 404 });
  });
});

test('`*` lets every page read every answer', async () => {
  const open = await startTestGateway({ config: { cors: { origins: ['*'] } } });
  try {
    for (const origin of [PAGE, 'null']) {
      const answer = await open.request('/v1/models', { headers: { origin } });
      assert.equal(answer.status, 401);
      assert.equal(answer.headers.get('access-control-allow-origin'), '*');
      const preflight = { origin, ...asked('authorization') };
      assert.equal((await open.request(CHAT, { method: 'OPTIONS', headers: preflight })).status, 204);
    }
    assert.deepEqual(corsOf(await open.request('/v1/models')), { vary: 'Origin' });
  } finally {
    await open.stop();
  }
});

test('without a config no answer has any such header', async () => {
  const plain: TestGateway = await startTestGateway();
  try {
    const headers = { origin: PAGE };
    const preflight = await plain.request(CHAT, {
      method: 'OPTIONS',
      headers: { ...headers, ...asked('authorization') },
    });
    assert.deepEqual([preflight.status, corsOf(preflight)], [405, {}]);
    assert.deepEqual(corsOf(await plain.request('/v1/models', { headers })), {});
  } finally {
    await plain.stop();
  }
});
