/** The account: entries, the balance after each, and the range of both. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_NANOS } from '../../src/core/money.ts';
import { enter, holdOf, makeKey, NOON, onEachStore, USD } from './stage.ts';

onEachStore((open) => {
  test('a new account is empty', async (t) => {
    const { account } = (await open(t)).state;
    assert.deepEqual(await account.balance(), { balanceNanos: 0n, heldNanos: 0n });
    assert.deepEqual(await account.history(), []);
  });

  test('the history lists each entry with its note and the balance after it, oldest first', async (t) => {
    const stage = await open(t);
    const { account } = stage.state;
    await account.enter(5n * USD, 'first', NOON);
    await account.enter(-2n * USD, '', NOON + 1);
    const { id } = await makeKey(stage.state);
    await enter(stage, holdOf(id, { holdNanos: 1n }), { costNanos: 1n });
    await account.enter(1n, "it's “third” 😀", NOON + 2);
    assert.deepEqual(await account.history(), [
      { atMs: NOON, amountNanos: 5n * USD, balanceNanos: 5n * USD, note: 'first' },
      { atMs: NOON + 1, amountNanos: -2n * USD, balanceNanos: 3n * USD, note: '' },
      { atMs: NOON + 2, amountNanos: 1n, balanceNanos: 3n * USD, note: "it's “third” 😀" },
    ]);
    await stage.assertSound();
  });

  test('a balance may fall below zero, and is reported with the holds', async (t) => {
    const stage = await open(t);
    const { id } = await makeKey(stage.state);
    await stage.hold(holdOf(id, { holdNanos: 7n }));
    await stage.hold(holdOf(id, { holdNanos: 5n }));
    const expected = { balanceNanos: -USD, heldNanos: 12n };
    assert.deepEqual(await stage.state.account.enter(-USD, '', NOON), expected);
    assert.deepEqual(await stage.state.account.balance(), expected);
  });

  test('an entry that would take the balance out of range is refused, and changes nothing', async (t) => {
    const stage = await open(t);
    const { account } = stage.state;
    assert.deepEqual(await account.enter(MAX_NANOS, '', NOON), { balanceNanos: MAX_NANOS, heldNanos: 0n });
    assert.equal(await account.enter(1n, '', NOON), undefined);
    await account.enter(-MAX_NANOS, '', NOON);
    await account.enter(-MAX_NANOS, '', NOON);
    const before = await stage.dump();
    assert.equal(await account.enter(-1n, '', NOON), undefined);
    assert.deepEqual(await stage.dump(), before);
    assert.equal((await account.balance()).balanceNanos, -MAX_NANOS);
    assert.equal((await account.history()).length, 3);
  });

  test('entries of several processes at once all count, and each has the balance after it', async (t) => {
    const stage = await open(t);
    const states = [stage.state, await stage.open(), await stage.open()];
    const amounts = Array.from({ length: 30 }, (_, i) => 10n ** BigInt(i % 10));
    await Promise.all(amounts.map((amount, i) => states[i % states.length]?.account.enter(amount, '', NOON)));
    let balanceNanos = 0n;
    for (const entry of await stage.state.account.history()) {
      balanceNanos += entry.amountNanos;
      assert.equal(entry.balanceNanos, balanceNanos);
    }
    assert.equal(balanceNanos, 3n * 1_111_111_111n);
    await stage.assertSound();
  });
});
