/**
 * Upstreams that get no requests: because they fail, because they sent Retry-After, and until when.
 */
import assert from 'node:assert/strict';
import { after, describe, mock, test } from 'node:test';
import { PROBE_INTERVAL_MS } from '../../src/upstream/backoff.ts';
import { OPEN_MS, OPENS_AFTER_FAILURES } from '../../src/upstream/breaker.ts';
import { LAST_RESORT_MAX_UNAVAILABLE } from '../../src/upstream/choice.ts';
import { completion } from '../support/answers.ts';
import { assertError } from '../support/expect.ts';
import type { Script } from '../support/fake-upstream.ts';
import { until } from '../support/wait.ts';
import { providerOf, refusing, serving, withStage } from './stage.ts';

/** How far the clock of this process has moved since the start: only by hand, since probes are due by time. */
let aheadMs = 0;
const startMs = Math.round(performance.now());
mock.method(performance, 'now', () => startMs + aheadMs);
after(() => mock.reset());

const failing: Script = (call) => call.answer(500, { error: { message: 'No.' } });
const OTHERS = 20;

describe('an upstream that fails five times in a row', () => {
  test('gets no more requests, then a single probe, and after its success as many as before', () =>
    withStage(2, {}, async (stage) => {
      const key = stage.key();
      stage.follow(refusing(503), serving('hi'));
      const down = await stage.statuses(key, 2 * OPENS_AFTER_FAILURES + OTHERS);
      assert.ok(down.every((status) => status === 200));
      assert.equal(stage.asked[0], OPENS_AFTER_FAILURES);

      const release = stage.host(0).followLater((call) => call.answer(200, completion('back again')));
      aheadMs += OPEN_MS;
      const waiting = Array.from({ length: OTHERS }, () => stage.ask(key));
      await stage.host(0).call();
      let answered = 0;
      for (const reply of waiting) void reply.then(() => answered++);
      await until(() => answered === OTHERS - 1);
      assert.equal(stage.asked[0], 1, 'one probe');
      release();
      await Promise.all(waiting);
      stage.follow(serving('hi'), serving('hi'));
      await stage.statuses(key, OTHERS);
      assert.deepEqual(stage.asked, [OTHERS / 2, OTHERS / 2]);
    }));
});

describe('a sole upstream', () => {
  test('gets requests however often it has failed, since it can report its own error', () =>
    withStage(1, {}, async (stage) => {
      stage.follow(failing);
      await stage.statuses(stage.key(), 3 * LAST_RESORT_MAX_UNAVAILABLE);
      assert.deepEqual(stage.asked, [3 * LAST_RESORT_MAX_UNAVAILABLE]);
    }));

  test('that sends Retry-After ten times in a row backs off: 502 with Retry-After, at no cost', () =>
    withStage(1, {}, async (stage) => {
      stage.follow(refusing(503, { 'retry-after': '100' }));
      const statuses = await stage.statuses(stage.key(), LAST_RESORT_MAX_UNAVAILABLE);
      assert.ok(statuses.every((status) => status === 502));
      for (const stream of [false, true]) {
        const key = stage.key();
        const reply = await stage.ask(key, { stream });
        assert.match(assertError(reply, 502, 'upstream_error'), /temporarily unavailable/);
        const retryAfterS = Number(reply.headers.get('retry-after'));
        assert.ok(retryAfterS > 0 && retryAfterS <= 100, `${retryAfterS}`);
        assert.equal(reply.headers.get('x-should-retry'), null);
        const row = await stage.row(key);
        assert.deepEqual([row.outcome, row.cost_nanos, row.upstream, row.attempts], ['upstream_error', 0, null, null]);
      }
      assert.deepEqual(stage.asked, [LAST_RESORT_MAX_UNAVAILABLE]);
      aheadMs += 100_000;
      stage.follow(serving('hi'));
      assert.equal((await stage.ask(stage.key())).status, 200);
    }));
});

