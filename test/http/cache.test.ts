/** Answers that are given again: which requests are equal, who gets what, and what a hit takes and leaves. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { beforeEach, describe, type TestContext, test } from 'node:test';
import { chunk, completion, DONE, usageChunk } from '../support/answers.ts';
import { ratesOf } from '../support/expect.ts';
import type { UpstreamCall } from '../support/fake-upstream.ts';
import { chat, type Reply, sharedGateway, type TestKey, withGateway } from '../support/gateway.ts';
import { Place } from '../support/place.ts';
import { until } from '../support/wait.ts';

const PRICES = { input: 1, output: 2, max_output: 1_000, default_output: 100 };
const MODELS = {
  echo: { upstream: 'vendor-echo-1', ...PRICES, cache: { ttl: '1h' } },
  shared: { ...PRICES, cache: { ttl: '1h', shared: true } },
  plain: PRICES,
  searching: { ...PRICES, tools: { web_search: 0.01 }, cache: { ttl: '1h', shared: true } },
  short: { ...PRICES, cache: { ttl: '1ms' } },
  spare: { ...PRICES, cache: { ttl: '1h', shared: true }, fallback: ['fake/plain'] },
};
const gateway = await sharedGateway({ provider: { models: MODELS } });

let asked = 0;
/** Each answer says which it is. */
function answer(call: UpstreamCall): void {
  asked++;
  const { stream } = JSON.parse(call.body) as { stream?: boolean };
  if (stream !== true) return call.answer(200, completion(`answer ${asked}`));
  call.stream();
  for (const piece of [chunk(`answer ${asked}`), chunk('!', 'stop'), usageChunk(), DONE]) call.send(piece);
  call.end();
}

beforeEach(() => {
  asked = 0;
  gateway.upstream.follow(answer);
});

const CACHE = 'x-inf-gw-cache';
const isHit = (reply: Reply) => reply.headers.get(CACHE) === 'hit';

/** Two requests of one key, one after the other. */
async function twice(first: string, second: string, key = gateway.key()): Promise<readonly [Reply, Reply]> {
  const before = await gateway.complete(key, first);
  assert.equal(before.status, 200, before.text);
  return [before, await gateway.complete(key, second)];
}

describe('an answer is given again', () => {
  for (const [what, fields] of [
    ['whole', {}],
    ['as a stream', { stream: true }],
    ['as a stream with its usage', { stream: true, stream_options: { include_usage: true } }],
  ] as const) {
    test(`${what}, with the same bytes, without its host, for nothing`, async () => {
      const key = gateway.key();
      const balance = gateway.balanceNanos;
      const [first, second] = await twice(chat(fields), chat(fields), key);
      assert.equal(asked, 1);
      assert.deepEqual([isHit(first), isHit(second)], [false, true]);
      assert.deepEqual(second.bytes, first.bytes);
      assert.equal(second.headers.get('content-type'), first.headers.get('content-type'));
      assert.equal(second.headers.get('x-inf-gw-model'), 'fake/echo');
      assert.match(second.headers.get('age') ?? '', /^\d+$/);
      const [paid, free] = gateway.rows(key);
      assert.ok(paid !== undefined && free !== undefined);
      assert.deepEqual([free.cost_nanos, free.prompt_tokens, free.completion_tokens, free.hold_nanos], [0, 0, 0, 0]);
      assert.deepEqual([free.upstream, free.price, free.outcome], ['(cache)', '0/0/0 cache=hit', 'ok']);
      assert.equal(free.request_id, second.headers.get('x-request-id'));
      assert.equal(gateway.balanceNanos, balance - BigInt(paid.cost_nanos));
    });
  }

  test('and counts as a request, with no tokens', async () => {
    const key = gateway.key({ rpm: 2 });
    const [first, second] = await twice(chat(), chat(), key);
    const [before, now] = [ratesOf(first.headers), ratesOf(second.headers)];
    assert.deepEqual([now.remainingRequests, now.remainingTokens], [0, before.remainingTokens]);
    assert.equal((await gateway.complete(key)).status, 429);
  });

  test('to a client that has no credit for another', () =>
    withGateway({ provider: { models: MODELS }, credit: '0.0003' }, async (poor) => {
      poor.upstream.follow(answer);
      const key = poor.key();
      const body = chat({ max_tokens: 140 });
      assert.equal((await poor.complete(key, body)).status, 200);
      assert.ok(isHit(await poor.complete(key, body)));
      assert.equal((await poor.complete(key, chat({ max_tokens: 141 }))).status, 402);
    }));

  test('in the dialect of the client, translated once', () =>
    withGateway({ provider: { dialects: ['chat'], models: MODELS } }, async (own) => {
      own.upstream.follow(answer);
      const key = own.key();
      const body = (stream: boolean) =>
        JSON.stringify({ model: 'fake/echo', max_tokens: 9, stream, messages: [{ role: 'user', content: 'x' }] });
      for (const stream of [true, false]) {
        const send = () => own.post('/v1/messages', key, body(stream));
        const [first, second] = [await send(), await send()];
        assert.ok(isHit(second) && !isHit(first));
        assert.deepEqual(second.bytes, first.bytes);
      }
      assert.equal(asked, 2);
    }));
});

