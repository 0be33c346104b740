/** Holds, spend limits and credit: who may spend, and what is held while a request is in flight. */
import assert from 'node:assert/strict';
import test, { after, describe } from 'node:test';
import { answering, completion } from '../support/answers.ts';
import { assertError } from '../support/expect.ts';
import { chat, type GatewayOptions, type TestGateway, type TestKey, withGateway } from '../support/gateway.ts';
import { oneGateway } from '../support/one-gateway.ts';

/** The hold of a request that declares no maximum: 5 tokens in, 100 out. */
const HOLD_NANOS = 205_000n;
/** What such a request really costs. */
const COST_NANOS = 20_000n;

/** Runs a test that concerns only keys of its own. */
const onShared = oneGateway({ after });

const usd = (nanos: bigint): GatewayOptions => ({ credit: `0.${String(nanos).padStart(9, '0')}` });

/**
 * Keeps one request of the key in flight while `run` runs; returns the status that it ends with.
 */
async function during(gateway: TestGateway, key: TestKey, body: string, run: () => Promise<void>): Promise<void> {
  const release = gateway.upstream.followLater(answering(completion('hi')));
  const first = gateway.complete(key, body);
  try {
    await gateway.upstream.call();
    await run();
  } finally {
    release();
    assert.equal((await first).status, 200);
  }
}

describe('the hold', () => {
  const CASES: readonly (readonly [name: string, fields: Record<string, unknown>, nanos: bigint])[] = [
    ['the default output if no maximum is declared', {}, HOLD_NANOS],
    ['the default output for each choice', { n: 2 }, 405_000n],
    ['the declared maximum', { max_tokens: 1 }, 7_000n],
    ['the larger of two maxima, the old one', { max_tokens: 900, max_completion_tokens: 2 }, 1_805_000n],
    ['the larger of two maxima, the new one', { max_tokens: 2, max_completion_tokens: 900 }, 1_805_000n],
    ['the declared maximum for each choice', { max_tokens: 1, n: 3 }, 11_000n],
    ['at most what the model can produce', { max_tokens: 999_999 }, 2_005_000n],
    ['nothing for a model without a price', { model: 'fake/free' }, 0n],
    ['512 tokens of output if the config sets none', { model: 'fake/team/nested' }, 517_000n],
  ];
  for (const [name, fields, nanos] of CASES) {
    test(`is ${name}`, () =>
      onShared(async (gateway) => {
        const key = gateway.key();
        await during(gateway, key, chat(fields), async () => {
          assert.equal(gateway.holds(key), 1);
          assert.equal(gateway.heldNanos(key), nanos);
        });
        assert.equal(gateway.holds(key), 0);
      }));
  }
});

describe('the spend limit of a key', () => {
  test('stops it once its charges reach it, until it is raised', () =>
    onShared(async (gateway) => {
      gateway.upstream.follow(answering(completion('hi')));
      const key = gateway.key({ spendLimitNanos: 2n * COST_NANOS });
      const statuses = [];
      for (let i = 0; i < 4; i++) statuses.push((await gateway.complete(key)).status);
      assert.deepEqual(statuses, [200, 200, 402, 402]);
      assertError(await gateway.complete(key), 402, 'spend_limit_reached');
      gateway.setLimits(key, { spendLimitNanos: 2n * COST_NANOS + 1n });
      assert.equal((await gateway.complete(key)).status, 200);
      gateway.setLimits(key, { spendLimitNanos: null });
      assert.equal((await gateway.complete(key)).status, 200);
      assert.equal((await gateway.complete(gateway.key())).status, 200);
    }));

  test('and its budgets name what is reached, when it has room again, and how to raise it', () =>
    withGateway({}, async (gateway) => {
      gateway.upstream.follow(answering(completion('hi')));
      const messageFor = async (period: string) => {
        const key = gateway.key({ name: period, budgets: [{ period, limitNanos: COST_NANOS }] });
        assert.equal((await gateway.complete(key)).status, 200);
        const refused = await gateway.complete(key);
        assertError(refused, 402, 'spend_limit_reached');
        return JSON.parse(refused.text).error.message as string;
      };
      const time = String.raw`It has room again at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\. `;
      const raise = (period: string) =>
        `The operator can raise it: inf-gw limits set ${period} --budget ${period}=<usd>`;
      for (const period of ['day', '24h']) {
        const said = `^The key ${period} has reached its budget of 0\\.\\d+ USD per ${period}\\. ${time}${raise(period)}$`;
        assert.match(await messageFor(period), new RegExp(said));
      }
      assert.match(await messageFor('total'), new RegExp(`its total budget of 0\\.\\d+ USD\\. ${raise('total')}$`));
    }));

  test('of 0 stops everything, even models without a price', () =>
    onShared(async (gateway) => {
      const key = gateway.key({ spendLimitNanos: 0n });
      for (const model of ['fake/echo', 'fake/free']) {
        assertError(await gateway.complete(key, chat({ model })), 402, 'spend_limit_reached');
      }
      assert.equal((await gateway.request('/v1/models', { key })).status, 200);
    }));

  test('that open holds would reach is a 429, and only that', () =>
    onShared(async (gateway) => {
      const key = gateway.key({ spendLimitNanos: HOLD_NANOS });
      await during(gateway, key, chat(), async () => {
        const answer = await gateway.complete(key);
        assertError(answer, 429, 'rate_limited');
        assert.equal(answer.headers.get('retry-after'), '1');
        assert.equal((await gateway.request('/v1/models', { key })).status, 200);
      });
      gateway.upstream.follow(answering(completion('hi')));
      assert.equal((await gateway.complete(key)).status, 200);
    }));

  test('is exceeded by less than one request, however many race', () =>
    onShared(async (gateway) => {
      gateway.upstream.follow(
        answering(completion('hi', { usage: { prompt_tokens: 5, completion_tokens: 50, total_tokens: 55 } })),
      );
      const key = gateway.key({ spendLimitNanos: 300_000n });
      const body = chat({ max_tokens: 50 });
      for (let round = 0; round < 5; round++) {
        await Promise.all(Array.from({ length: 20 }, () => gateway.complete(key, body)));
      }
      const spent = gateway.rows(key).reduce((sum, row) => sum + row.cost_nanos, 0);
      assert.equal(spent, 315_000);
    }));
});

