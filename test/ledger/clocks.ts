/** The clock of the database against those of gateways: what is a step, and what is only slow. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../support/wait.ts';
import { LedgerBench, USD } from './bench.ts';
import type { SharedDatabase, SharedStore } from './shared-store.ts';

const DAY_MS = 86_400_000;

/** A gateway that has decided before, and so knows the clock of the database. */
async function open(t: { after(work: () => Promise<void>): void }, database: SharedDatabase) {
  const bench = await LedgerBench.of(t, database.openStore);
  await bench.addCredit(USD);
  const key = await bench.newKey();
  await bench.settle(await bench.admit(key));
  return { bench, store: bench.store as SharedStore, key };
}

export function testClocks(database: SharedDatabase): void {
  describe('the clock of the database', () => {
    for (const ms of [1_500, -1_500]) {
      test(`that steps by ${ms / 1_000} s closes the gateway for a minute`, async (t) => {
        const { bench, store, key } = await open(t, database);
        await store.step(ms);
        await assert.rejects(bench.admit(key), (error) => /stepped/.test(store.engine.faultOf(error)?.message ?? ''));
        assert.match(store.engine.fault?.message ?? '', /stepped/);
        await store.advance(60_000);
        assert.equal(store.engine.fault, undefined);
        await bench.settle(await bench.admit(key));
      });
    }

    test('that was ahead and came back hides no death: who died meanwhile is taken for dead', async (t) => {
      const { bench, store, key } = await open(t, database);
      const other = await store.startOther('second');
      await bench.process([{ kind: 'admit', request: bench.request(key, { holdNanos: 5n }) }], other.engine);
      await store.step(3 * DAY_MS);
      await assert.rejects(bench.admit(key));
      await store.advance(60_000);
      await bench.settle(await bench.admit(key));
      await other.kill();
      await store.stepInSilence(-3 * DAY_MS);
      await assert.rejects(bench.admit(key));
      await store.advanceInSilence(60_000);
      const [row] = await database.read('SELECT * FROM inf_gw.reap()');
      assert.deepEqual([row?.names, row?.settled], [['second'], 1n]);
      await bench.settle(await bench.admit(key));
    });

    test('has not stepped when a batch was on its way for two seconds, and the batch is decided', async (t) => {
      const { bench, store, key } = await open(t, database);
      const { link } = store.process;
      const before = link.bytes('toServer');
      link.hold();
      const admission = bench.admit(key);
      await until(() => link.bytes('toServer') > before);
      await store.advance(2_000);
      link.pass();
      await bench.settle(await admission);
      assert.equal(store.engine.fault, undefined);
    });
  });
}