describe('a model that a host has taken from everybody with Retry-After: 600 to one key', () => {
  for (const status of [429, 503]) {
    test(`is probed by one request every few seconds, and comes back with its success, after ${status}`, () =>
      withStage(1, {}, async (stage) => {
        const [attacker, other] = [stage.key(), stage.key()];
        stage.follow(refusing(status, { 'retry-after': '600' }));
        await stage.statuses(attacker, 2 * LAST_RESORT_MAX_UNAVAILABLE);
        assert.deepEqual(stage.asked, [LAST_RESORT_MAX_UNAVAILABLE]);
        for (let probes = 1; probes <= 3; probes++) {
          aheadMs += PROBE_INTERVAL_MS;
          const replies = await Promise.all(Array.from({ length: OTHERS }, () => stage.ask(other)));
          assert.deepEqual(stage.asked, [LAST_RESORT_MAX_UNAVAILABLE + probes]);
          for (const reply of replies) {
            assertError(reply, 502, 'upstream_error');
            const retryAfterS = reply.headers.get('retry-after');
            // The probe itself gets what the host said to it.
            if (retryAfterS !== null && !/status 429/.test(reply.text))
              assert.ok(Number(retryAfterS) <= PROBE_INTERVAL_MS / 1_000, retryAfterS);
          }
        }
        stage.follow(serving('hi'));
        assert.equal((await stage.ask(other)).status, 502);
        aheadMs += PROBE_INTERVAL_MS;
        assert.deepEqual(await stage.statuses(other, OTHERS), Array(OTHERS).fill(200));
      }));
  }
});

describe('Retry-After', () => {
  for (const status of [503, 529]) {
    test(`with ${status} is honoured for all models while another upstream is available`, () =>
      withStage(2, {}, async (stage) => {
        const key = stage.key();
        stage.follow(refusing(status, { 'retry-after': '30' }), serving('hi'));
        await stage.statuses(key, OTHERS / 2);
        await stage.statuses(key, OTHERS / 2, { model: 'fake/free' });
        assert.deepEqual(stage.asked, [1, OTHERS]);
        aheadMs += 30_000;
        stage.host(0).follow(serving('hi'));
        await stage.statuses(key, 2);
        assert.equal(stage.asked[0], 1);
      }));
  }

  test('with 429 is honoured for its model, and requests for others are routed as before', () =>
    withStage(2, {}, async (stage) => {
      const key = stage.key();
      const limited: Script = (call) =>
        JSON.parse(call.body).model === 'vendor-echo-1'
          ? refusing(429, { 'retry-after': '30' })(call)
          : serving('hi')(call);
      stage.follow(limited, serving('hi'));
      await stage.statuses(key, OTHERS);
      assert.deepEqual(stage.asked, [1, OTHERS]);
      await stage.statuses(key, OTHERS, { model: 'fake/free' });
      // One request of difference is what the rotation was off before.
      assert.ok(Math.abs((stage.asked[0] as number) - 1 - OTHERS / 2) <= 1, `${stage.asked}`);
    }));

  test('of a limited model does not block other models of a sole upstream, however many requests are rejected', () =>
    withStage(1, {}, async (stage) => {
      const key = stage.key();
      stage.follow(refusing(429, { 'retry-after': '30' }));
      const all = Array.from({ length: 3 * LAST_RESORT_MAX_UNAVAILABLE }, () => stage.ask(key));
      assert.ok((await Promise.all(all)).every(({ status }) => status === 502));
      stage.follow(serving('hi'));
      assert.equal((await stage.ask(key, { model: 'fake/free' })).status, 200);
      assert.equal((await stage.ask(key)).status, 502);
      assert.deepEqual(stage.asked, [1]);
    }));
});

describe('healthy upstreams', () => {
  test('of weights 3 and 1 get three and one of four requests', () =>
    withStage(2, { weights: [3, 1] }, async (stage) => {
      stage.follow(serving('hi'), serving('hi'));
      await stage.statuses(stage.key(), 40);
      assert.deepEqual(stage.asked, [30, 10]);
    }));

  test('respond on all threads, although another one is dead', () =>
    withStage(2, { config: { threads: 2 }, providers: (hosts) => ({ fake: providerOf(hosts) }) }, async (stage) => {
      await stage.host(0).close();
      stage.host(1).follow(serving('hi'));
      const key = stage.key();
      const replies = await Promise.all(Array.from({ length: 28 }, () => stage.ask(key)));
      assert.ok(replies.every(({ status }) => status === 200));
      assert.equal(stage.rows(key).filter(({ upstream }) => upstream === 'fake#2').length, 28);
    }));
});
