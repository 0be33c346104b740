/** Which price a request is held and charged by. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LedgerBench, type OpenStore, USD } from './bench.ts';

const HELD_AT = '1/1/2';
const CHARGED_AT = '3/3/4 of=2026-11-22';

export function testPrices(openStore: OpenStore): void {
  describe('the price of a request', () => {
    test('is that of its settlement, and that of its hold before', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      await bench.addCredit(USD);
      const id = await bench.admit(await bench.newKey(), { holdNanos: 100n, price: HELD_AT });
      assert.equal((await bench.store.rows('holds'))[0]?.price, HELD_AT);
      await bench.settle(id, { costNanos: 50n, price: CHARGED_AT });
      assert.equal((await bench.store.rows('journal'))[0]?.price, CHARGED_AT);
    });

    test('is that of its hold where a crash has left it open', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      await bench.addCredit(USD);
      await bench.admit(await bench.newKey(), { holdNanos: 100n, price: HELD_AT });
      await bench.store.crash(60_000);
      const [row] = await bench.store.rows('journal');
      assert.deepEqual([row?.source, row?.price], ['held', HELD_AT]);
    });
  });
}