describe('the credit of the account', () => {
  test('must cover the hold, to the nanodollar', () =>
    withGateway(usd(HOLD_NANOS - 1n), async (gateway) => {
      const key = gateway.key();
      assertError(await gateway.complete(key), 402, 'insufficient_credit');
      gateway.upstream.follow(answering(completion('hi')));
      gateway.addCredit(1n);
      assert.equal((await gateway.complete(key)).status, 200);
      assert.equal(gateway.balanceNanos, HOLD_NANOS - COST_NANOS);
      assertError(await gateway.complete(key), 402, 'insufficient_credit');
      assert.equal((await gateway.complete(key, chat({ max_tokens: 1 }))).status, 200);
    }));

  test('that is held for other keys is a 429', () =>
    withGateway(usd(2n * HOLD_NANOS - 1n), async (gateway) => {
      const [one, other] = [gateway.key(), gateway.key()];
      await during(gateway, one, chat(), async () => {
        const answer = await gateway.complete(other);
        assertError(answer, 429, 'rate_limited');
        assert.equal(answer.headers.get('retry-after'), '1');
      });
      gateway.upstream.follow(answering(completion('hi')));
      assert.equal((await gateway.complete(other)).status, 200);
    }));

  test('is never overdrawn by requests with declared maxima, however many race', () =>
    withGateway(usd(1_000_000n), async (gateway) => {
      const usage = { prompt_tokens: 5, completion_tokens: 50, total_tokens: 55 };
      gateway.upstream.follow(answering(completion('hi', { usage })));
      const key = gateway.key();
      const body = chat({ max_tokens: 50 });
      let statuses: number[] = [];
      do {
        const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.complete(key, body)));
        statuses = answers.map(({ status }) => status);
        assert.ok(gateway.balanceNanos >= 0n);
      } while (statuses.includes(200));
      assert.deepEqual(new Set(statuses), new Set([402]));
      // 105,000 per request: nine of them.
      assert.equal(gateway.balanceNanos, 55_000n);
    }));

  test('is not needed for a model without a price', () =>
    withGateway({ credit: '0' }, async (gateway) => {
      gateway.upstream.follow(answering(completion('hi')));
      const key = gateway.key();
      assert.equal((await gateway.complete(key, chat({ model: 'fake/free' }))).status, 200);
      assertError(await gateway.complete(key), 402, 'insufficient_credit');
      assert.equal((await gateway.row(key)).cost_nanos, 0);
    }));

  test('can be overdrawn by a request without a declared maximum; models without a price still work', () =>
    withGateway(usd(HOLD_NANOS), async (gateway) => {
      const usage = { prompt_tokens: 5, completion_tokens: 500, total_tokens: 505 };
      gateway.upstream.follow(answering(completion('hi', { usage })));
      const key = gateway.key();
      assert.equal((await gateway.complete(key)).status, 200);
      assert.equal(gateway.balanceNanos, HOLD_NANOS - 1_005_000n);
      assertError(await gateway.complete(key, chat({ max_tokens: 1 })), 402, 'insufficient_credit');
      assert.equal((await gateway.complete(key, chat({ model: 'fake/free' }))).status, 200);
    }));

  test('is ignored with credit: off, and usage is priced all the same', () =>
    withGateway({ credit: '0', config: { credit: 'off' } }, async (gateway) => {
      gateway.upstream.follow(answering(completion('hi')));
      const key = gateway.key({ spendLimitNanos: COST_NANOS });
      assert.equal((await gateway.complete(key)).status, 200);
      assert.equal(gateway.balanceNanos, -COST_NANOS);
      assertError(await gateway.complete(key), 402, 'spend_limit_reached');
    }));
});

test('a hold is in the file before the upstream sees the request, and the charge before the client sees the end', () =>
  onShared(async (gateway) => {
    const [key, balance] = [gateway.key(), gateway.balanceNanos];
    let heldAtArrival = 0;
    gateway.upstream.follow((call) => {
      heldAtArrival = gateway.holds(key);
      call.answer(200, completion('hi'));
    });
    await gateway.complete(key);
    assert.equal(heldAtArrival, 1);
    assert.deepEqual([gateway.rows(key).length, gateway.holds(key)], [1, 0]);
    assert.equal(gateway.balanceNanos, balance - COST_NANOS);
  }));