describe('equal are requests', () => {
  const message = '"messages":[{"role":"user","content":"a \\" b"}]';
  const BODY = `{"model":"fake/echo",${message},"temperature":1.0}`;
  const EQUAL: readonly (readonly [how: string, body: string])[] = [
    ['in another order at the top', `{"temperature":1.0,${message},"model":"fake/echo"}`],
    ['with other white space', `{ "model": "fake/echo",\n\t${message.replaceAll(':', ' : ')}, "temperature" : 1.0 }`],
    ['with defaults', `{"model":"fake/echo","stream":false,"stop":null,${message},"temperature":1.0}`],
    ['of another end user', `{"model":"fake/echo","user":"eve","metadata":{"a":"b"},${message},"temperature":1.0}`],
  ];
  for (const [how, body] of EQUAL) {
    test(how, async () => assert.ok(isHit((await twice(BODY, body))[1])));
  }

  const OTHER: readonly (readonly [how: string, body: string])[] = [
    ['a number that is spelled otherwise', BODY.replace('1.0', '1')],
    ['white space in a text', BODY.replace('a \\"', 'a  \\"')],
    [
      'the order of fields below the top',
      BODY.replace('"role":"user","content":"a \\" b"', '"content":"a \\" b","role":"user"'),
    ],
    ['a field that nobody knows', BODY.replace('{"model"', '{"x_new":1,"model"')],
    ['another model', BODY.replace('fake/echo', 'fake/shared')],
    ['a stream', BODY.replace('{"model"', '{"stream":true,"model"')],
  ];
  for (const [how, body] of OTHER) {
    test(`but not with ${how}`, async () => {
      const [, second] = await twice(BODY, body);
      assert.equal(isHit(second), false);
      assert.equal(asked, 2);
    });
  }
});

