/** `POST /v1/messages/count_tokens`: by the host or the gateway, free, in slots of the key, and at nobody else's cost. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OPENS_AFTER_FAILURES } from '../../src/upstream/breaker.ts';
import { MAX_SAVED_RETRIES } from '../../src/upstream/retry.ts';
import { withStage } from '../failover/stage.ts';
import type { Script } from '../support/fake-upstream.ts';
import { sharedGateway, type TestKey, withGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

const MODEL = { input: 1, cached_input: 0.1, output: 5, cache_write: 1.25, cache_write_1h: 2 };
const provider = { kind: 'anthropic', models: { claude: { ...MODEL, upstream: 'claude-x-1' } } };
const gateway = await sharedGateway({ provider });

const MESSAGES = '/v1/messages';
const COUNT = `${MESSAGES}/count_tokens`;
const BODY = { model: 'fake/claude', messages: [{ role: 'user', content: 'Hello!' }] };

function send(key: TestKey, path: string, fields: object = {}, signal?: AbortSignal) {
  const body = JSON.stringify({ ...BODY, ...fields });
  return gateway.request(path, { key, method: 'POST', body, ...(signal && { signal }) });
}

const count = (key: TestKey, fields: object = {}) => send(key, COUNT, fields);
const complete = (key: TestKey) => send(key, MESSAGES, { max_tokens: 100 });

const answer = { type: 'message', content: [], stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 } };
const failing = (status: number, headers: Record<string, string> = {}): Script => {
  return (call) => call.answer(status, { type: 'error', error: { type: 'x', message: 'No counts here.' } }, headers);
};
/** Follows one script for counts, and answers all other requests. */
const counting =
  (script: Script): Script =>
  (call) =>
    call.path.endsWith('/count_tokens') ? script(call) : call.answer(200, answer);

function assertCountedHere(reply: { readonly status: number; readonly text: string }): void {
  assert.equal(reply.status, 200, reply.text);
  const { input_tokens: tokens } = JSON.parse(reply.text);
  assert.ok(tokens >= 3 && tokens <= 15, `${tokens} tokens`);
}

describe('counting tokens', () => {
  test('asks the host, costs nothing and leaves no row', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, { input_tokens: 77 }));
    const reply = await count(key);
    assert.deepEqual([reply.status, JSON.parse(reply.text)], [200, { input_tokens: 77 }]);
    assert.equal((await gateway.upstream.call()).path, `/base${COUNT}`);
    assert.deepEqual(gateway.rows(key), []);
    assert.ok(reply.headers.has('x-ratelimit-limit-requests'));
  });

  const REFUSALS: readonly (readonly [what: string, script: Script])[] = [
    ...[401, 402, 403, 404, 405, 408, 409, 429, 500, 501, 502, 503, 529].map(
      (status) => [`answers ${status}`, failing(status)] as const,
    ),
    ['says that its own account is to blame', (call) => call.answer(400, { error: { message: 'Your credit is low' } })],
    ['answers without a figure', (call) => call.answer(200, { tokens: 5 })],
    ['answers no JSON', (call) => call.answer(200, '<html>')],
    ['answers with an error', (call) => call.answer(200, { error: { message: 'No.' } })],
    ['hangs up', (call) => call.hangUp()],
    [
      'hangs up in the middle of its answer',
      (call) => [call.head(200, { 'content-length': '9' }), call.hangUp()].pop(),
    ],
  ];
  for (const [what, script] of REFUSALS) {
    test(`is done by the gateway where the host ${what}`, async () => {
      gateway.upstream.follow(script);
      assertCountedHere(await count(gateway.key()));
      assert.equal(gateway.upstream.calls.length, 1, 'nothing is sent twice');
    });
  }

  for (const [what, fields] of [
    ['cannot be reached', { base_url: 'http://nowhere.invalid/v1' }],
    ['does not answer in time', { timeouts: { first_byte: '100ms' } }],
  ] as const) {
    test(`is done by the gateway where the host ${what}`, () =>
      withGateway({ provider: { ...provider, ...fields } }, async (own) => {
        own.upstream.follow(() => {});
        const sending = { key: own.key(), method: 'POST', body: JSON.stringify(BODY) };
        assertCountedHere(await own.request(COUNT, sending));
      }));
  }

  for (const status of [400, 413, 422]) {
    test(`tells the client what the host finds wrong with the request, by ${status}`, async () => {
      gateway.upstream.follow(failing(status));
      const reply = await count(gateway.key());
      assert.deepEqual([reply.status, reply.error.code], [400, 'invalid_request']);
      assert.match(reply.error.message, /No counts here/);
    });
  }

  test('refuses an invalid body before it counts in the window of the listings', async () => {
    const key = gateway.key();
    for (let times = 0; times < 2; times++) {
      const reply = await count(key, { messages: [] });
      assert.deepEqual([reply.status, reply.headers.get('x-ratelimit-remaining-requests')], [400, '6000']);
    }
  });

  test('is refused in the window of the listings', async () => {
    const key = gateway.key();
    gateway.setState(key, 'disabled');
    const reply = await count(key);
    assert.deepEqual([reply.status, reply.error.code], [403, 'api_key_disabled']);
  });
});

