/** The account: entries, the balance after each, and the range of both. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_NANOS } from '../../../src/core/money.ts';
import { NOON, openBench, USD } from '../ledger/bench.ts';

test('the history lists each entry with its note and the balance after it, oldest first', (t) => {
  const bench = openBench(t);
  const { account } = bench.operator;
  account.enter(5n * USD, 'first', NOON);
  account.enter(-2n * USD, '', NOON + 1);
  bench.settle(bench.admit(bench.newKey(), { holdNanos: 1n }), { costNanos: 1n });
  account.enter(1n, 'third', NOON + 2);
  assert.deepEqual(account.history(), [
    { atMs: NOON, amountNanos: 5n * USD, balanceNanos: 5n * USD, note: 'first' },
    { atMs: NOON + 1, amountNanos: -2n * USD, balanceNanos: 3n * USD, note: '' },
    { atMs: NOON + 2, amountNanos: 1n, balanceNanos: 3n * USD, note: 'third' },
  ]);
});

test('a balance may fall below zero, and is reported with the holds', (t) => {
  const bench = openBench(t, { creditEnforced: false });
  bench.addCredit(-USD);
  bench.admit(bench.newKey(), { holdNanos: 7n });
  assert.deepEqual(bench.operator.account.balance(), { balanceNanos: -USD, heldNanos: 7n });
});

test('an entry that would take the balance out of range is refused', (t) => {
  const { account } = openBench(t).operator;
  assert.deepEqual(account.enter(MAX_NANOS, '', NOON), { balanceNanos: MAX_NANOS, heldNanos: 0n });
  assert.equal(account.enter(1n, '', NOON), undefined);
  account.enter(-MAX_NANOS, '', NOON);
  account.enter(-MAX_NANOS, '', NOON);
  assert.equal(account.enter(-1n, '', NOON), undefined);
  assert.equal(account.balance().balanceNanos, -MAX_NANOS);
  assert.equal(account.history().length, 3);
});
