/** Holds that grow with their streams, and money over the end of a month. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type BenchKey, FIRST_KEY, LedgerBench, type OpenStore, tokens, USD } from './bench.ts';

const NEAR_END_OF_NOVEMBER = Date.UTC(2026, 10, 30, 23, 59, 59, 999);

/** A request that holds 100 nanos for 20 tokens of output. */
async function openStream(bench: LedgerBench, credit: bigint, spendLimitNanos: bigint | null = null) {
  await bench.addCredit(credit);
  const key = await bench.newKey({ spendLimitNanos });
  const id = await bench.admit(key, { holdNanos: 100n, outputTokens: 20 });
  return { key, id };
}

const outputOf = async (bench: LedgerBench) => (await bench.store.rows('holds')).map((row) => row.output_tokens);
const chargedIn = async (bench: LedgerBench, key: BenchKey, month: string) =>
  (await bench.store.operator.usage.monthOf(key.id, month)).costNanos;

export function testGrowth(openStore: OpenStore): void {
  describe('a hold grows', () => {
    test('by all that is asked for', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      const { id } = await openStream(bench, USD);
      assert.deepEqual(await bench.grow(id, 200n), { granted: true, holdNanos: 200n, leftNanos: USD - 200n });
      assert.deepEqual(await bench.balance(), [USD, 200n]);
      assert.deepEqual(await outputOf(bench), [40n]);
      await bench.settle(id, { costNanos: 150n });
      assert.equal((await bench.store.rows('journal'))[0]?.hold_nanos, 200n);
      assert.deepEqual(await bench.balance(), [USD - 150n, 0n]);
    });

    test('by as much as the balance leaves, with the tokens for it, and then not at all', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      const { id } = await openStream(bench, 133n);
      assert.deepEqual(await bench.grow(id, 200n), { granted: true, holdNanos: 133n, leftNanos: 0n });
      // 33 of 100 nanos are 6.6 of 20 tokens, rounded down.
      assert.deepEqual(await outputOf(bench), [26n]);
      const refusal = { reason: 'insufficient_credit', keyName: FIRST_KEY, balanceNanos: 133n };
      assert.deepEqual(await bench.grow(id, 200n), { granted: false, refusal });
      assert.deepEqual(await bench.balance(), [133n, 133n]);
    });

    test('by as much as the spend limit leaves after charges and the other holds of the key', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      const { key, id } = await openStream(bench, USD, 500n);
      await bench.settle(await bench.admit(key, { holdNanos: 10n }), { costNanos: 60n });
      await bench.admit(key, { holdNanos: 90n });
      await bench.admit(await bench.newKey(), { holdNanos: 1_000n });
      assert.deepEqual(await bench.grow(id, 900n), { granted: true, holdNanos: 350n, leftNanos: 0n });
      const refusal = { reason: 'spend_limit_reached', keyName: FIRST_KEY, limitNanos: 500n };
      assert.deepEqual(await bench.grow(id, 900n), { granted: false, refusal });
    });

    test('and is refused for the limit where both leave nothing', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      const { id } = await openStream(bench, 100n, 100n);
      const refusal = { reason: 'spend_limit_reached', keyName: FIRST_KEY, limitNanos: 100n };
      assert.deepEqual(await bench.grow(id, 101n), { granted: false, refusal });
    });

    test('without money for tokens that cost nothing', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      const { id } = await openStream(bench, 100n, 100n);
      assert.deepEqual(await bench.grow(id, 100n, 75), { granted: true, holdNanos: 100n, leftNanos: 0n });
      assert.deepEqual(await outputOf(bench), [75n]);
    });

    test('with its reservation, if any output was reserved', async (t) => {
      const bench = await LedgerBench.of(t, openStore, { tpm: 100 });
      await bench.addCredit(USD);
      const [key, other] = [await bench.newKey(), await bench.newKey()];
      const reserved = await bench.admit(key, { inputTokens: 10, outputTokens: 20, reservedTokens: 30 });
      const unreserved = await bench.admit(other, { inputTokens: 10, outputTokens: 20, reservedTokens: 10 });
      await bench.grow(reserved, 5n, 60);
      await bench.grow(unreserved, 5n, 60);
      assert.equal((await bench.identify(key)).figures.remainingTokens, 30);
      assert.equal((await bench.identify(other)).figures.remainingTokens, 90);
    });

    test('and counts against the next request, also in the same batch', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      const { key, id } = await openStream(bench, 1_000n);
      const growth = { requestId: id, outputTokens: 40, holdNanos: 950n };
      const request = bench.request(key, { holdNanos: 51n });
      const [, admission] = await bench.process([
        { kind: 'grow', growth },
        { kind: 'admit', request },
      ]);
      const { figures, ...refused } = admission as Extract<typeof admission, { figures: unknown }>;
      assert.deepEqual(refused, { admitted: false, refusal: { reason: 'money_spoken_for', retryAfterS: 1 } });
      await bench.admit(key, { holdNanos: 50n });
    });

    test('two in a batch share what is left', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      const { key, id } = await openStream(bench, 350n, 330n);
      const other = await bench.admit(key, { holdNanos: 100n, outputTokens: 20 });
      const grow = (requestId: string) => {
        return { kind: 'grow', growth: { requestId, outputTokens: 40, holdNanos: 190n } } as const;
      };
      assert.deepEqual(await bench.process([grow(id), grow(other)]), [
        { granted: true, holdNanos: 190n, leftNanos: 40n },
        { granted: true, holdNanos: 140n, leftNanos: 0n },
      ]);
    });

    test('without limit where credit is off', async (t) => {
      const bench = await LedgerBench.of(t, openStore, { creditEnforced: false });
      const id = await bench.admit(await bench.newKey(), { holdNanos: 100n });
      assert.deepEqual(await bench.grow(id, 5_000n), { granted: true, holdNanos: 5_000n, leftNanos: undefined });
    });

    test('in the month of its admission, also when that is over', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      await bench.store.setClock(NEAR_END_OF_NOVEMBER);
      await bench.addCredit(USD);
      const key = await bench.newKey({ spendLimitNanos: 300n });
      await bench.settle(await bench.admit(key, { holdNanos: 20n }), { costNanos: 20n });
      const id = await bench.admit(key, { holdNanos: 100n });
      await bench.store.advance(120_000);
      const inNext = await bench.admit(key, { holdNanos: 290n });
      // December's hold takes nothing from November's limit.
      assert.deepEqual(await bench.grow(id, 900n), { granted: true, holdNanos: 280n, leftNanos: 0n });
      assert.deepEqual(await bench.grow(inNext, 900n), { granted: true, holdNanos: 300n, leftNanos: 0n });
      assert.equal((await bench.grow(id, 900n)).granted, false);
    });
  });

  testMonths(openStore);
}

