/** Fallback models: when they are used, what they cost, and for which keys. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CONCURRENCY } from '../support/cli.ts';
import { assertError, ratesOf } from '../support/expect.ts';
import type { FakeUpstream, Script } from '../support/fake-upstream.ts';
import { chat } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';
import { until } from '../support/wait.ts';
import {
  assertNoSecret,
  type Fields,
  providerOf,
  REFUSALS,
  refusing,
  serving,
  upstreamOf,
  withStage,
} from './stage.ts';

/** `main/model` with the fallbacks `spare/first` and `other/second`; each has a host of its own. */
function fallbacks(hosts: readonly FakeUpstream[]): Fields {
  const [first, second, third] = hosts as [FakeUpstream, FakeUpstream, FakeUpstream];
  const only = (host: FakeUpstream, number: number) => ({ kind: 'openai', upstreams: [upstreamOf(host, number)] });
  const model = { upstream: 'vendor-main', input: 1, output: 2, default_output: 100, max_output: 1000 };
  return {
    main: { ...only(first, 1), models: { model: { ...model, fallback: ['spare/first', 'other/second'] } } },
    spare: {
      ...only(second, 2),
      models: { first: { upstream: 'vendor-spare', input: 10, output: 20, default_output: 50 } },
    },
    other: { ...only(third, 3), models: { second: { input: 3, output: 5, default_output: 200, max_output: 40 } } },
  };
}

const MODEL = 'main/model';
/** The cost of ten tokens of input and five of output, in nanodollars. */
const COSTS = { 'main/model': 20_000, 'spare/first': 200_000, 'other/second': 55_000 };

