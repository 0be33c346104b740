/** Budgets and expiry, as both stores decide them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Budget } from '../../src/core/budgets.ts';
import type { Admission, AdmissionRequest } from '../../src/ledger/ledger.ts';
import { type BenchKey, FIRST_KEY, LedgerBench, NOON, type OpenStore, spendsOf, USD } from './bench.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** NOON is a Saturday. */
const MIDNIGHT = NOON + 12 * HOUR_MS;
const MONDAY = MIDNIGHT + DAY_MS;
/** The processes of a dead gateway are settled after this. */
const DOWN_MS = 9_000;

const budget = (period: string, limitNanos: bigint): Budget => ({ period, limitNanos });
const reached = (period: string, limitNanos: bigint, freesAtMs: number | null) => ({
  reason: 'spend_limit_reached',
  keyName: FIRST_KEY,
  limitNanos,
  budget: { period, freesAtMs },
});

/** A key with these budgets, and credit for all it does. */
async function open(t: { after(work: () => Promise<void>): void }, openStore: OpenStore, budgets: readonly Budget[]) {
  const bench = await LedgerBench.of(t, openStore);
  await bench.addCredit(USD);
  return { bench, key: await bench.newKey({ budgets }) };
}

const spend = async (bench: LedgerBench, key: BenchKey, costNanos: bigint) =>
  bench.settle(await bench.admit(key), { costNanos });

/** What operators read of the budgets: period, spent, reset. */
async function spent(bench: LedgerBench, key: BenchKey) {
  return (await spendsOf(bench, key)).map(({ period, chargedNanos, resetsAtMs }) => [period, chargedNanos, resetsAtMs]);
}

