/**
 * The config alone decides where a request goes; nothing in the request, the response or the
 * environment changes it.
 */
import assert from 'node:assert/strict';
import test, { after, afterEach, describe } from 'node:test';
import { answering, completion } from '../support/answers.ts';
import { Workplace } from '../support/cli.ts';
import { assertError } from '../support/expect.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { chat, startTestGateway, UPSTREAM_KEY } from '../support/gateway.ts';

/** Where requests would go if they were diverted. */
const trap = await FakeUpstream.start();
trap.follow(answering(completion('trapped')));
const gateway = await startTestGateway();
after(async () => {
  await gateway.stop();
  await trap.close();
});
afterEach(async () => {
  await gateway.assertSettled();
  assert.deepEqual(trap.calls, []);
});
const key = gateway.key();
const astray = `http://127.0.0.1:${trap.port}`;
const authority = `127.0.0.1:${trap.port}`;

const FIELDS = [
  'api_base',
  'base_url',
  'baseURL',
  'api_url',
  'endpoint',
  'host',
  'url',
  'proxy',
  'azure_endpoint',
  'custom_llm_provider',
  'provider',
  'upstream',
  'fallbacks',
];
const HEADERS = [
  'x-forwarded-host',
  'x-forwarded-server',
  'x-original-url',
  'x-rewrite-url',
  'x-host',
  'forwarded',
  'x-api-base',
  'x-base-url',
  'x-portkey-custom-host',
  'helicone-target-url',
  'proxy',
  'referer',
  'origin',
];

describe('the upstream of a model gets the request, whatever is', () => {
  const expected = `127.0.0.1:${gateway.upstream.port}`;
  const assertAsked = async () => {
    const call = await gateway.upstream.call();
    assert.equal(call.path, '/base/v1/chat/completions');
    assert.equal(call.header('host'), expected);
    assert.equal(call.header('authorization'), `Bearer ${UPSTREAM_KEY}`);
    return call;
  };

  for (const value of [astray, { base_url: astray, api_base: astray }, [astray]]) {
    test(`in fields of its body, as ${JSON.stringify(value).replaceAll(String(trap.port), '…')}`, async () => {
      gateway.upstream.follow(answering(completion('hi')));
      const body = chat(Object.fromEntries([...FIELDS, 'extra_body', 'metadata'].map((field) => [field, value])));
      assert.equal((await gateway.complete(key, body)).status, 200);
      await assertAsked();
    });
  }

  test('in its headers', async () => {
    gateway.upstream.follow(answering(completion('hi')));
    const headers = Object.fromEntries(HEADERS.map((name) => [name, astray]));
    assert.equal((await gateway.complete(key, chat(), { headers })).status, 200);
    const call = await assertAsked();
    for (const name of HEADERS) assert.equal(call.header(name), undefined);
  });

  for (const head of [`POST /v1/chat/completions`, `POST http://${authority}/v1/chat/completions`]) {
    test(`in its Host header: ${head.replaceAll(String(trap.port), '…')}`, async () => {
      gateway.upstream.follow(answering(completion('hi')));
      const body = chat();
      const connection = await gateway.sending(
        `${head} HTTP/1.1\r\nHost: ${authority}\r\nAuthorization: Bearer ${key.secret}\r\n` +
          `Content-Length: ${body.length}\r\n\r\n${body}`,
      );
      assert.equal((await connection.answer()).status, 200);
      await assertAsked();
      connection.leave();
    });
  }

  for (const model of [`${astray}/echo`, `fake/../../${authority}`, `fake@${authority}/echo`, `//${authority}/echo`]) {
    test(`in the name of a model: ${model.replaceAll(String(trap.port), '…')}`, async () => {
      gateway.upstream.follow(answering(completion('hi')));
      assertError(await gateway.complete(key, chat({ model })), 404, 'model_not_found');
      assert.equal(gateway.upstream.calls.length, 0);
    });
  }
});

describe('an upstream cannot redirect a request', () => {
  for (const status of [300, 301, 302, 303, 305, 307, 308]) {
    test(`by ${status} with a location`, async () => {
      gateway.upstream.follow(answering('', status, { location: `${astray}/v1`, refresh: `0; url=${astray}` }));
      const answer = await gateway.complete(key);
      assertError(answer, 502, 'upstream_error');
      assert.equal(answer.headers.get('location'), null);
      assert.ok(!answer.text.includes(String(trap.port)));
      assert.equal(gateway.upstream.calls.length, 1);
    });
  }

  test('by an alternative service', async () => {
    gateway.upstream.follow(answering(completion('hi'), 200, { 'alt-svc': `h2="${authority}"; ma=1000` }));
    for (let i = 0; i < 2; i++) {
      const answer = await gateway.complete(key);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('alt-svc'), null);
    }
    assert.equal(gateway.upstream.calls.length, 2);
  });
});

test('proxies in the environment are ignored', async (t) => {
  const host = await FakeUpstream.start();
  t.after(() => host.close());
  host.follow(answering(completion('hi')));
  const place = new Workplace(
    t,
    JSON.stringify({
      listen: '127.0.0.1:0',
      state: './state.db',
      providers: {
        host: {
          kind: 'openai',
          base_url: `http://127.0.0.1:${host.port}/v1`,
          models: { echo: { input: 0, output: 0 } },
        },
      },
    }),
  );
  for (const name of ['http_proxy', 'https_proxy', 'all_proxy']) {
    place.environment[name] = astray;
    place.environment[name.toUpperCase()] = astray;
  }
  place.environment.NODE_USE_ENV_PROXY = '1';
  place.environment.NO_PROXY = '';
  const { key: secret } = await place.createKey('app');
  const serving = await place.serve();
  assert.equal((await serving.chat(secret, { model: 'host/echo' })).status, 200);
  assert.equal(host.calls.length, 1);
  assert.equal(host.calls[0]?.header('proxy-connection'), undefined);
  assert.equal(await serving.stop(), 0);
});