describe('a fallback model', { concurrency: CONCURRENCY }, () => {
  for (const status of [...REFUSALS, 500, 502, 401, 403, 404]) {
    test(`serves after ${status}, is named, and is priced as itself`, () =>
      withStage(3, { providers: fallbacks }, async (stage) => {
        for (const stream of [false, true]) {
          stage.follow(refusing(status), serving('from the spare'), serving('not asked'));
          const key = stage.key();
          const reply = await stage.ask(key, { model: MODEL, stream, stream_options: stream ? {} : undefined });
          assert.equal(reply.status, 200);
          assert.match(reply.text, /from the spare/);
          assert.equal(reply.headers.get('x-inf-gw-model'), 'spare/first');
          assert.deepEqual(stage.asked, [1, 1, 0]);
          assert.equal(JSON.parse(stage.host(1).calls[0]?.body ?? '').model, 'vendor-spare');
          const row = await stage.row(key);
          assert.deepEqual([row.model, row.requested_model], ['spare/first', MODEL]);
          assert.deepEqual([row.upstream, row.attempts, row.cost_nanos], ['spare', 2, COSTS['spare/first']]);
          assert.equal(ratesOf(reply.headers).remainingRequests, 99_999, 'it is one request');
        }
      }));
  }

  test('is tried in turn, and the error is that of the last one', () =>
    withStage(3, { providers: fallbacks }, async (stage) => {
      stage.follow(refusing(503), refusing(503), serving('from the third'));
      const key = stage.key();
      const reply = await stage.ask(key, { model: MODEL });
      assert.deepEqual([reply.status, reply.headers.get('x-inf-gw-model')], [200, 'other/second']);
      const row = await stage.row(key);
      assert.deepEqual([row.model, row.attempts, row.cost_nanos], ['other/second', 3, COSTS['other/second']]);
      stage.follow(refusing(503), refusing(503), refusing(529));
      const failed = await stage.ask(stage.key(), { model: MODEL });
      assert.match(assertError(failed, 502, 'upstream_error'), /No: 529/);
      assert.deepEqual(
        [failed.headers.get('x-should-retry'), failed.headers.get('x-inf-gw-model')],
        ['false', 'other/second'],
      );
      assertNoSecret(stage, failed);
    }));

  test('is not tried after a response that leaves open whether the host worked, or that is about the request', () =>
    withStage(3, { providers: fallbacks }, async (stage) => {
      const broken: Script = (call) => {
        call.head(500, { 'content-length': '100' });
        call.raw('{');
        call.reset();
      };
      for (const [script, status] of [
        [refusing(400), 400],
        [refusing(408), 502],
        [broken, 502],
      ] as const) {
        stage.follow(script, serving('hi'), serving('hi'));
        assert.equal((await stage.ask(stage.key(), { model: MODEL })).status, status);
        assert.deepEqual(stage.asked, [1, 0, 0]);
      }
    }));

  test('is tried at once while the requested model is backing off', () =>
    withStage(3, { providers: fallbacks }, async (stage) => {
      stage.follow(refusing(429, { 'retry-after': '60' }), serving('hi'), serving('hi'));
      await stage.ask(stage.key(), { model: MODEL });
      const key = stage.key();
      assert.equal((await stage.ask(key, { model: MODEL })).status, 200);
      const row = await stage.row(key);
      assert.deepEqual([row.model, row.requested_model, row.attempts], ['spare/first', MODEL, 1]);
      assert.deepEqual(stage.asked, [1, 2, 0]);
    }));

  const ALLOWLISTS: readonly (readonly [allowlist: readonly string[], served: string | undefined])[] = [
    [[MODEL, 'spare/first', 'other/second'], 'spare/first'],
    [[MODEL, 'other/second'], 'other/second'],
    [[MODEL], undefined],
  ];
  for (const [allowlist, served] of ALLOWLISTS) {
    test(`for a key that may use ${allowlist.join(', ')} is ${served ?? 'none'}`, () =>
      withStage(3, { providers: fallbacks }, async (stage) => {
        stage.follow(refusing(503), serving('hi'), serving('hi'));
        const key = stage.key({ allowlist });
        const reply = await stage.ask(key, { model: MODEL });
        assert.equal(reply.status, served === undefined ? 502 : 200);
        const row = await stage.row(key);
        assert.deepEqual([row.model, row.requested_model], served === undefined ? [MODEL, null] : [served, MODEL]);
      }));
  }

  test("is not used after it was removed from the key's allowlist, even if the body was already arriving", () =>
    withStage(3, { providers: fallbacks }, async (stage) => {
      stage.follow(refusing(503), serving('hi'));
      const key = stage.key({ allowlist: [MODEL, 'spare/first'] });
      const connection = await RawConnection.open(stage.gateway.port);
      const request = stage.gateway.rawCompletion(key, chat({ model: MODEL }));
      connection.send(request.slice(0, -5));
      await until(async () => (await stage.gateway.inFlight()) === 1);
      // What follows is decided after everything that was requested until now.
      await stage.gateway.request('/v1/models', { key });
      stage.gateway.setAllowlist(key, [MODEL]);
      connection.send(request.slice(-5));
      assertError(await connection.answer(), 502, 'upstream_error');
      assert.deepEqual(stage.asked, [1, 0, 0]);
      connection.leave();
    }));

  test('cannot be requested by a key that may not use it just because it is a fallback', () =>
    withStage(3, { providers: fallbacks }, async (stage) => {
      assertError(
        await stage.ask(stage.key({ allowlist: [MODEL] }), { model: 'spare/first' }),
        403,
        'model_not_allowed',
      );
    }));
});