describe('nobody gets the answer of another', () => {
  test('key, unless the model is shared', async () => {
    const [owner, other] = [gateway.key(), gateway.key()];
    for (const [model, hit] of [
      ['fake/echo', false],
      ['fake/shared', true],
    ] as const) {
      await gateway.complete(owner, chat({ model }));
      assert.equal(isHit(await gateway.complete(other, chat({ model }))), hit, model);
      assert.ok(isHit(await gateway.complete(owner, chat({ model }))));
    }
  });

  test('though it is shared, if the key is refused', async () => {
    const body = chat({ model: 'fake/shared' });
    await gateway.complete(gateway.key(), body);
    const hits = asked;
    const refusals: readonly (readonly [status: number, key: TestKey])[] = [
      [403, gateway.key({ allowlist: ['fake/echo'] })],
      [402, gateway.key({ spendLimitNanos: 0n })],
      [402, gateway.key({ budgets: [{ period: 'day', limitNanos: 0n }] })],
    ];
    for (const [status, key] of refusals) {
      const reply = await gateway.complete(key, body);
      assert.deepEqual([reply.status, reply.headers.get(CACHE)], [status, null]);
    }
    const [disabled, deleted] = [gateway.key(), gateway.key()];
    for (const key of [disabled, deleted]) assert.ok(isHit(await gateway.complete(key, body)));
    gateway.setState(disabled, 'disabled');
    gateway.setState(deleted, 'deleted');
    assert.equal((await gateway.complete(disabled, body)).status, 403);
    assert.equal((await gateway.complete(deleted, body)).status, 401);
    assert.equal((await gateway.complete({ ...disabled, secret: `${disabled.secret}x` }, body)).status, 401);
    assert.equal(asked, hits);
  });

  test('by a header or a query that changes what a host answers', () => {
    const models = { claude: { ...PRICES, cache_write: 1, cache_write_1h: 2, cache: { ttl: '1h', shared: true } } };
    return withGateway({ provider: { kind: 'anthropic', models } }, async (own) => {
      own.upstream.follow((call) =>
        call.answer(200, {
          id: `msg_${asked++}`,
          type: 'message',
          role: 'assistant',
          content: [{ type: 'text', text: call.header('anthropic-beta') ?? 'none' }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 3, output_tokens: 2 },
        }),
      );
      const send = (headers: Record<string, string> = {}, query = '') =>
        own.post(
          `/v1/messages${query}`,
          own.key(),
          { model: 'fake/claude', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] },
          { headers },
        );
      const poisoned = await send({ 'anthropic-beta': 'odd-1' });
      assert.match(poisoned.text, /odd-1/);
      for (const [headers, query] of [
        [{}, ''],
        [{}, '?beta=true'],
        [{ 'x-forwarded-host': 'evil', 'accept-language': 'xx' }, '?x=y'],
      ] as const) {
        assert.match((await send(headers, query)).text, /none/);
      }
      assert.equal(asked, 2);
    });
  });
});

describe('not kept is', () => {
  test('a model that the config says nothing of', async () => {
    const body = chat({ model: 'fake/plain' });
    assert.ok(!isHit((await twice(body, body))[1]));
  });

  test('what is too old', async () => {
    const body = chat({ model: 'fake/short' });
    const key = gateway.key();
    await gateway.complete(key, body);
    const since = Date.now();
    await until(() => Date.now() > since + 1);
    assert.ok(!isHit(await gateway.complete(key, body)));
  });

  test('a request whose host may run tools', async () => {
    const body = chat({ model: 'fake/searching', web_search_options: {} });
    assert.ok(!isHit((await twice(body, body))[1]));
  });

  test('one with what is elsewhere, or that its host is to keep', async () => {
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    const messages = [{ role: 'user', content: [image] }];
    for (const body of [chat({ messages }), chat({ store: true })]) assert.ok(!isHit((await twice(body, body))[1]));
  });

  test('an error, a cut stream, or what a fallback has answered', async () => {
    const failures: readonly (readonly [body: string, script: (call: UpstreamCall) => void])[] = [
      [chat({ n: 1 }), (call) => call.answer(400, { error: { message: 'no' } })],
      [chat({ n: 1, top_p: 1 }), (call) => call.answer(200, { error: { message: 'no' } })],
      [
        chat({ stream: true, top_p: 1 }),
        (call) => {
          call.stream();
          call.send(chunk('half'));
          call.reset();
        },
      ],
      [
        chat({ stream: true, top_p: 0.9 }),
        (call) => {
          call.stream();
          call.send(chunk('all, but no end', 'stop'));
          call.end();
        },
      ],
      [
        chat({ model: 'fake/spare' }),
        (call) => (JSON.parse(call.body).model === 'spare' ? call.answer(429, {}) : call.answer(200, completion('b'))),
      ],
    ];
    for (const [body, script] of failures) {
      const key = gateway.key();
      gateway.upstream.follow(script);
      await gateway.complete(key, body);
      gateway.upstream.follow(answer);
      const next = await gateway.complete(key, body);
      assert.equal(next.status, 200);
      assert.equal(isHit(next), false, body);
      assert.ok(isHit(await gateway.complete(key, body)));
    }
  });

  test('what its client forbids: it is not stored, or only asked for anew', async () => {
    const key = gateway.key();
    const send = (control?: string) =>
      gateway.complete(key, chat(), control === undefined ? {} : { headers: { 'cache-control': control } });
    assert.ok(!isHit(await send('private, No-Store')));
    assert.ok(!isHit(await send()));
    assert.ok(!isHit(await send('no-store')));
    for (const control of ['no-cache', 'max-age=0']) {
      const fresh = await send(control);
      assert.ok(!isHit(fresh));
      const next = await send();
      assert.ok(isHit(next));
      assert.deepEqual(next.bytes, fresh.bytes);
    }
    assert.equal(asked, 5);
  });
});

