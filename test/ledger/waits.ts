/** Rate-limit figures after each command, and waits that are just long enough. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RateFigures } from '../../src/core/limits.ts';
import type { Admission, AdmissionRequest } from '../../src/ledger/ledger.ts';
import { type BenchKey, LedgerBench, type OpenStore, tokens } from './bench.ts';

/** Waits a second less than a refusal says, in vain, and then that second. */
async function waitAsTold(bench: LedgerBench, key: BenchKey, changes: Partial<AdmissionRequest>): Promise<number> {
  const refusal = await bench.refuse(key, changes);
  assert.ok('retryAfterS' in refusal);
  const { retryAfterS } = refusal;
  if (retryAfterS > 1) {
    await bench.store.advance((retryAfterS - 1) * 1_000);
    assert.equal((await bench.refuse(key, changes)).reason, refusal.reason);
    await bench.store.advance(1_000);
  } else {
    await bench.store.advance(1_000);
  }
  await bench.admit(key, changes);
  return retryAfterS;
}

/** Remaining requests and their reset, then the same for tokens. */
const shown = (figures: RateFigures) => [
  figures.remainingRequests,
  figures.resetRequestsS,
  figures.remainingTokens,
  figures.resetTokensS,
];

export function testWaits(openStore: OpenStore): void {
  describe('who waits as long as told is admitted, and a second earlier is not:', () => {
    test('requests', async (t) => {
      const bench = await LedgerBench.of(t, openStore, { rpm: 3 });
      const key = await bench.newKey();
      for (const pauseMs of [700.25, 12_345.5, 3_210.125]) {
        await bench.settle(await bench.admit(key));
        await bench.store.advance(pauseMs);
      }
      assert.equal(await waitAsTold(bench, key, {}), 44);
    });

    test('tokens of settled requests, as many as are needed', async (t) => {
      const bench = await LedgerBench.of(t, openStore, { tpm: 1_000 });
      const key = await bench.newKey();
      for (const used of [300, 200, 400]) {
        await bench.settle(await bench.admit(key), tokens(used));
        await bench.store.advance(5_000.5);
      }
      assert.equal(await waitAsTold(bench, key, { reservedTokens: 501 }), 50);
    });

    test('tokens reserved by requests in flight, taken to end a minute after their admission', async (t) => {
      const bench = await LedgerBench.of(t, openStore, { tpm: 1_000 });
      const key = await bench.newKey();
      const first = await bench.admit(key, { reservedTokens: 400 });
      await bench.store.advance(15_000);
      await bench.settle(await bench.admit(key), tokens(300));
      await bench.store.advance(20_000);
      const second = await bench.admit(key, { reservedTokens: 300 });
      await bench.store.advance(10_000);
      const waits: (number | undefined)[] = [];
      for (const reservedTokens of [100, 600, 900]) {
        const refusal = await bench.refuse(key, { reservedTokens });
        waits.push('retryAfterS' in refusal ? refusal.retryAfterS : undefined);
      }
      assert.deepEqual(waits, [15, 30, 50]);
      await bench.store.advance(49_000);
      for (const id of [first, second]) await bench.settle(id, tokens(0));
      await bench.admit(key, { reservedTokens: 900 });
    });

    test('a reservation that is older than a minute: one second', async (t) => {
      const bench = await LedgerBench.of(t, openStore, { tpm: 1_000 });
      const key = await bench.newKey();
      await bench.admit(key, { reservedTokens: 950 });
      await bench.store.advance(200_000);
      const reason = 'tokens_per_minute';
      assert.deepEqual(await bench.refuse(key, { reservedTokens: 60 }), { reason, limit: 1_000, retryAfterS: 1 });
    });

    test('what the same batch has taken', async (t) => {
      const bench = await LedgerBench.of(t, openStore, { rpm: 2, tpm: 1_000 });
      const [key, other] = [await bench.newKey(), await bench.newKey({ rpm: 100 })];
      const ask = (of: BenchKey, reservedTokens: number) => {
        return { kind: 'admit', request: bench.request(of, { reservedTokens }) } as const;
      };
      const answers = await bench.process([ask(key, 1), ask(key, 1), ask(key, 1), ask(other, 900), ask(other, 200)]);
      assert.deepEqual(
        answers.map((answer) => (answer as { refusal?: object }).refusal),
        [
          undefined,
          undefined,
          { reason: 'requests_per_minute', limit: 2, retryAfterS: 60 },
          undefined,
          { reason: 'tokens_per_minute', limit: 1_000, retryAfterS: 60 },
        ],
      );
    });
  });

  test('the figures are exact after each command', async (t) => {
    const bench = await LedgerBench.of(t, openStore, { rpm: 10, tpm: 1_000 });
    const key = await bench.newKey();
    const identified = async () => shown((await bench.identify(key)).figures);
    assert.deepEqual(await identified(), [10, 0, 1_000, 0]);
    const request = bench.request(key, { reservedTokens: 300 });
    const admission = await bench.one<Admission>({ kind: 'admit', request });
    assert.deepEqual(shown(admission.figures), [9, 60, 700, 60]);
    await bench.store.advance(10_001);
    assert.deepEqual(await identified(), [9, 50, 700, 50]);
    assert.deepEqual(shown(await bench.settle(request.requestId, tokens(6, 4))), [9, 50, 990, 60]);
    await bench.store.advance(49_998);
    assert.deepEqual(await identified(), [9, 1, 990, 11]);
    await bench.store.advance(1);
    assert.deepEqual(await identified(), [10, 0, 990, 11]);
    await bench.store.advance(10_000);
    assert.deepEqual(await identified(), [10, 0, 990, 1]);
    await bench.store.advance(1);
    assert.deepEqual(await identified(), [10, 0, 1_000, 0]);
  });

  test('a refusal shows the figures of its key, and an unknown key the defaults', async (t) => {
    const bench = await LedgerBench.of(t, openStore, { rpm: 10, tpm: 1_000 });
    const key = await bench.newKey({ rpm: 7, tpm: 50 });
    await bench.admit(key, { reservedTokens: 20 });
    assert.deepEqual((await bench.decide(key, { reservedTokens: 51 })).figures, {
      limitRequests: 7,
      remainingRequests: 6,
      resetRequestsS: 60,
      limitTokens: 50,
      remainingTokens: 30,
      resetTokensS: 60,
    });
    assert.deepEqual(shown((await bench.decide(key, { keyHash: '00' })).figures), [10, 0, 1_000, 0]);
  });

  test('an open reservation counts however old it is, and a settlement replaces it by what was used', async (t) => {
    const bench = await LedgerBench.of(t, openStore, { tpm: 1_000 });
    const key = await bench.newKey();
    const id = await bench.admit(key, { reservedTokens: 700 });
    await bench.store.advance(3_600_000);
    assert.equal((await bench.identify(key)).figures.remainingTokens, 300);
    assert.deepEqual(shown(await bench.settle(id, tokens(800, 100))), [600, 0, 100, 60]);
  });

  test('a key that uses more than its limit has nothing left, not less', async (t) => {
    const bench = await LedgerBench.of(t, openStore, { tpm: 100 });
    const key = await bench.newKey();
    assert.equal((await bench.settle(await bench.admit(key), tokens(500))).remainingTokens, 0);
  });
}
