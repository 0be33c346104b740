/**
 * Retries: what is retried at another upstream and what never is, how often, and what client and
 * journal see.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answering, chunk, completion, event } from '../support/answers.ts';
import { CONCURRENCY } from '../support/cli.ts';
import { assertError } from '../support/expect.ts';
import type { FakeUpstream, Script } from '../support/fake-upstream.ts';
import { chat } from '../support/gateway.ts';
import { assertNoSecret, type Fields, providerOf, REFUSALS, refusing, secretOf, serving, withStage } from './stage.ts';

/** The cost of ten tokens of input and five of output. */
const SERVED_COST = 20_000;

/** One provider per case, so that they do not share a breaker. */
function providersFor<Row extends readonly [name: string, ...unknown[]]>(
  rows: readonly Row[],
  fieldsOf: (row: Row) => Fields = () => ({}),
): (hosts: readonly FakeUpstream[]) => Fields {
  return (hosts) =>
    Object.fromEntries(
      rows.flatMap((row, i) => [`p${i}`, `s${i}`].map((name) => [name, providerOf(hosts, fieldsOf(row))])),
    );
}

describe('a request goes to the next upstream', { concurrency: CONCURRENCY }, () => {
  const WAYS: readonly (readonly [name: string, script: Script | undefined])[] = [
    ...REFUSALS.map((status) => [`answers ${status}`, refusing(status)] as const),
    // The last one, because this host does not come back.
    ['cannot be reached', undefined],
  ];

  test('if the first one rejected it, and the client does not notice', (t) =>
    withStage(2, { providers: providersFor(WAYS) }, async (stage) => {
      for (const [i, [name, script]] of WAYS.entries()) {
        await t.test(name, async () => {
          if (script === undefined) await stage.host(0).close();
          for (const provider of [`p${i}`, `s${i}`]) {
            stage.follow(script ?? serving('not there'), serving('from the second'));
            const key = stage.key();
            const model = `${provider}/echo`;
            const reply = await stage.ask(key, { model, stream: provider === `s${i}` });
            assert.equal(reply.status, 200);
            assert.match(reply.text, /from the second/);
            assert.deepEqual(stage.asked, [script === undefined ? 0 : 1, 1]);
            const headers = ['x-should-retry', 'retry-after', 'x-inf-gw-model'].map((header) =>
              reply.headers.get(header),
            );
            assert.deepEqual(headers, [null, null, model]);
            const row = await stage.row(key);
            assert.deepEqual([row.outcome, row.source, row.cost_nanos], ['ok', 'reported', SERVED_COST]);
            assert.deepEqual([row.model, row.requested_model], [model, null]);
            assert.deepEqual([row.upstream, row.attempts], [`${provider}#2`, 2]);
          }
        });
      }
    }));

  test("with that upstream's own key, and the same body", () =>
    withStage(2, {}, async (stage) => {
      stage.follow(refusing(503), serving('hi'));
      await stage.ask(stage.key(), { metadata: { a: 1.0 } });
      const [first, second] = stage.hosts.map(({ calls }) => calls[0]);
      assert.equal(first?.header('authorization'), `Bearer ${secretOf(1)}`);
      assert.equal(second?.header('authorization'), `Bearer ${secretOf(2)}`);
      assert.equal(first?.body, second?.body);
    }));
});

/** Rejections that do not prove that no work was done, since there may be more of them. */
const INCOMPLETE: readonly (readonly [what: string, answer: (status: number) => Script])[] = [
  ['that breaks off', (status) => (call) => [call.head(status, { 'content-length': '99' }), call.hangUp()].pop()],
  ['that stops', (status) => (call) => [call.head(status, {}), call.raw('{')].pop()],
  ['of more than 1 MB', (status) => (call) => call.answer(status, 'x'.repeat(2 * 1024 * 1024))],
];

describe('a request is never sent twice', { concurrency: CONCURRENCY }, () => {
  /** Only of those that wait for them: on a busy machine others would answer later. */
  const timeouts = { first_byte: '150ms', idle: '150ms' };
  const WAYS: readonly (readonly [name: string, script: Script, isFree: boolean])[] = [
    ...[400, 401, 404, 408, 409, 500, 501, 502, 504].map(
      (status) => [`an answer ${status}`, refusing(status), true] as const,
    ),
    ['a reset', (call) => call.reset(), false],
    ['an end without a response', (call) => call.hangUp(), false],
    ['no response in time', () => {}, false],
    [
      'an incomplete response',
      (call) => [call.head(200, { 'content-length': '99' }), call.raw('{'), call.hangUp()].pop(),
      false,
    ],
    ...REFUSALS.flatMap((status) =>
      INCOMPLETE.map(([what, answer]) => [`an answer ${status} ${what}`, answer(status), false] as const),
    ),
    ['not HTTP', (call) => [call.raw('SSH-2.0\r\n\r\n'), call.hangUp()].pop(), false],
    ['an error with status 200', (call) => call.answer(200, { error: { message: 'Overloaded', code: 503 } }), true],
    [
      'an error as the first event',
      (call) => [call.stream(), call.send(event({ error: { code: 529 } })), call.end()].pop(),
      true,
    ],
    ['a stream that stops', (call) => call.stream(), false],
  ];

  test('if the first one may have started to work, or gave a final response', (t) =>
    withStage(
      2,
      { providers: providersFor(WAYS, ([name]) => (/in time|stops/.test(name) ? { timeouts } : {})) },
      async (stage) => {
        for (const [i, [name, script, isFree]] of WAYS.entries()) {
          await t.test(name, async () => {
            stage.follow(script, serving('hi'));
            const key = stage.key();
            const reply = await stage.ask(key, { model: `p${i}/echo`, stream: /stream|event/.test(name) });
            assert.ok(reply.status >= 400, reply.text);
            const isHopeless = ['an answer 401', 'an answer 404'].includes(name);
            assert.equal(
              reply.headers.get('x-should-retry'),
              isHopeless ? 'false' : null,
              'the gateway has not retried',
            );
            assert.deepEqual(stage.asked, [1, 0]);
            const row = await stage.row(key);
            assert.deepEqual([row.upstream, row.attempts, row.cost_nanos], [`p${i}#1`, 1, isFree ? 0 : row.hold_nanos]);
          });
        }
      },
    ));

  test('once a byte of its response was relayed', () =>
    withStage(2, {}, async (stage) => {
      stage.follow((call) => {
        call.stream();
        call.send(chunk('half'));
        call.reset();
      }, serving('hi'));
      const key = stage.key();
      const reply = await stage.ask(key, { stream: true });
      assert.match(reply.text, /half.*"code":"upstream_error".*\[DONE\]/s);
      assert.deepEqual(stage.asked, [1, 0]);
      assert.ok((await stage.row(key)).cost_nanos > 0);
    }));
});