export function testBudgets(openStore: OpenStore): void {
  describe('a budget', () => {
    for (const [period, freesAtMs] of [
      ['day', MIDNIGHT],
      ['week', MONDAY],
      ['total', null],
      ['100s', NOON + 101_000],
    ] as const) {
      test(`of ${period} refuses once what was charged reaches it, until it is free again`, async (t) => {
        const { bench, key } = await open(t, openStore, [budget(period, 50n)]);
        await spend(bench, key, 49n);
        await spend(bench, key, 1n);
        const stored = await bench.store.dump();
        const free: Partial<AdmissionRequest> = { holdNanos: 0n };
        for (const request of [{}, free])
          assert.deepEqual(await bench.refuse(key, request), reached(period, 50n, freesAtMs));
        assert.deepEqual(await bench.store.dump(), stored, 'a refusal takes nothing');
        if (freesAtMs === null) return bench.store.advance(40 * DAY_MS).then(() => bench.refuse(key).then(() => {}));
        await bench.store.advance(freesAtMs - NOON - 1);
        await bench.refuse(key);
        await bench.store.advance(1);
        await bench.admit(key);
      });
    }

    test('is spoken for by requests in flight, also for a free request, and free when they end', async (t) => {
      const { bench } = await open(t, openStore, []);
      for (const period of ['day', 'week', 'total', '100s']) {
        const key = await bench.newKey({ budgets: [budget(period, 50n)] });
        const id = await bench.admit(key, { holdNanos: 50n });
        assert.deepEqual(await bench.refuse(key), { reason: 'money_spoken_for', retryAfterS: 1 });
        await bench.settle(id, { costNanos: 49n });
        await bench.admit(key);
      }
    });

    test('admits of 400 requests in one batch as many as it takes to reach it', async (t) => {
      const { bench, key } = await open(t, openStore, [budget('day', 100n), budget('24h', 90n)]);
      await bench.store.operator.keys.setLimits(key.id, { concurrency: 1_000 });
      const batches = Array.from({ length: 4 }, () =>
        Array.from(
          { length: 100 },
          () => ({ kind: 'admit', request: bench.request(key, { holdNanos: 30n }) }) as const,
        ),
      );
      const admitted: string[] = [];
      for (const commands of batches) {
        const answers = (await bench.process(commands)) as readonly Admission[];
        for (const [i, { admitted: isAdmitted }] of answers.entries()) {
          if (isAdmitted) admitted.push(commands[i]?.request.requestId as string);
        }
      }
      assert.equal(admitted.length, 3);
      for (const id of admitted) await bench.settle(id, { costNanos: 30n });
      assert.deepEqual(await spent(bench, key), [
        ['day', 90n, MIDNIGHT],
        ['24h', 90n, NOON + 24 * HOUR_MS + 864_000],
      ]);
    });

    test('that frees last is named where several are reached, and so is the limit of the month', async (t) => {
      const { bench, key } = await open(t, openStore, [budget('day', 10n), budget('week', 20n), budget('48h', 30n)]);
      const { keys } = bench.store.operator;
      await spend(bench, key, 40n);
      const frees = NOON + 48 * HOUR_MS + 48 * 36_000;
      assert.deepEqual(await bench.refuse(key), reached('48h', 30n, frees));
      await keys.setLimits(key.id, { spendLimitNanos: 15n });
      assert.deepEqual(await bench.refuse(key), { reason: 'spend_limit_reached', keyName: FIRST_KEY, limitNanos: 15n });
      await keys.setLimits(key.id, { budgets: (all) => [...all, budget('total', 40n)] });
      assert.deepEqual(await bench.refuse(key), reached('total', 40n, null));
    });

    test('leaves a stream what it has left to grow by, and then ends it', async (t) => {
      const { bench } = await open(t, openStore, []);
      for (const period of ['day', 'total', '100s']) {
        const key = await bench.newKey({ budgets: [budget(period, 500n), budget('week', 9_000n)] });
        await spend(bench, key, 60n);
        const id = await bench.admit(key, { holdNanos: 100n });
        await bench.admit(key, { holdNanos: 90n });
        assert.deepEqual(await bench.grow(id, 900n), { granted: true, holdNanos: 350n, leftNanos: 0n });
        const grant = await bench.grow(id, 900n);
        assert.ok(!grant.granted && grant.refusal.reason === 'spend_limit_reached');
        assert.deepEqual([grant.refusal.limitNanos, grant.refusal.budget?.period], [500n, period]);
      }
    });

    test('counts a request in the day and week of its admission, whenever it ends', async (t) => {
      const { bench, key } = await open(t, openStore, [budget('day', 100n), budget('week', 150n)]);
      await bench.store.advance(12 * HOUR_MS - 1);
      const saturday = await bench.admit(key, { holdNanos: 60n });
      await bench.store.advance(1);
      // Saturday's hold is not Sunday's.
      const sunday = await bench.admit(key, { holdNanos: 70n });
      assert.deepEqual(await bench.grow(saturday, 900n), { granted: true, holdNanos: 80n, leftNanos: 0n });
      await bench.settle(saturday, { costNanos: 80n });
      assert.deepEqual(await spent(bench, key), [
        ['day', 0n, MONDAY],
        ['week', 80n, MONDAY],
      ]);
      await bench.store.advance(DAY_MS);
      assert.deepEqual(await bench.grow(sunday, 900n), { granted: false, refusal: reached('week', 150n, MONDAY) });
      await bench.settle(sunday, { costNanos: 70n });
      assert.deepEqual(await spent(bench, key), [
        ['day', 0n, MONDAY + DAY_MS],
        ['week', 0n, MONDAY + 7 * DAY_MS],
      ]);
    });

    test('counts an open request in a sliding window however old it is', async (t) => {
      const { bench, key } = await open(t, openStore, [budget('10s', 100n)]);
      const id = await bench.admit(key, { holdNanos: 100n });
      await bench.store.advance(HOUR_MS);
      assert.equal((await bench.refuse(key)).reason, 'money_spoken_for');
      assert.equal((await bench.grow(id, 101n)).granted, false);
      await bench.settle(id, { costNanos: 99n });
      await bench.admit(key);
    });

    testKeptBudgets(openStore);
  });

  testExpiry(openStore);
}

