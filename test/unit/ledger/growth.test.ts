/** Holds that grow with their streams: from what is left, written at once, and charged after a crash. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Grant } from '../../../src/ledger/ledger.ts';
import { type Bench, openBench, USD } from './bench.ts';

const grow = (bench: Bench, requestId: string, holdNanos: bigint, outputTokens = 40) =>
  bench.engine.process([{ kind: 'grow', growth: { requestId, outputTokens, holdNanos } }])[0] as Grant;

/** The request holds 100 nanos for 20 tokens of output. */
function withStream(t: { after(work: () => void): void }, credit: bigint, spendLimitNanos: bigint | null = null) {
  const bench = openBench(t);
  bench.addCredit(credit);
  const key = bench.newKey({ spendLimitNanos });
  const requestId = bench.admit(key, { holdNanos: 100n, outputTokens: 20 });
  return { bench, key, requestId };
}

describe('a hold grows', () => {
  test('by all that is asked for, which is in the file before the answer', (t) => {
    const { bench, requestId } = withStream(t, USD);
    assert.deepEqual(grow(bench, requestId, 200n), { granted: true, holdNanos: 200n });
    assert.deepEqual(bench.operator.account.balance(), { balanceNanos: USD, heldNanos: 200n });
    assert.equal(bench.rows('holds')[0]?.output_tokens, 40n);
    bench.settle(requestId, { costNanos: 150n });
    assert.equal(bench.rows('journal')[0]?.hold_nanos, 200n);
    assert.deepEqual(bench.operator.account.balance(), { balanceNanos: USD - 150n, heldNanos: 0n });
  });

  test('by as much as the balance leaves, and then not at all', (t) => {
    const { bench, requestId } = withStream(t, 150n);
    assert.deepEqual(grow(bench, requestId, 200n), { granted: true, holdNanos: 150n });
    assert.equal(bench.rows('holds')[0]?.output_tokens, 30n);
    const refusal = { reason: 'insufficient_credit', balanceNanos: 150n };
    assert.deepEqual(grow(bench, requestId, 200n), { granted: false, refusal });
    assert.equal(bench.operator.account.balance().heldNanos, 150n);
  });

  test('by as much as the spend limit leaves after charges and the other holds of the key', (t) => {
    const { bench, key, requestId } = withStream(t, USD, 500n);
    bench.settle(bench.admit(key, { holdNanos: 10n }), { costNanos: 60n });
    bench.admit(key, { holdNanos: 90n });
    assert.deepEqual(grow(bench, requestId, 900n), { granted: true, holdNanos: 350n });
    const refusal = { reason: 'spend_limit_reached', limitNanos: 500n };
    assert.deepEqual(grow(bench, requestId, 900n), { granted: false, refusal });
  });

  test('counts against the next request', (t) => {
    const { bench, key, requestId } = withStream(t, 1_000n);
    grow(bench, requestId, 950n);
    assert.equal(bench.refuse(key, { holdNanos: 51n }).reason, 'money_spoken_for');
    assert.ok(bench.admit(key, { holdNanos: 50n }));
  });

  test('without limit where credit is off', (t) => {
    const bench = openBench(t, { creditEnforced: false });
    const requestId = bench.admit(bench.newKey(), { holdNanos: 100n });
    assert.deepEqual(grow(bench, requestId, 5_000n), { granted: true, holdNanos: 5_000n });
  });

  test('in the month of its admission, also when that is over', (t) => {
    const bench = openBench(t);
    bench.clock.wall = Date.UTC(2026, 10, 30, 23, 59);
    bench.addCredit(USD);
    const key = bench.newKey({ spendLimitNanos: 300n });
    const requestId = bench.admit(key, { holdNanos: 100n });
    bench.clock.advance(120_000);
    const inNext = bench.admit(key, { holdNanos: 290n });
    // December's hold takes nothing from November's limit.
    assert.deepEqual(grow(bench, requestId, 900n), { granted: true, holdNanos: 300n });
    assert.deepEqual(grow(bench, inNext, 900n), { granted: true, holdNanos: 300n });
    assert.equal(grow(bench, requestId, 900n).granted, false);
  });

  test('and is undone with its batch', (t) => {
    const { bench, key, requestId } = withStream(t, USD);
    const file = bench.dump();
    const growth = { requestId, outputTokens: 40, holdNanos: 200n };
    const unknown = { kind: 'free_slot', requestId: 'req_unknown' } as const;
    assert.throws(() => bench.engine.process([{ kind: 'grow', growth }, { kind: 'free_slot', requestId }, unknown]));
    assert.deepEqual(bench.dump(), file);
    bench.settle(requestId, { costNanos: 5n });
    bench.admit(key, { holdNanos: USD - 5n });
  });
});

test('a crash charges the grown hold, with the tokens it covers', (t) => {
  const { bench, requestId } = withStream(t, USD);
  grow(bench, requestId, 200n);
  bench.database.close();
  bench.start();
  const [row] = bench.rows('journal');
  assert.deepEqual([row?.source, row?.completion_tokens, row?.cost_nanos], ['held', 40n, 200n]);
  assert.equal(bench.summary.balanceNanos, USD - 200n);
});

test('a freed slot is free for the next request, and the hold stays', (t) => {
  const bench = openBench(t, { concurrency: 1 });
  bench.addCredit(USD);
  const key = bench.newKey();
  const requestId = bench.admit(key, { holdNanos: 100n });
  assert.equal(bench.refuse(key).reason, 'concurrency');
  bench.engine.process([{ kind: 'free_slot', requestId }]);
  const next = bench.admit(key);
  assert.equal(bench.refuse(key).reason, 'concurrency');
  assert.equal(bench.operator.account.balance().heldNanos, 100n);
  bench.settle(requestId);
  assert.equal(bench.refuse(key).reason, 'concurrency');
  bench.settle(next);
  bench.admit(key);
});
