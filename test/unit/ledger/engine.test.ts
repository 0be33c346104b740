/** The engine: what admission takes and settlement releases, in memory and in the file. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DAY_MS } from '../../../src/core/clock.ts';
import { NOON, openBench, USD } from './bench.ts';

describe('an admitted request', () => {
  test('has its hold in the file before it is answered', (t) => {
    const bench = openBench(t);
    bench.addCredit(USD);
    const key = bench.newKey();
    const requestId = bench.admit(key, { holdNanos: 7n, inputTokens: 11, outputTokens: 22 });
    assert.deepEqual(
      bench.rows('holds').map((row) => ({ ...row })),
      [
        {
          request_id: requestId,
          key_id: key.id,
          model: 'mock/echo',
          admitted_at_ms: BigInt(NOON),
          input_tokens: 11n,
          output_tokens: 22n,
          hold_nanos: 7n,
          price: null,
          levels: null,
        },
      ],
    );
    assert.deepEqual(bench.operator.account.balance(), { balanceNanos: USD, heldNanos: 7n });
  });

  test('releases its hold when it is settled, and is charged what it cost', (t) => {
    const bench = openBench(t);
    bench.addCredit(USD);
    const key = bench.newKey();
    const requestId = bench.admit(key, { holdNanos: 700n });
    bench.clock.advance(2_500);
    const usage = { promptTokens: 30, cachedTokens: 5, completionTokens: 12 };
    const end = { source: 'counted', outcome: 'upstream_error', completionId: 'chatcmpl-1', firstByteMs: 250 } as const;
    const served = { model: 'mock/spare', upstream: 'mock', attempts: 2 };
    const spentBy = { user: 'alice', tag: '', app: 'curl' };
    const failure = { reason: 'http_status', status: 500, message: 'upstream 500' } as const;
    bench.settle(requestId, { ...end, usage, costNanos: 41n, served, failure, spentBy });
    assert.deepEqual(bench.operator.account.balance(), { balanceNanos: USD - 41n, heldNanos: 0n });
    assert.deepEqual(bench.rows('holds'), []);
    assert.deepEqual(
      bench.rows('journal').map((row) => ({ ...row })),
      [
        {
          id: 1n,
          request_id: requestId,
          key_id: key.id,
          model: 'mock/spare',
          requested_model: 'mock/echo',
          upstream: 'mock',
          attempts: 2n,
          admitted_at_ms: BigInt(NOON),
          settled_at_ms: BigInt(NOON + 2_500),
          outcome: 'upstream_error',
          source: 'counted',
          prompt_tokens: 30n,
          cached_tokens: 5n,
          cache_write_tokens: 0n,
          completion_tokens: 12n,
          cost_nanos: 41n,
          completion_id: 'chatcmpl-1',
          first_byte_ms: 250n,
          hold_nanos: 700n,
          corrected_at_ms: null,
          failure_reason: 'http_status',
          failure_status: 500n,
          failure_message: 'upstream 500',
          price: null,
          levels: null,
          by_user: 'alice',
          by_tag: null,
          by_app: 'curl',
        },
      ],
    );
    assert.deepEqual(bench.operator.usage.monthOf(key.id, '2026-11'), { requests: 1, tokens: 42, costNanos: 41n });
  });

  test('counts in the rate-limit figures with what it reserves, and once settled with what it used', (t) => {
    const bench = openBench(t, { rpm: 10, tpm: 1_000 });
    const key = bench.newKey();
    const request = bench.request(key, { reservedTokens: 300 });
    const opened = bench.decide(request).figures;
    assert.deepEqual([opened.remainingRequests, opened.remainingTokens], [9, 700]);
    bench.clock.advance(10_000);
    const settled = bench.settle(request.requestId);
    assert.deepEqual(settled, {
      limitRequests: 10,
      remainingRequests: 9,
      resetRequestsS: 50,
      limitTokens: 1_000,
      remainingTokens: 990,
      resetTokensS: 60,
    });
    bench.clock.advance(60_000);
    const { figures } = bench.identify(key);
    assert.deepEqual([figures.remainingRequests, figures.resetRequestsS], [10, 0]);
    assert.deepEqual([figures.remainingTokens, figures.resetTokensS], [1_000, 0]);
  });

  test('that is settled twice or was never admitted is an internal error, and changes nothing', (t) => {
    const bench = openBench(t);
    bench.addCredit(USD);
    const requestId = bench.admit(bench.newKey());
    bench.settle(requestId, { costNanos: 5n });
    const before = bench.dump();
    assert.throws(() => bench.settle(requestId, { costNanos: 5n }), /settled twice/);
    assert.throws(() => bench.settle('req_unknown'), /never admitted/);
    assert.deepEqual(bench.dump(), before);
  });

  test('releases its slot', (t) => {
    const bench = openBench(t, { concurrency: 1 });
    const key = bench.newKey();
    const requestId = bench.admit(key);
    assert.equal(bench.refuse(key).reason, 'concurrency');
    bench.settle(requestId);
    bench.admit(key);
  });
});

describe('the wait that a refusal names', () => {
  test('is long enough for a lone client, and a second less is not', (t) => {
    const bench = openBench(t, { rpm: 2, tpm: 1_000 });
    const key = bench.newKey();
    const usage = { promptTokens: 400, cachedTokens: 0, completionTokens: 300 };
    bench.settle(bench.admit(key), { usage });
    bench.clock.advance(700.25);
    bench.settle(bench.admit(key));
    bench.clock.advance(12_345.5);
    const refusal = bench.refuse(key, { reservedTokens: 500 });
    assert.ok('retryAfterS' in refusal);
    bench.clock.advance((refusal.retryAfterS - 1) * 1_000);
    assert.equal(bench.refuse(key, { reservedTokens: 500 }).reason, 'requests_per_minute');
    bench.clock.advance(1_000);
    bench.admit(key, { reservedTokens: 500 });
  });
});

describe('the month', () => {
  const LAST_MOMENT = Date.UTC(2026, 10, 30, 23, 59, 59, 999);

  test('of a charge is the month of the admission, whenever it is settled', (t) => {
    const bench = openBench(t);
    bench.clock.wall = LAST_MOMENT;
    bench.addCredit(USD);
    const key = bench.newKey({ spendLimitNanos: 100n });
    const late = bench.admit(key, { holdNanos: 60n });
    bench.clock.advance(1);
    bench.settle(late, { costNanos: 100n });
    assert.equal(bench.operator.usage.monthOf(key.id, '2026-11').costNanos, 100n);
    assert.equal(bench.operator.usage.monthOf(key.id, '2026-12').requests, 0);
    assert.equal(bench.rows('usage_days')[0]?.day, '2026-11-30');
    // Nothing is charged in December, in memory either.
    bench.settle(bench.admit(key), { costNanos: 99n });
    bench.settle(bench.admit(key), { costNanos: 1n });
    assert.equal(bench.refuse(key).reason, 'spend_limit_reached');
  });

  test('resets a reached spend limit when it begins', (t) => {
    const bench = openBench(t);
    bench.clock.wall = LAST_MOMENT;
    bench.addCredit(USD);
    const key = bench.newKey({ spendLimitNanos: 100n });
    bench.settle(bench.admit(key), { costNanos: 100n });
    assert.equal(bench.refuse(key).reason, 'spend_limit_reached');
    bench.clock.advance(1);
    bench.admit(key);
  });

  test('is the same in memory and in the file when it changes during an admission', (t) => {
    const bench = openBench(t);
    bench.addCredit(USD);
    // Whichever reading of the clock is the first in December.
    for (let novemberReadings = 1; novemberReadings <= 6; novemberReadings++) {
      const key = bench.newKey({ spendLimitNanos: 100n });
      let readings = 0;
      bench.clock.wallMs = () => (readings++ < novemberReadings ? LAST_MOMENT : LAST_MOMENT + 1);
      const requestId = bench.admit(key);
      bench.settle(requestId, { costNanos: 100n });
      const charged = bench.operator.usage.monthOf(key.id, '2026-12').costNanos;
      const { admitted } = bench.decide(bench.request(key));
      assert.equal(admitted, charged === 0n, `after ${novemberReadings} readings December was charged ${charged}`);
    }
  });

  test('begins at midnight UTC', (t) => {
    const bench = openBench(t);
    const key = bench.newKey();
    bench.clock.wall = Date.UTC(2026, 11, 1) - 1;
    bench.settle(bench.admit(key));
    bench.clock.advance(1);
    bench.settle(bench.admit(key));
    bench.clock.advance(DAY_MS);
    bench.settle(bench.admit(key));
    const months = [...bench.rows('usage_months')].map((row) => [row.month, row.requests]);
    assert.deepEqual(months, [
      ['2026-11', 1n],
      ['2026-12', 2n],
    ]);
  });
});

describe('money that is held', () => {
  test('is released when the requests that hold it cost less', (t) => {
    const bench = openBench(t);
    bench.addCredit(10n);
    const key = bench.newKey();
    const first = bench.admit(key, { holdNanos: 6n });
    assert.deepEqual(bench.refuse(key, { holdNanos: 5n }), { reason: 'money_spoken_for', retryAfterS: 1 });
    bench.settle(first, { costNanos: 5n });
    bench.admit(key, { holdNanos: 5n });
  });

  test('counts over all keys for the balance, and per key for its spend limit', (t) => {
    const bench = openBench(t);
    bench.addCredit(100n);
    const [a, b] = [bench.newKey({ spendLimitNanos: 50n }), bench.newKey({ spendLimitNanos: 50n })];
    bench.admit(a, { holdNanos: 50n });
    assert.equal(bench.refuse(a, { holdNanos: 1n }).reason, 'money_spoken_for');
    bench.admit(b, { holdNanos: 49n });
    assert.equal(bench.refuse(b, { holdNanos: 2n }).reason, 'money_spoken_for');
  });

  test('lets concurrent requests exceed a spend limit by less than one of them', (t) => {
    const bench = openBench(t);
    bench.addCredit(1_000n);
    const key = bench.newKey({ spendLimitNanos: 100n });
    const commands = Array.from({ length: 20 }, () => ({
      kind: 'admit' as const,
      request: bench.request(key, { holdNanos: 30n }),
    }));
    const answers = bench.engine.process(commands) as { admitted: boolean }[];
    assert.equal(answers.filter(({ admitted }) => admitted).length, 4);
  });
});

describe('the window of model listings', () => {
  test('is separate: listings do not count as requests, nor requests as listings', (t) => {
    const bench = openBench(t, { rpm: 1, modelsRpm: 2 });
    const key = bench.newKey();
    bench.admit(key);
    assert.equal(bench.list(key).kind, 'admitted');
    bench.clock.advance(15_000);
    const second = bench.list(key);
    assert.deepEqual([second.figures.limitRequests, second.figures.remainingRequests], [2, 0]);
    const limited = bench.list(key);
    assert.equal(limited.kind, 'limited');
    assert.equal(limited.kind === 'limited' && limited.retryAfterS, 45);
    assert.equal(bench.identify(key).figures.remainingRequests, 0);
    bench.clock.advance(45_000);
    assert.equal(bench.list(key).kind, 'admitted');
  });

  test('admits no key that is unknown, deleted or disabled', (t) => {
    const bench = openBench(t);
    const [deleted, disabled] = [bench.newKey(), bench.newKey()];
    bench.operator.keys.setState(deleted.id, 'deleted');
    bench.operator.keys.setState(disabled.id, 'disabled');
    assert.equal(bench.list(deleted).kind, 'unknown');
    assert.equal(bench.list({ ...deleted, hash: '00' }).kind, 'unknown');
    assert.equal(bench.list(disabled).kind, 'disabled');
  });
});