function testKeptBudgets(openStore: OpenStore): void {
  const ALL = ['100s', 'day', 'week', 'total'].map((period) => budget(period, 100n));

  test('is the same after a restart, and after a crash, which charges what was held', async (t) => {
    const { bench, key } = await open(t, openStore, ALL);
    await spend(bench, key, 30n);
    await bench.store.restart();
    await bench.admit(key, { holdNanos: 69n });
    await bench.store.crash(DOWN_MS);
    const charged = (await spent(bench, key)).map(([period, nanos]) => [period, nanos]);
    assert.deepEqual(
      charged,
      ALL.map(({ period }) => [period, 99n]),
    );
    await spend(bench, key, 1n);
    assert.deepEqual(await bench.refuse(key), reached('total', 100n, null));
  });

  test('is corrected with a request that a crash has charged as held', async (t) => {
    const { bench, key } = await open(t, openStore, ALL);
    const id = await bench.admit(key, { holdNanos: 70n });
    await bench.store.crash(DOWN_MS);
    await bench.store.operator.requests.correct(id, 20n, bench.clock.wallMs());
    await bench.admit(key, { holdNanos: 80n });
    assert.equal((await bench.refuse(key)).reason, 'money_spoken_for');
    assert.deepEqual(
      (await spent(bench, key)).map(([, nanos]) => nanos),
      ALL.map(() => 20n),
    );
  });

  test('that is new counts what was spent before, in its period', async (t) => {
    const { bench, key } = await open(t, openStore, []);
    await spend(bench, key, 40n);
    await bench.store.advance(200_000);
    await spend(bench, key, 30n);
    await bench.store.operator.keys.setLimits(key.id, { budgets: () => ALL }, bench.clock.wallMs());
    assert.deepEqual(
      (await spent(bench, key)).map(([, nanos]) => nanos),
      [30n, 70n, 70n, 70n],
    );
    await spend(bench, key, 30n);
    assert.equal((await bench.refuse(key)).reason, 'spend_limit_reached');
  });

  test('that is new takes the sums by day where rows were dropped: too much, and never too little', async (t) => {
    const bench = await LedgerBench.of(t, openStore, { journalRetentionMs: DAY_MS });
    await bench.addCredit(USD);
    const key = await bench.newKey();
    await spend(bench, key, 40n);
    await bench.store.advance(2 * DAY_MS);
    await spend(bench, key, 5n);
    await bench.store.engine.dropOldRows();
    // What was spent at noon is taken to have been spent an hour after that day.
    await bench.store.operator.keys.setLimits(key.id, { budgets: () => [budget('50h', 45n)] }, bench.clock.wallMs());
    const stepMs = 50 * 36_000;
    const lastStep = Math.floor((MIDNIGHT + HOUR_MS - 1) / stepMs) * stepMs;
    const frees = lastStep + stepMs + 50 * HOUR_MS;
    assert.deepEqual(await bench.refuse(key), reached('50h', 45n, frees));
    await bench.store.advance(frees - bench.clock.wallMs());
    await spend(bench, key, 1n);
    assert.deepEqual(
      (await spent(bench, key)).map(([, nanos]) => nanos),
      [6n],
    );
  });

  test('keeps two hundred steps of a sliding window, the newest ones', async (t) => {
    const { bench, key } = await open(t, openStore, [budget('10s', USD)]);
    for (let i = 1; i <= 205; i++) {
      await spend(bench, key, 1n);
      await bench.store.advance(i === 50 ? HOUR_MS : 100);
      if (i === 200) assert.equal(await bench.store.count('budget_steps'), 200);
    }
    assert.equal(await bench.store.count('budget_steps'), 200);
    assert.equal((await spent(bench, key))[0]?.[1], 100n);
  });

  test('and the time of a key are those of its successor, which has spent nothing', async (t) => {
    const { bench, key } = await open(t, openStore, ALL);
    const { keys } = bench.store.operator;
    await keys.setLimits(key.id, { expiresAtMs: NOON + DAY_MS });
    await spend(bench, key, 100n);
    const change = await keys.rotate(key.id, 'sk-inf-new', NOON);
    assert.ok(change.kind === 'done');
    assert.deepEqual([change.key.budgets, change.key.expiresAtMs], [ALL, NOON + DAY_MS]);
    const spends = (await bench.store.operator.levels.spentBy([change.key], NOON)).get(change.key.id) ?? [];
    assert.deepEqual(
      spends.map(({ chargedNanos }) => chargedNanos),
      [0n, 0n, 0n, 0n],
    );
  });
}

function testExpiry(openStore: OpenStore): void {
  test('a key that has expired is refused as if there were none, and what it has in flight goes on', async (t) => {
    const bench = await LedgerBench.of(t, openStore);
    await bench.addCredit(USD);
    const key = await bench.newKey({ expiresAtMs: NOON + 1_000 });
    const id = await bench.admit(key, { holdNanos: 10n });
    const listing = await bench.list(key);
    assert.ok(listing.kind === 'admitted');
    assert.equal(listing.account.expiresAtMs, NOON + 1_000);
    await bench.store.advance(999);
    await bench.settle(await bench.admit(key));
    await bench.store.advance(1);
    assert.deepEqual(await bench.refuse(key), { reason: 'unknown_key' });
    assert.equal((await bench.identify(key)).kind, 'unknown');
    assert.equal((await bench.list(key)).kind, 'unknown');
    assert.equal((await bench.grow(id, 20n)).granted, true);
    await bench.settle(id, { costNanos: 20n });
    await bench.store.operator.keys.setLimits(key.id, { expiresAtMs: null });
    await bench.admit(key);
  });
}