describe('with fallback models', { concurrency: CONCURRENCY }, () => {
  /** The hold of a request while its first upstream is working. */
  async function heldFor(
    stage: Parameters<Parameters<typeof withStage>[2]>[0],
    key: ReturnType<typeof stage.key>,
    fields: Fields,
  ) {
    const release = Promise.withResolvers<void>();
    stage.follow(async (call) => {
      await release.promise;
      serving('hi')(call);
    });
    const reply = stage.ask(key, { model: MODEL, ...fields });
    await stage.host(0).call();
    const held = Number(stage.gateway.heldNanos(key));
    release.resolve();
    return { held, reply: await reply };
  }

  test('the hold is the most that any of them may cost, and is released down to the actual cost', () =>
    withStage(3, { providers: fallbacks }, async (stage) => {
      const key = stage.key();
      const { held, reply } = await heldFor(stage, key, { max_tokens: 30 });
      assert.equal(reply.status, 200);
      // At the price of spare/first: a token of input costs 10,000 nanodollars, one of output
      // 20,000.
      assert.equal(held % 10_000, 0);
      assert.ok(held >= 30 * 20_000 + 10_000, `${held}`);
      const row = await stage.row(key);
      assert.deepEqual([row.hold_nanos, row.cost_nanos], [held, COSTS[MODEL]]);
      const allowed = stage.key({ allowlist: [MODEL] });
      const alone = await heldFor(stage, allowed, { max_tokens: 30 });
      assert.equal(alone.held, held / 10, 'for a key that may use none of them, only the model counts');
    }));

  test('a balance that covers only the model itself admits the request for it alone', () =>
    withStage(3, { providers: fallbacks, credit: '0.0002' }, async (stage) => {
      stage.follow(refusing(503));
      const key = stage.key();
      assertError(await stage.ask(key, { model: MODEL, max_tokens: 30 }), 502, 'upstream_error');
      assert.deepEqual(
        stage.hosts.map(({ calls }) => calls.length),
        [1, 0, 0],
      );
      stage.follow(serving('hi'));
      assert.equal((await stage.ask(key, { model: MODEL, max_tokens: 30 })).status, 200);
      assertError(await stage.ask(key, { model: MODEL, max_tokens: 1_000 }), 402, 'insufficient_credit');
    }));

  test('a declared maximum excludes a fallback that cannot produce it', () =>
    withStage(3, { providers: fallbacks }, async (stage) => {
      // other/second produces 40 at most.
      stage.follow(refusing(503), refusing(503), serving('hi'));
      assertError(await stage.ask(stage.key(), { model: MODEL, max_tokens: 41 }), 502, 'upstream_error');
      assert.equal((await stage.ask(stage.key(), { model: MODEL, max_tokens: 40 })).status, 200);
    }));

  test('a token limit that covers only the model itself admits the request for it alone', () =>
    withStage(3, { providers: fallbacks }, async (stage) => {
      // The model itself can produce 1,000, its first fallback any number.
      const fields = { model: MODEL, max_tokens: 3_000 };
      const asked = async (tpm: number) => {
        stage.follow(refusing(503), refusing(503));
        assertError(await stage.ask(stage.key({ tpm }), fields), 502, 'upstream_error');
        return stage.hosts.map(({ calls }) => calls.length);
      };
      assert.deepEqual(await asked(2_000), [1, 0, 0]);
      assert.deepEqual(await asked(4_000), [1, 1, 0]);
      stage.follow(serving('hi'));
      const reply = await stage.ask(stage.key({ tpm: 4_000 }), fields);
      assert.deepEqual([reply.status, ratesOf(reply.headers).remainingTokens], [200, 4_000 - 15]);
      assertError(await stage.ask(stage.key({ tpm: 900 }), fields), 429, 'rate_limited');
    }));

  test('cap_output writes into each request the maximum held for its own model', () =>
    withStage(3, { providers: fallbacks, config: { cap_output: true } }, async (stage) => {
      stage.follow(refusing(503), refusing(503), serving('hi'));
      await stage.ask(stage.key(), { model: MODEL });
      const caps = stage.hosts.map(({ calls }) => JSON.parse(calls[0]?.body ?? '').max_tokens);
      assert.deepEqual(caps, [100, 50, 40]);
      stage.follow(refusing(503), refusing(503), serving('hi'));
      await stage.ask(stage.key(), { model: MODEL, max_tokens: 30 });
      const declared = stage.hosts.map(({ calls }) => JSON.parse(calls[0]?.body ?? '').max_tokens);
      assert.deepEqual(declared, [30, 30, 30]);
    }));
});

describe('a fallback on the same upstream', { concurrency: CONCURRENCY }, () => {
  const model = { input: 1, output: 2 };
  const models = { model: { ...model, fallback: ['main/small'] }, small: model };
  const providers = (hosts: readonly FakeUpstream[]) => ({ main: providerOf(hosts, { models }) });

  test('is tried after 429, which is about one model', () =>
    withStage(1, { providers }, async (stage) => {
      stage.follow((call) => (JSON.parse(call.body).model === 'small' ? serving('hi')(call) : refusing(429)(call)));
      const key = stage.key();
      assert.equal((await stage.ask(key, { model: MODEL })).status, 200);
      const row = await stage.row(key);
      assert.deepEqual([row.model, row.upstream, row.attempts], ['main/small', 'main', 2]);
    }));

  test('is not tried after 503, which is about all', () =>
    withStage(1, { providers }, async (stage) => {
      stage.follow(refusing(503));
      assert.equal((await stage.ask(stage.key(), { model: MODEL })).status, 502);
      assert.deepEqual(stage.asked, [1]);
    }));
});