describe('equal requests at once', () => {
  /** Sends so many, and answers those that reach the host once they all wait. */
  async function atOnce(count: number, script: (call: UpstreamCall) => void, fields = {}) {
    const key = gateway.key();
    const calls: UpstreamCall[] = [];
    gateway.upstream.follow((call) => void calls.push(call));
    const sent = Array.from({ length: count }, () => gateway.complete(key, chat(fields)));
    await until(() => gateway.holds(key) === count && calls.length > 0);
    const held = gateway.heldNanos(key);
    gateway.upstream.follow(answer);
    for (const call of calls) script(call);
    return { key, held, replies: await Promise.all(sent), first: calls.length };
  }

  for (const fields of [{}, { stream: true }]) {
    test(`wait for one${'stream' in fields ? ', as streams' : ''}, with the money of each held`, async () => {
      const { key, held, replies, first } = await atOnce(5, answer, fields);
      assert.deepEqual([first, asked], [1, 1]);
      assert.equal(replies.filter(isHit).length, 4);
      assert.equal(new Set(replies.map(({ text }) => text)).size, 1);
      assert.ok(held > 5n * 200_000n, `${held}`);
      const costs = gateway.rows(key).map(({ cost_nanos }) => cost_nanos);
      assert.equal(costs.filter((cost) => cost > 0).length, 1);
    });
  }

  test('go by themselves if the first one fails', async () => {
    const { replies } = await atOnce(3, (call) => call.answer(400, { error: { message: 'no' } }));
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 200, 400]);
  });

  for (const [what, bytes, reads] of [
    ['an answer that is too long to keep', 5_000_000, true],
    ['a client that does not read', 20_000_000, false],
  ] as const) {
    test(`do not wait for ${what}`, async () => {
      const body = chat({ model: 'fake/shared', stream: true, seed: bytes });
      const calls: UpstreamCall[] = [];
      gateway.upstream.follow((call) => {
        calls.push(call);
        call.stream();
        // What is sent is much, what is written little.
        const piece = chunk('x', null, { padding: 'x'.repeat(100_000) });
        for (let sent = 0; sent < bytes; sent += piece.length) call.send(piece);
      });
      const { port } = gateway;
      const headers = { authorization: `Bearer ${gateway.key().secret}` };
      const first = request({ port, method: 'POST', path: '/v1/chat/completions', headers }).end(body);
      const [response] = (await once(first, 'response')) as [IncomingMessage];
      if (reads) response.resume();
      gateway.upstream.follow(answer);
      const reply = await gateway.complete(gateway.key(), body);
      assert.equal(reply.status, 200);
      assert.deepEqual([isHit(reply), asked], [false, 1]);
      response.destroy();
      calls[0]?.end();
    });
  }

  test('go on when one of them leaves', async () => {
    const key = gateway.key();
    const calls: UpstreamCall[] = [];
    gateway.upstream.follow((call) => void calls.push(call));
    const first = gateway.complete(key);
    await until(() => calls.length === 1);
    const leaving = new AbortController();
    const left = gateway.complete(key, chat(), { signal: leaving.signal });
    await until(() => gateway.holds(key) === 2);
    leaving.abort();
    await assert.rejects(left);
    await until(() => gateway.holds(key) === 1);
    answer(calls[0] as UpstreamCall);
    assert.equal((await first).status, 200);
    assert.deepEqual(
      gateway
        .rows(key)
        .map(({ outcome }) => outcome)
        .sort(),
      ['cancelled', 'ok'],
    );
  });
});