describe('the number of attempts', { concurrency: CONCURRENCY }, () => {
  for (const attempts of [1, 2, 3]) {
    test(`is limited by attempts: ${attempts}`, () =>
      withStage(5, { config: { retry: { attempts } } }, async (stage) => {
        stage.follow(...Array(5).fill(refusing(503)));
        const key = stage.key();
        const reply = await stage.ask(key);
        assertError(reply, 502, 'upstream_error');
        assert.equal(reply.headers.get('x-should-retry'), attempts === 1 ? null : 'false');
        assert.equal(
          stage.asked.reduce((sum, count) => sum + count),
          attempts,
        );
        const row = await stage.row(key);
        assert.deepEqual([row.attempts, row.cost_nanos, row.source], [attempts, 0, 'counted']);
      }));
  }

  test('is at most the number of upstreams', () =>
    withStage(2, { config: { retry: { attempts: 10 } } }, async (stage) => {
      stage.follow(refusing(503), refusing(503));
      assert.equal((await stage.ask(stage.key())).status, 502);
      assert.deepEqual(stage.asked, [1, 1]);
    }));

  for (const [percent, requests] of [
    ['0%', 30],
    ['10%', 150],
  ] as const) {
    test(`is limited over many requests by a budget of ${percent}`, () =>
      withStage(2, { config: { retry: { attempts: 2, budget: percent } } }, async (stage) => {
        // A success now and then keeps the breakers closed, so that only the budget limits retries.
        const mostlyDown = (): Script => {
          let calls = 0;
          return (call) => (++calls % 5 === 0 ? call.answer(200, completion('hi')) : refusing(503)(call));
        };
        stage.follow(mostlyDown(), mostlyDown());
        const beganAtMs = performance.now();
        await stage.statuses(stage.key(), requests);
        const seconds = (performance.now() - beganAtMs) / 1000;
        const share = Number.parseInt(percent, 10) / 100;
        const retries = stage.asked.reduce((sum, count) => sum + count) - requests;
        const most = share === 0 ? 0 : share * requests + seconds + 10;
        assert.ok(retries <= most, `${retries} retries, ${most} at most`);
        assert.ok(share === 0 || retries >= share * requests, `${retries} retries`);
      }));
  }
});

describe('the error message of an upstream', { concurrency: CONCURRENCY }, () => {
  test('is that of the last one tried', () =>
    withStage(2, {}, async (stage) => {
      stage.follow(refusing(429), refusing(503));
      assert.match(assertError(await stage.ask(stage.key()), 502, 'upstream_error'), /No: 503\./);
    }));

  for (const quoted of [1, 2]) {
    test(`is withheld if it quotes host ${quoted}, whoever sends it`, () =>
      withStage(2, {}, async (stage) => {
        const words = `Refused for ${secretOf(quoted)}`;
        const script: Script = (call) => call.answer(503, { error: { message: words } });
        stage.follow(script, script);
        const reply = await stage.ask(stage.key());
        assertError(reply, 502, 'upstream_error');
        assertNoSecret(stage, reply);
        stage.follow(refusing(503), (call) => call.answer(400, { error: { message: words } }));
        const other = await stage.gateway.complete(stage.key(), chat({}));
        assertError(other, 400, 'invalid_request');
        assertNoSecret(stage, other);
      }));
  }
});

describe('a rejection by an upstream that has worked before', { concurrency: CONCURRENCY }, () => {
  const error = { message: 'Overloaded after all.' };
  const usage = { prompt_tokens: 10, completion_tokens: 5 };
  for (const status of REFUSALS) {
    for (const stream of [false, true]) {
      const what = `${status} ${stream ? 'to a stream ' : ''}with usage`;
      test(`${what} is charged by it, and not tried at another upstream, which would bill it again`, () =>
        withStage(2, {}, async (stage) => {
          stage.follow(answering({ error, usage }, status), serving('from the second'));
          const key = stage.key();
          const reply = await stage.ask(key, { stream });
          assert.match(assertError(reply, 502, 'upstream_error'), /Overloaded after all/);
          assert.deepEqual(stage.asked, [1, 0]);
          const row = await stage.row(key);
          assert.deepEqual([row.source, row.cost_nanos, row.attempts], ['reported', SERVED_COST, 1]);
        }));
    }
  }
});

test('a request that several upstreams rejected completely is free', () =>
  withStage(2, {}, async (stage) => {
    stage.follow(refusing(503), refusing(503));
    const key = stage.key();
    assertError(await stage.ask(key), 502, 'upstream_error');
    const row = await stage.row(key);
    assert.deepEqual([row.attempts, row.cost_nanos], [2, 0]);
  }));
