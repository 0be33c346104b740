/** What admission would say, asked ahead: the figures that it decides by, and that nothing is taken. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LedgerBench, type OpenStore, USD } from './bench.ts';

const LIMITS = { rpm: 10, tpm: 1_000, concurrency: 2 };

export function testForecasts(openStore: OpenStore): void {
  describe('a forecast', () => {
    test('has the figures of the moment, and takes nothing however often it is asked', async (t) => {
      const bench = await LedgerBench.of(t, openStore, LIMITS);
      await bench.addCredit(10n * USD);
      const key = await bench.newKey({ name: 'app', spendLimitNanos: 5n * USD, allowlist: ['mock/echo'] });
      await bench.settle(await bench.admit(key, { holdNanos: USD }), {
        costNanos: USD,
        usage: { promptTokens: 30, cachedTokens: 0, completionTokens: 12 },
      });
      await bench.admit(key, { holdNanos: 2n * USD, reservedTokens: 100 });
      await bench.admit(await bench.newKey(), { holdNanos: 3n * USD });
      const before = await bench.store.dump();
      for (let i = 0; i < 3; i++) {
        assert.deepEqual(await bench.forecast(key), {
          kind: 'known',
          standing: {
            keyId: key.id,
            name: 'app',
            isDisabled: false,
            isLeashed: false,
            allowlist: ['mock/echo'],
            callable: ['mock/echo'],
            limits: { ...LIMITS },
            requests: 2,
            tokens: 142,
            slots: 1,
            spendLimitNanos: 5n * USD,
            chargedNanos: USD,
            heldOfKeyNanos: 2n * USD,
            budgets: [],
            outer: [],
            balanceNanos: 9n * USD,
            heldNanos: 5n * USD,
            creditEnforced: true,
          },
          refusals: [null],
        });
      }
      assert.deepEqual(await bench.store.dump(), before);
    });

    test('answers each of its requests, and none for a key that does not exist', async (t) => {
      const bench = await LedgerBench.of(t, openStore, LIMITS);
      const key = await bench.newKey();
      const requests = [bench.request(key, { holdNanos: 0n }), bench.request(key, { holdNanos: 1n })];
      const both = await bench.one({ kind: 'forecast', question: { keyId: key.id, requests } });
      assert.partialDeepStrictEqual(both, { refusals: [null, { reason: 'insufficient_credit', balanceNanos: 0n }] });
      const none = { kind: 'forecast', question: { keyId: 'key_none', requests } } as const;
      assert.deepEqual(await bench.one(none), { kind: 'unknown' });
    });
  });
}
