/** A clock that was ahead and came back: what was spent meanwhile counts as now, and nothing before it is forgotten. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NewKey } from '../../src/state/keys.ts';
import { type BenchKey, LedgerBench, type OpenStore, spendsOf, tokens, USD } from './bench.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** What a step of a window of an hour may add to it. */
const STEP_MS = 36_000;
/** The processes of a dead gateway are settled after this. */
const DOWN_MS = 9_000;

interface Cleanup {
  after(work: () => Promise<void>): void;
}

async function open(t: Cleanup, openStore: OpenStore, settings: Partial<NewKey>, journalRetentionMs?: number) {
  const bench = await LedgerBench.of(t, openStore, { journalRetentionMs });
  await bench.addCredit(USD);
  return { bench, key: await bench.newKey(settings) };
}

const spend = async (bench: LedgerBench, key: BenchKey, nanos: bigint) =>
  bench.settle(await bench.admit(key, { holdNanos: nanos }), { costNanos: nanos });

const spent = async (bench: LedgerBench, key: BenchKey) =>
  (await spendsOf(bench, key)).map(({ chargedNanos }) => chargedNanos);

/** Sets the clock. A gateway that shares a state admits nothing for a minute then. */
async function step(bench: LedgerBench, key: BenchKey, milliseconds: number): Promise<void> {
  await bench.store.step(milliseconds);
  const { engine } = bench.store;
  try {
    await bench.identify(key);
  } catch (error) {
    assert.match(engine.faultOf(error)?.message ?? `${error}`, /stepped/);
    await bench.store.advance(60_000);
  }
}

type Return = (bench: LedgerBench, key: BenchKey, milliseconds: number) => Promise<void>;

/** What happens as the clock comes back. */
const RETURNS: readonly (readonly [what: string, comeBack: Return])[] = [
  ['', (bench, key, milliseconds) => step(bench, key, -milliseconds)],
  [
    ' and a restart',
    async (bench, key, milliseconds) => {
      await step(bench, key, -milliseconds);
      await bench.store.restart();
    },
  ],
  [
    ' while no gateway ran',
    async (bench, _key, milliseconds) => {
      await bench.store.step(-milliseconds);
      await bench.store.restart();
    },
  ],
];

