/**
 * Corrections of requests that a crash left open: they apply wherever the charge did, and nothing
 * else can be corrected.
 */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { audit } from '../../../src/audit/audit.ts';
import { bookOf } from '../../../src/state/sqlite/book.ts';
import { assertBooksBalance } from '../../support/books.ts';
import { type Bench, NOON, openBench, type Row, USD } from './bench.ts';

const HOUR_MS = 3_600_000;
const HOLD = 700n;
const EVERYTHING = { keyId: undefined, model: undefined, sinceMs: undefined, untilMs: undefined };

const storeOf = (bench: Bench) => bookOf(bench.operator.database).requests;

function assertSound(bench: Bench): void {
  assertBooksBalance(bench.operator.database);
  const faulty = audit(bench.path, { onProgress: () => {} }).filter(({ differences }) => differences.length > 0);
  assert.deepEqual(faulty, []);
}

/** A bench on which a crash left these requests open, after a restart. */
function crashed(test: TestContext, spendLimitNanos: bigint | null = null, holds: readonly bigint[] = [HOLD]) {
  const bench = openBench(test);
  bench.addCredit(USD);
  const key = bench.newKey({ spendLimitNanos });
  const ids = holds.map((holdNanos) => bench.admit(key, { holdNanos }));
  bench.database.close();
  bench.clock.advance(1_000);
  bench.start();
  assert.equal(bench.summary.recoveredHolds, holds.length);
  return { bench, key, id: ids[0] as string, ids, store: storeOf(bench) };
}

/** Everything in the file except the figures that a correction must change. */
function untouchedBy(bench: Bench): unknown {
  const without = (row: Row, ...names: string[]) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name)));
  return {
    journal: bench.rows('journal').map((row) => without(row, 'cost_nanos', 'corrected_at_ms')),
    sums: [...bench.rows('usage_days'), ...bench.rows('usage_months')].map((row) => without(row, 'cost_nanos')),
    others: [bench.rows('keys'), bench.rows('credit_entries'), bench.rows('holds')],
  };
}