function testMonths(openStore: OpenStore): void {
  describe('a month', () => {
    test('of a charge is that of the admission, whenever it is settled', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      await bench.store.setClock(NEAR_END_OF_NOVEMBER);
      await bench.addCredit(USD);
      const key = await bench.newKey({ spendLimitNanos: 100n });
      const late = await bench.admit(key, { holdNanos: 60n });
      await bench.store.advance(1);
      // November's hold is not December's.
      await bench.settle(await bench.admit(key, { holdNanos: 99n }), { costNanos: 0n });
      await bench.settle(late, { costNanos: 100n });
      assert.equal(await chargedIn(bench, key, '2026-11'), 100n);
      assert.equal(await chargedIn(bench, key, '2026-12'), 0n);
      await bench.settle(await bench.admit(key), { costNanos: 99n });
      await bench.settle(await bench.admit(key), { costNanos: 1n });
      assert.equal((await bench.refuse(key)).reason, 'spend_limit_reached');
    });

    test('resets a reached spend limit when it begins, at midnight UTC', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      await bench.store.setClock(NEAR_END_OF_NOVEMBER);
      await bench.addCredit(USD);
      const key = await bench.newKey({ spendLimitNanos: 100n });
      await bench.settle(await bench.admit(key), { costNanos: 100n, ...tokens(1) });
      assert.equal((await bench.refuse(key)).reason, 'spend_limit_reached');
      await bench.store.advance(1);
      await bench.settle(await bench.admit(key), { costNanos: 7n, ...tokens(1) });
      const report = { keyId: key.id, model: undefined, sinceMs: undefined, untilMs: undefined };
      for (const [by, periods] of [
        ['day', ['2026-11-30', '2026-12-01']],
        ['month', ['2026-11', '2026-12']],
      ] as const) {
        const { rows } = await bench.store.operator.usage.report({ ...report, by });
        assert.deepEqual(
          rows.map((row) => row.costNanos),
          [100n, 7n],
          periods.join(),
        );
      }
    });

    test('that nobody used a key in is not counted for the next one', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      await bench.addCredit(USD);
      const key = await bench.newKey({ spendLimitNanos: 100n });
      await bench.settle(await bench.admit(key, { holdNanos: 99n }), { costNanos: 99n });
      await bench.store.advance(70 * 86_400_000);
      const id = await bench.admit(key, { holdNanos: 99n });
      assert.equal((await bench.grow(id, 500n)).granted, true);
      await bench.settle(id, { costNanos: 100n });
      assert.equal((await bench.refuse(key)).reason, 'spend_limit_reached');
      assert.equal(await chargedIn(bench, key, '2027-01'), 100n);
    });
  });
}
