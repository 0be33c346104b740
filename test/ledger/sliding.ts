/** What counts in a sliding budget, and from when on: requests from their end, however long they took. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Budget } from '../../src/core/budgets.ts';
import type { Admission } from '../../src/ledger/ledger.ts';
import { type BenchKey, LedgerBench, NOON, type OpenStore, spendsOf, USD } from './bench.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** NOON is a Saturday. */
const MIDNIGHT = NOON + 12 * 3_600_000;
/** The processes of a dead gateway are settled after this. */
const DOWN_MS = 9_000;
const CENT = USD / 100n;

interface Cleanup {
  after(work: () => Promise<void>): void;
}

const budget = (period: string, limitNanos: bigint): Budget => ({ period, limitNanos });

/** A key with these budgets, and credit for all it does. */
async function open(t: Cleanup, openStore: OpenStore, budgets: readonly Budget[], journalRetentionMs?: number) {
  const bench = await LedgerBench.of(t, openStore, { journalRetentionMs });
  await bench.addCredit(1_000n * USD);
  return { bench, key: await bench.newKey({ budgets }) };
}

/** A request that takes as long, and costs what it held. */
async function spend(bench: LedgerBench, key: BenchKey, nanos: bigint, takesMs = 0): Promise<void> {
  const id = await bench.admit(key, { holdNanos: nanos });
  if (takesMs > 0) await bench.store.advance(takesMs);
  await bench.settle(id, { costNanos: nanos });
}

/** What operators read of each budget. */
async function spent(bench: LedgerBench, key: BenchKey): Promise<bigint[]> {
  return (await spendsOf(bench, key)).map(({ chargedNanos }) => chargedNanos);
}

/** Sends one request after the other for two minutes, each of which takes six seconds. Returns what they cost in all. */
async function sendBackToBack(bench: LedgerBench, key: BenchKey, costNanos: bigint): Promise<bigint> {
  const ends: number[] = [];
  let open: { readonly id: string; readonly untilMs: number } | undefined;
  for (let second = 0; second <= 120; second++) {
    const nowMs = bench.clock.wallMs();
    if (open?.untilMs === nowMs) {
      await bench.settle(open.id, { costNanos });
      ends.push(nowMs);
      open = undefined;
    }
    if (open === undefined) {
      const request = bench.request(key, { holdNanos: costNanos });
      const { admitted } = await bench.one<Admission>({ kind: 'admit', request });
      const isEmpty = ends.every((endMs) => endMs <= nowMs - 5_000);
      assert.ok(isEmpty || !admitted, `at ${second} s another request passes a window that is full`);
      if (admitted) open = { id: request.requestId, untilMs: nowMs + 6_000 };
    }
    await bench.store.advance(1_000);
  }
  if (open !== undefined) await bench.settle(open.id, { costNanos: 0n });
  return BigInt(ends.length) * costNanos;
}

export function testSlidingBudgets(openStore: OpenStore): void {
  describe('a sliding budget', () => {
    test('shorter than its requests sees what they cost: one request passes it, and the next when that has left', async (t) => {
      const { bench, key } = await open(t, openStore, [budget('5s', 5n * CENT)]);
      // Counted from their admission, all twenty passed: 6.40 USD.
      assert.equal(await sendBackToBack(bench, key, 32n * CENT), 320n * CENT);
    });

    test('counts a request from its end, for its whole length', async (t) => {
      const { bench, key } = await open(t, openStore, [budget('10s', 50n)]);
      await spend(bench, key, 50n, MINUTE_MS);
      assert.deepEqual(await spent(bench, key), [50n]);
      await bench.store.advance(10_099);
      assert.equal((await bench.refuse(key)).reason, 'spend_limit_reached');
      await bench.store.advance(1);
      await bench.admit(key);
    });

    test('counts a request of yesterday that ends today, and the day does not', async (t) => {
      const { bench, key } = await open(t, openStore, [budget('day', 100n), budget('1h', 100n)]);
      await bench.store.advance(MIDNIGHT - NOON - MINUTE_MS);
      await spend(bench, key, 40n, 5 * MINUTE_MS);
      assert.deepEqual(await spent(bench, key), [40n, 0n]);
    });

    test('counts what a crash has charged as held from the next start on', async (t) => {
      const { bench, key } = await open(t, openStore, [budget('5s', 50n)]);
      await bench.admit(key, { holdNanos: 50n });
      await bench.store.advance(MINUTE_MS);
      await bench.store.crash(DOWN_MS);
      assert.deepEqual(await spent(bench, key), [50n]);
      assert.equal((await bench.refuse(key)).reason, 'spend_limit_reached');
      await bench.store.advance(5_050);
      await bench.admit(key);
    });

    test('is corrected where the request was charged as held', async (t) => {
      const { bench, key } = await open(t, openStore, [budget('1h', 50n)]);
      const id = await bench.admit(key, { holdNanos: 50n });
      await bench.store.advance(2 * 60 * MINUTE_MS);
      await bench.store.crash(DOWN_MS);
      await bench.store.operator.requests.correct(id, 20n, bench.clock.wallMs());
      assert.deepEqual(await spent(bench, key), [20n]);
      await bench.store.restart();
      await spend(bench, key, 29n);
      await spend(bench, key, 1n);
      assert.equal((await bench.refuse(key)).reason, 'spend_limit_reached');
    });

    testNewWindows(openStore);
  });
}

function testNewWindows(openStore: OpenStore): void {
  test('that is new counts what has ended in it, also requests that began long before', async (t) => {
    const { bench, key } = await open(t, openStore, []);
    await spend(bench, key, 1n);
    await spend(bench, key, 2n, 3_600_000);
    await spend(bench, key, 4n, MINUTE_MS);
    await spend(bench, key, 8n);
    const budgets = ['30s', '5m', '3h'].map((period) => budget(period, USD));
    await bench.store.operator.keys.setLimits(key.id, { budgets: () => budgets }, bench.clock.wallMs());
    assert.deepEqual(await spent(bench, key), [12n, 14n, 15n]);
  });

  test('longer than the journal goes on when rows of it are dropped', async (t) => {
    const { bench, key } = await open(t, openStore, [budget('10d', USD)], DAY_MS);
    await bench.store.advance(MIDNIGHT - NOON - MINUTE_MS);
    await spend(bench, key, 40n, 5 * MINUTE_MS);
    await bench.store.advance(DAY_MS + MINUTE_MS);
    await bench.identify(key);
    // The row is gone, of which only the day of the admission is known.
    await bench.store.engine.dropOldRows();
    assert.deepEqual(await bench.store.rows('journal'), []);
    assert.deepEqual(await spent(bench, key), [40n]);
    await bench.store.assertBooks();
  });
}