describe('of the keys of a gateway', () => {
  /** Asks, and says what came: the cache's word or none, or the status of a refusal. */
  async function ask(place: Place, key: TestKey, fields = {}, headers = {}): Promise<string | number | null> {
    const answer = await fetch(`${place.serving.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.secret}`, 'content-type': 'application/json', ...headers },
      body: chat({ model: 'host/model', ...fields }),
    });
    await answer.text();
    return answer.status === 200 ? answer.headers.get(CACHE) : answer.status;
  }

  async function keeping(t: TestContext, cacheOf: (keys: readonly TestKey[]) => object) {
    const place = await Place.open(t);
    const keys = [place.key(), place.key(), place.key()] as const;
    const models = { model: { ...PRICES, cache: { ttl: '1h', ...cacheOf(keys) } } };
    place.configure({ providers: { host: place.host({ models }) } });
    assert.equal((await place.ask('POST', '/reload')).status, 200);
    return { place, keys };
  }

  test('only those that the config lists keep answers and get them, though they are shared', async (t) => {
    const { place, keys } = await keeping(t, ([one, two]) => ({ shared: true, keys: [one?.id, two?.id] }));
    const [one, two, other] = keys;
    assert.deepEqual([await ask(place, other), await ask(place, other)], [null, null]);
    assert.deepEqual([await ask(place, one), await ask(place, two)], [null, 'hit']);
    assert.equal(await ask(place, other), null);
  });

  test('end users of one share what it keeps, each within the limits of its own', async (t) => {
    const { place, keys } = await keeping(t, () => ({}));
    const [key] = keys;
    await place.json('limits', 'set', key.id, '--user-rpm', '2');
    assert.equal(await ask(place, key, { user: 'ann' }), null);
    assert.equal(await ask(place, key, { user: 'bob' }), 'hit');
    assert.equal(await ask(place, key, {}, { 'x-inf-gw-user': 'bob' }), 'hit');
    assert.equal(await ask(place, key, { user: 'bob' }), 429);
    await place.json('users', 'block', 'eve', '--key', key.id);
    assert.equal(await ask(place, key, { user: 'eve' }), 403);
  });

  test('those of one group share nothing, and its limits count hits', async (t) => {
    const { place } = await keeping(t, () => ({}));
    await place.json('groups', 'create', 'team', '--rpm', '3');
    const [one, other] = [
      await place.createKey('one', '--in', '@team'),
      await place.createKey('other', '--in', '@team'),
    ];
    const keyOf = ({ id, key }: { id: string; key: string }) => ({ id, secret: key }) as TestKey;
    assert.deepEqual([await ask(place, keyOf(one)), await ask(place, keyOf(one))], [null, 'hit']);
    assert.equal(await ask(place, keyOf(other)), null);
    assert.equal(await ask(place, keyOf(one)), 429);
  });
});

test('answers are in a file of their own, which only its owner can read', async () => {
  await gateway.complete(gateway.key());
  const path = `${gateway.statePath}.cache`;
  await until(() => statSync(path, { throwIfNoEntry: false }) !== undefined);
  for (const end of ['', '-wal', '-shm']) assert.equal(statSync(path + end).mode & 0o777, 0o600);
});

test('metrics have the hits, and what they have saved', () =>
  withGateway({ config: { metrics: '127.0.0.1:0' }, provider: { models: MODELS } }, async (own) => {
    own.upstream.follow(answer);
    const key = own.key();
    for (let i = 0; i < 3; i++) await own.complete(key);
    const page = await (await fetch(own.metricsUrl)).text();
    assert.match(page, /inf_gw_cache_hits_total\{model="fake\/echo"\} 2\n/);
    assert.match(page, /inf_gw_cache_saved_usd_total\{model="fake\/echo"\} 0\.00004\n/);
  }));