export function testWrongClocks(openStore: OpenStore): void {
  for (const [what, comeBack] of RETURNS) {
    describe(`after a clock that was ahead and came back${what}`, () => {
      for (const [ahead, aheadMs] of [
        ['three days', 3 * DAY_MS],
        ['three hours', 3 * HOUR_MS],
      ] as const) {
        test(`by ${ahead}, a sliding budget has all that was spent, as now, and is free a window later`, async (t) => {
          const budgets = ['1h', '1d'].map((period) => ({ period, limitNanos: 100n }));
          const { bench, key } = await open(t, openStore, { budgets });
          await spend(bench, key, 60n);
          await step(bench, key, aheadMs);
          await spend(bench, key, 20n);
          await bench.store.advance(2 * STEP_MS);
          await spend(bench, key, 10n);
          await comeBack(bench, key, aheadMs);
          assert.deepEqual(await spent(bench, key), [90n, 90n]);
          await spend(bench, key, 10n);
          assert.equal((await bench.refuse(key)).reason, 'spend_limit_reached');
          await bench.store.assertBooks();
          await bench.store.advance(HOUR_MS + STEP_MS);
          assert.deepEqual(await spent(bench, key), [0n, 100n]);
          await bench.store.advance(DAY_MS);
          assert.deepEqual(await spent(bench, key), [0n, 0n]);
          await spend(bench, key, 7n);
          await bench.store.advance(2 * DAY_MS);
          await spend(bench, key, 5n);
          assert.deepEqual(await spent(bench, key), [5n, 5n]);
        });
      }

      test('the windows of a minute count what was admitted meanwhile for a minute at most', async (t) => {
        const { bench, key } = await open(t, openStore, { rpm: 5, tpm: 100 });
        await step(bench, key, 3 * DAY_MS);
        for (let i = 0; i < 4; i++) await bench.settle(await bench.admit(key), tokens(10));
        await comeBack(bench, key, 3 * DAY_MS);
        const { figures } = await bench.identify(key);
        assert.ok(figures.remainingRequests <= 5 && figures.resetRequestsS <= 60);
        await bench.store.advance(60_000);
        for (let i = 0; i < 5; i++) await bench.settle(await bench.admit(key), tokens(20));
        const refusal = await bench.refuse(key);
        assert.equal(refusal.reason, 'requests_per_minute');
        await bench.store.restart();
        assert.equal((await bench.refuse(key)).reason, 'requests_per_minute');
        await bench.store.advance(60_000);
        await bench.admit(key);
      });

      test('the month has its charges, and no others', async (t) => {
        const { bench, key } = await open(t, openStore, { spendLimitNanos: 100n });
        await spend(bench, key, 60n);
        // To the first of the next month.
        await step(bench, key, 10 * DAY_MS);
        await spend(bench, key, 70n);
        await comeBack(bench, key, 10 * DAY_MS);
        await spend(bench, key, 39n);
        await bench.admit(key, { holdNanos: 1n });
        assert.equal((await bench.refuse(key)).reason, 'money_spoken_for');
      });
    });
  }

  test('a sliding budget that is set after a clock that was ahead counts what was spent meanwhile as now', async (t) => {
    const { bench, key } = await open(t, openStore, {});
    await spend(bench, key, 60n);
    await step(bench, key, 3 * DAY_MS);
    await spend(bench, key, 30n);
    await step(bench, key, -3 * DAY_MS);
    const budgets = [{ period: '1h', limitNanos: 100n }];
    await bench.store.operator.keys.setLimits(key.id, { budgets: () => budgets }, bench.clock.wallMs());
    assert.deepEqual(await spent(bench, key), [90n]);
    await bench.store.assertBooks();
    await bench.store.advance(HOUR_MS + STEP_MS);
    assert.deepEqual(await spent(bench, key), [0n]);
  });

  test('and so does one that takes the sums by day', async (t) => {
    const { bench, key } = await open(t, openStore, {}, DAY_MS);
    await spend(bench, key, 40n);
    await bench.store.advance(2 * DAY_MS);
    await step(bench, key, 3 * DAY_MS);
    await spend(bench, key, 30n);
    await step(bench, key, -3 * DAY_MS);
    await bench.store.engine.dropOldRows();
    const budgets = [{ period: '50h', limitNanos: 100n }];
    await bench.store.operator.keys.setLimits(key.id, { budgets: () => budgets }, bench.clock.wallMs());
    assert.deepEqual(await spent(bench, key), [70n]);
    await bench.store.assertBooks();
    await bench.store.advance(50 * HOUR_MS + 50 * STEP_MS);
    assert.deepEqual(await spent(bench, key), [0n]);
  });

  test('a request that began while the clock was ahead ends as any other, and counts from its end', async (t) => {
    const budgets = [{ period: '1h', limitNanos: 100n }];
    const { bench, key } = await open(t, openStore, { budgets, spendLimitNanos: 100n });
    // To the first of the next month.
    await step(bench, key, 10 * DAY_MS);
    const id = await bench.admit(key, { holdNanos: 40n });
    await step(bench, key, -10 * DAY_MS);
    const other = await bench.admit(key, { holdNanos: 10n });
    await bench.store.assertBooks();
    assert.deepEqual(await bench.grow(id, 100n), { granted: true, holdNanos: 90n, leftNanos: 0n });
    await bench.settle(id, { costNanos: 70n, spentBy: { user: 'alice', tag: '', app: '' } });
    await bench.settle(other, { costNanos: 10n });
    assert.deepEqual(await spent(bench, key), [80n]);
    const everything = { keyId: undefined, model: undefined, sinceMs: undefined, untilMs: undefined };
    const { rows } = await bench.store.operator.usage.report({ ...everything, by: 'user' });
    assert.deepEqual(
      rows.map(({ user, costNanos }) => [user, costNanos]),
      [
        ['alice', 70n],
        ['', 10n],
      ],
    );
    await bench.store.advance(HOUR_MS + STEP_MS);
    assert.deepEqual(await spent(bench, key), [0n]);
  });

  test('what a crash left open while the clock was ahead is charged as held, and counts as now', async (t) => {
    const { bench, key } = await open(t, openStore, { budgets: [{ period: '1h', limitNanos: 100n }] });
    await step(bench, key, 3 * DAY_MS);
    await spend(bench, key, 30n);
    await bench.admit(key, { holdNanos: 50n });
    await bench.store.step(-3 * DAY_MS);
    await bench.store.crash(DOWN_MS);
    assert.deepEqual(await spent(bench, key), [80n]);
    await bench.store.advance(HOUR_MS + STEP_MS);
    assert.deepEqual(await spent(bench, key), [0n]);
  });
}