describe('a correction of a request that a crash left open', () => {
  for (const [what, cost] of [
    ['less', 1n],
    ['more', 90_000n],
    ['nothing', 0n],
    ['just as much', HOLD],
  ] as const) {
    test(`charges ${what}: in the balance, in its day and month, and in its row`, (t) => {
      const { bench, key, id, store } = crashed(t);
      bench.settle(bench.admit(key, { holdNanos: 5n }), { costNanos: 5n });
      const before = untouchedBy(bench);
      const correction = store.correct(id, cost, NOON + 5_000);
      assert.equal(correction.kind, 'done');
      const { end, holdNanos } = store.find(id) ?? {};
      assert.deepEqual([end?.costNanos, end?.correctedAtMs, holdNanos], [cost, NOON + 5_000, HOLD]);
      assert.deepEqual(correction.kind === 'done' && correction.request, store.find(id));
      assert.equal(bench.operator.account.balance().balanceNanos, USD - 5n - cost);
      assert.equal(bench.operator.usage.monthOf(key.id, '2026-11').costNanos, cost + 5n);
      for (const by of ['source', 'day', 'month', 'key', 'model', undefined] as const) {
        const { rows } = bench.operator.usage.report({ ...EVERYTHING, by });
        assert.equal(
          rows.reduce((sum, { costNanos }) => sum + costNanos, 0n),
          cost + 5n,
          `by ${by}`,
        );
      }
      assert.deepEqual(untouchedBy(bench), before);
      assertSound(bench);
    });
  }

  test('replaces an earlier one, and counts once if it is repeated', (t) => {
    const { bench, key, id, store } = crashed(t);
    for (const [at, cost] of [90n, 90n, 3n, 0n, 1_200n].entries()) {
      assert.equal(store.correct(id, cost, NOON + at).kind, 'done');
      assert.equal(bench.operator.account.balance().balanceNanos, USD - cost);
      assert.equal(bench.operator.usage.monthOf(key.id, '2026-11').costNanos, cost);
      assert.equal(store.find(id)?.end?.correctedAtMs, NOON + at);
      assertSound(bench);
    }
  });

  test('changes only that request', (t) => {
    const { bench, ids, store } = crashed(t, null, [10n, 20n, 30n]);
    store.correct(ids[1] as string, 7n, NOON);
    assert.deepEqual(
      ids.map((id) => store.find(id)?.end?.costNanos),
      [10n, 7n, 30n],
    );
    assert.deepEqual(
      ids.map((id) => store.find(id)?.end?.correctedAtMs),
      [undefined, NOON, undefined],
    );
    assertSound(bench);
  });

  test('counts on the day and in the month of the admission, whenever it is made', (t) => {
    const bench = openBench(t);
    bench.clock.wall = Date.UTC(2026, 0, 31, 23, 59, 59);
    bench.addCredit(USD);
    const key = bench.newKey();
    const id = bench.admit(key, { holdNanos: HOLD });
    bench.database.close();
    bench.clock.advance(HOUR_MS);
    bench.start();
    storeOf(bench).correct(id, 50n, Date.UTC(2027, 5, 3));
    assert.deepEqual(
      bench.rows('usage_days').map(({ day, cost_nanos }) => [day, cost_nanos]),
      [['2026-01-31', 50n]],
    );
    assert.deepEqual(
      bench.rows('usage_months').map(({ month, cost_nanos }) => [month, cost_nanos]),
      [['2026-01', 50n]],
    );
    assertSound(bench);
  });

  test('counts from the next decision of a running gateway, in the spend limit and the balance', (t) => {
    const { bench, key, id, store } = crashed(t, 500n);
    assert.equal(bench.refuse(key).reason, 'spend_limit_reached');
    store.correct(id, 499n, NOON);
    bench.settle(bench.admit(key, { holdNanos: 1n }), { costNanos: 0n });
    store.correct(id, 500n, NOON);
    assert.equal(bench.refuse(key).reason, 'spend_limit_reached');
    store.correct(id, 0n, NOON);
    bench.settle(bench.admit(key, { holdNanos: 1n }), { costNanos: 0n });
    bench.operator.keys.setLimits(key.id, { spendLimitNanos: null });
    const money = { holdNanos: 2n };
    store.correct(id, USD - 1n, NOON);
    assert.equal(bench.refuse(key, money).reason, 'insufficient_credit');
    store.correct(id, USD - 2n, NOON);
    bench.settle(bench.admit(key, money), { costNanos: 2n });
    assert.equal(bench.operator.account.balance().balanceNanos, 0n);
    assertSound(bench);
  });

  test('survives a restart', (t) => {
    const { bench, key, id, store } = crashed(t, 500n);
    store.correct(id, 499n, NOON);
    bench.database.close();
    bench.start();
    assert.deepEqual([bench.summary.balanceNanos, bench.summary.recoveredHolds], [USD - 499n, 0]);
    bench.settle(bench.admit(key, { holdNanos: 1n }), { costNanos: 1n });
    assert.equal(bench.refuse(key).reason, 'spend_limit_reached');
  });
});

describe('a correction is refused, and changes nothing,', () => {
  for (const source of ['reported', 'counted'] as const) {
    test(`of a request that was charged as ${source}, by its id or its completion id`, (t) => {
      const bench = openBench(t);
      bench.addCredit(USD);
      const id = bench.admit(bench.newKey());
      bench.settle(id, { source, completionId: 'chatcmpl-1' });
      const file = bench.dump();
      for (const name of [id, 'chatcmpl-1']) {
        assert.deepEqual(storeOf(bench).correct(name, 1n, NOON), { kind: 'not_held', source });
      }
      assert.deepEqual(bench.dump(), file);
    });
  }

  test('of a request in flight', (t) => {
    const bench = openBench(t);
    bench.addCredit(USD);
    const id = bench.admit(bench.newKey(), { holdNanos: 5n });
    const file = bench.dump();
    assert.deepEqual(storeOf(bench).correct(id, 1n, NOON), { kind: 'in_flight' });
    assert.deepEqual(bench.dump(), file);
    bench.settle(id);
  });
});