describe('a host that fails only at counts', () => {
  for (const [what, script] of [
    ['429 with a long Retry-After', failing(429, { 'retry-after': '3600' })],
    ['503 with a long Retry-After', failing(503, { 'retry-after': '3600' })],
    ['500', failing(500)],
    ['no answer', (call) => call.hangUp()],
  ] as const satisfies readonly (readonly [string, Script])[]) {
    test(`by ${what} serves completions as ever, whoever counts however often`, async () => {
      const [poor, other] = [gateway.key({ spendLimitNanos: 0n }), gateway.key()];
      gateway.upstream.follow(counting(script));
      for (let i = 0; i < 2 * OPENS_AFTER_FAILURES; i++) {
        assertCountedHere(await count(poor));
        assert.equal((await complete(other)).status, 200);
      }
      assert.equal((await complete(poor)).status, 402);
      assert.equal(gateway.upstream.calls.length, 4 * OPENS_AFTER_FAILURES, 'every request reached the host');
    });
  }

  test('leaves the retries of other requests alone: a count asks one upstream, once', () =>
    withStage(2, { provider }, async ({ gateway, hosts }) => {
      const key = gateway.key();
      const refusing = counting(failing(503));
      for (const host of hosts) host.follow(refusing);
      for (let i = 0; i < 3 * MAX_SAVED_RETRIES; i++) {
        const sending = { key, method: 'POST', body: JSON.stringify(BODY) };
        assertCountedHere(await gateway.request(COUNT, sending));
      }
      assert.equal(hosts.flatMap(({ calls }) => calls).length, 3 * MAX_SAVED_RETRIES);
    }));

  test('that has asked for a pause, or is down, is not asked to count, nor probed by it', () =>
    withGateway({ provider }, async (own) => {
      const key = own.key();
      const sending = (path: string, fields = {}) => own.post(path, key, { ...BODY, ...fields });
      own.upstream.follow(failing(429, { 'retry-after': '3600' }));
      await sending(MESSAGES, { max_tokens: 5 });
      for (let i = 0; i < 3; i++) assertCountedHere(await sending(COUNT));
      assert.equal(own.upstream.calls.length, 1);
    }));
});

describe('a count', () => {
  /** Holds counts at the host until `release` is called. */
  function holding() {
    const released = Promise.withResolvers<void>();
    const script = counting(async (call) => {
      await released.promise;
      call.answer(200, { input_tokens: 5 });
    });
    return { script, release: released.resolve };
  }

  test('has a slot of its key while it is in flight, like a request', async () => {
    const key = gateway.key({ concurrency: 1 });
    const { script, release } = holding();
    gateway.upstream.follow(script);
    const first = count(key);
    await gateway.upstream.call();
    for (const refused of [await count(key), await complete(key)]) {
      assert.deepEqual([refused.status, refused.error.code], [429, 'rate_limited']);
      assert.match(refused.error.message, /limit of 1 concurrent request /);
      assert.equal(refused.headers.get('retry-after'), '1');
    }
    release();
    assert.equal((await first).status, 200);
    // One after the other, it never meets itself.
    for (let i = 0; i < 5; i++) assert.deepEqual([(await count(key)).status, (await complete(key)).status], [200, 200]);
  });

  test('finds no slot while requests have them all, and takes nothing then', async () => {
    const key = gateway.key({ concurrency: 1 });
    const released = gateway.upstream.followLater((call) => call.answer(200, answer));
    const request = complete(key);
    await gateway.upstream.call();
    assert.deepEqual([(await count(key)).status, gateway.upstream.calls.length], [429, 1]);
    released();
    await request;
    gateway.upstream.follow((call) => call.answer(200, { input_tokens: 5 }));
    const { headers } = await count(key);
    assert.equal(headers.get('x-ratelimit-remaining-requests'), '5999', 'only this one is in the window');
  });

  test('whose client leaves frees its slot, and tells the host to stop', async () => {
    const key = gateway.key({ concurrency: 1 });
    gateway.upstream.follow(() => {});
    const leaving = new AbortController();
    const left = send(key, COUNT, {}, leaving.signal).catch(() => {});
    const call = await gateway.upstream.call();
    leaving.abort();
    await Promise.all([left, call.closed]);
    gateway.upstream.follow(failing(404));
    await until(async () => (await count(key)).status === 200);
  });

  test('is free also for a key whose spend limit or credit is used up', () =>
    withGateway({ provider, credit: '0' }, async (own) => {
      own.upstream.follow((call) => call.answer(200, { input_tokens: 5 }));
      const sending = { key: own.key({ spendLimitNanos: 0n }), method: 'POST', body: JSON.stringify(BODY) };
      assert.equal((await own.request(COUNT, sending)).status, 200);
    }));
});
