/** The clock of the database against those of gateways: what is a step, and what is only slow. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../support/wait.ts';
import { LedgerBench, USD } from './bench.ts';
import type { SharedDatabase, SharedStore } from './shared-store.ts';

const SECOND_US = 1_000_000;

/** A gateway that has decided before, and so knows the clock of the database. */
async function open(t: { after(work: () => Promise<void>): void }, database: SharedDatabase) {
  const bench = await LedgerBench.of(t, database.openStore);
  await bench.addCredit(USD);
  const key = await bench.newKey();
  await bench.settle(await bench.admit(key));
  return { bench, store: bench.store as SharedStore, key };
}

/** Sets the clock of the database, and no other. */
const stepBy = (database: SharedDatabase, us: number) => database.read('UPDATE stage.world SET us = us + $1', [us]);

export function testClocks(database: SharedDatabase): void {
  describe('the clock of the database', () => {
    for (const us of [1.5 * SECOND_US, -1.5 * SECOND_US]) {
      test(`that steps by ${us / SECOND_US} s closes the gateway for a minute`, async (t) => {
        const { bench, store, key } = await open(t, database);
        await stepBy(database, us);
        await assert.rejects(bench.admit(key), (error) => /stepped/.test(store.engine.faultOf(error)?.message ?? ''));
        assert.match(store.engine.fault?.message ?? '', /stepped/);
        await store.advance(60_000);
        await stepBy(database, us);
        assert.equal(store.engine.fault, undefined);
        await bench.settle(await bench.admit(key));
      });
    }

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
