/** What a database has lost of its log, as after a failover to a standby that lagged: it is written down if clients were promised it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lossText } from '../../src/core/log-loss.ts';
import { LedgerBench, NOON, USD } from './bench.ts';
import { backUp } from './doubts.ts';
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
  test('what clients were promised and the database has lost is written down once by each gateway that knows, with what it charges for it', async (t) => {
    const { bench, store, key, seq, losses, other } = await stage(t, database);
    const ended = await bench.admit(key, { holdNanos: HOLD });
    const kept = await seq();
    const restore = await backUp(database);
    await store.advance(1_000);
    await bench.settle(ended, { costNanos: 10n });
    const open = await bench.admit(key, { holdNanos: HOLD });
    const seen = await seq();
    // It only reads what the first has asked: no client of its own waits for that.
    await bench.process([{ kind: 'identify', keyHash: key.hash }], other.engine);
    await restore();
    await store.advance(1_000);
    // What it adds meanwhile is none of what was lost.
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

  test('a second loss is written down, too, also where nobody has waited for the disk but late settlements, and where the clock was days ahead', async (t) => {
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

  test('what an operator was promised is written down, too', async (t) => {
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

  test('what a crash takes that no client was promised is not, unless gateways wait for no disk', async (t) => {
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
