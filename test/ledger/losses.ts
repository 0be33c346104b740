/** Lost entries of the log, as after a failover to a standby that lagged: gateways record them if clients were promised them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lossText } from '../../src/core/log-loss.ts';
import { LedgerBench, NOON, USD } from './bench.ts';
import { backUp, restoreUnder } from './doubts.ts';
import type { SharedDatabase, SharedStore } from './shared-store.ts';

const HOLD = 100n;
const DAY_MS = 86_400_000;

async function stage(t: { after(work: () => Promise<void>): void }, database: SharedDatabase) {
  const bench = await LedgerBench.of(t, database.openStore);
  const store = bench.store as SharedStore;
  await bench.addCredit(USD);
  const key = await bench.newKey();
  const seq = async () => (await database.read('SELECT seq FROM inf_gw.account'))[0]?.seq as bigint;
  const losses = async () => (await store.operator.nodes?.losses(10)) ?? [];
  return { bench, store, key, seq, losses, other: await store.startOther('second') };
}

export function testLosses(database: SharedDatabase): void {
  test('each gateway that has followed lost entries records the loss once, with the requests that it charges for', async (t) => {
    const { bench, store, key, seq, losses, other } = await stage(t, database);
    const ended = await bench.admit(key, { holdNanos: HOLD });
    const kept = await seq();
    const restore = await backUp(database);
    await store.advance(1_000);
    await bench.settle(ended, { costNanos: 10n });
    const open = await bench.admit(key, { holdNanos: HOLD });
    const seen = await seq();
    // The second gateway only reads these entries: no client of its own waits for them.
    await bench.process([{ kind: 'identify', keyHash: key.hash }], other.engine);
    await restore();
    await store.advance(1_000);
    // An entry of the second gateway after the restore is not a part of the loss.
    await bench.process([{ kind: 'admit', request: bench.request(key) }], other.engine);
    for (let i = 0; i < 3; i++) await bench.identify(key);
    const found = { keptSeq: kept, keptAtMs: NOON, seenSeq: seen, seenAtMs: NOON + 1_000, foundAtMs: NOON + 2_000 };
    const [loss, ...others] = await losses();
    assert.deepEqual(loss, { node: 'first', ...found, heldRequests: 1, lateRequests: 1, acceptedAtMs: null });
    assert.deepEqual(others, []);
    assert.match(lossText(loss), /lost entries \d+ to \d+ of the log, .* charges 1 request as held .* and 1 in flight/);
    await bench.settle(open, { costNanos: 20n });
    await store.engine.maintain();
    assert.equal((await bench.balance())[0], USD - HOLD - 20n);
    const audit = async () => (await database.findFaults()).map((fault) => fault.replace(/;.*/, ''));
    assert.deepEqual(await audit(), [lossText(loss).replace(/;.*/, '')]);
    await store.operator.nodes?.acceptLosses();
    assert.deepEqual([await losses(), await audit()], [[], []]);
  });

  test('a second loss is recorded, even if only late settlements waited for the disk, or the clock was days ahead', async (t) => {
    const { bench, store, key, losses, other } = await stage(t, database);
    const start = await backUp(database);
    const open = await bench.admit(key, { holdNanos: HOLD });
    for (let i = 0; i < 3; i++) await bench.admit(key);
    await start();
    await bench.identify(key);
    await bench.settle(open, { costNanos: 20n });
    assert.equal((await losses()).length, 1);
    const late = await backUp(database);
    await bench.process([{ kind: 'admit', request: bench.request(key) }], other.engine);
    await bench.identify(key);
    await late();
    await bench.identify(key);
    assert.equal(store.process.losses.length, 2);
    const ahead = await backUp(database);
    await store.advance(3 * DAY_MS);
    await bench.admit(key);
    await ahead();
    await store.stepInSilence(-3 * DAY_MS);
    await bench.identify(key).catch(() => {});
    await store.engine.probe().catch(() => {});
    assert.equal(store.process.losses.length, 3);
    await store.operator.nodes?.acceptLosses();
  });

  test('a gateway that waits for a lock while the database is restored reports the lost entries', async (t) => {
    const { bench, store, key, losses } = await stage(t, database);
    await bench.admit(key);
    const restore = await backUp(database);
    await bench.admit(key);
    await restoreUnder(database, restore, () => bench.admit(key));
    assert.equal(store.process.losses.length, 1);
    assert.equal((await losses()).length, 1);
    await store.operator.nodes?.acceptLosses();
  });

  test('an edit and a late settlement that wait for a lock while the database is restored are carried out', async (t) => {
    const { bench, store, key } = await stage(t, database);
    const beforeEdit = await backUp(database);
    await restoreUnder(database, beforeEdit, () => bench.addCredit(USD));
    assert.equal((await bench.balance())[0], 2n * USD);
    const beforeAdmission = await backUp(database);
    const open = await bench.admit(key, { holdNanos: HOLD });
    await beforeAdmission();
    await bench.identify(key);
    const beforeEnd = await backUp(database);
    await restoreUnder(database, beforeEnd, () => bench.settle(open, { costNanos: 20n }));
    assert.equal((await bench.balance())[0], 2n * USD - 20n);
    await store.operator.nodes?.acceptLosses();
  });

  test('the loss of an edit by an operator is recorded', async (t) => {
    const { bench, key, losses } = await stage(t, database);
    await bench.admit(key);
    const restore = await backUp(database);
    await bench.addCredit(USD);
    await bench.identify(key);
    await restore();
    await bench.identify(key);
    assert.equal((await losses()).length, 1);
    await bench.store.operator.nodes?.acceptLosses();
  });

  test('the loss of entries that no flush has confirmed is recorded only with `durability: crash`', async (t) => {
    const { bench, store, key, seq, losses } = await stage(t, database);
    for (const durability of ['full', 'crash'] as const) {
      store.process.renew(bench.settings, bench.clock, undefined, durability);
      await bench.identify(key);
      await store.engine.write();
      const restore = await backUp(database);
      const before = await seq();
      await store.advance(1_000);
      await store.engine.process([{ kind: 'admit', request: bench.request(key) }]);
      assert.ok((await seq()) > before);
      await restore();
      await bench.identify(key);
      assert.equal(store.process.losses.length, 1);
      assert.equal((await losses()).length, durability === 'full' ? 0 : 1);
    }
    await store.operator.nodes?.acceptLosses();
  });
}
