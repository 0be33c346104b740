/**
 * The sums are written once per batch: charges count before that, and are discarded with a batch
 * that is rolled back.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DAY_MS } from '../../../src/core/clock.ts';
import { MAX_NAMES, OTHER_NAMES } from '../../../src/core/spent-by.ts';
import type { Admission } from '../../../src/ledger/ledger.ts';
import { openBench, USD } from '../ledger/bench.ts';

describe('within a batch', () => {
  test('a charge that is not written yet counts for a key that is read again', (t) => {
    const bench = openBench(t, { creditEnforced: false });
    const key = bench.newKey({ spendLimitNanos: 500n });
    const id = bench.admit(key);
    const settings = bench.options;
    const answers = bench.engine.process([
      { kind: 'settle', settlement: bench.settlement(id, { costNanos: 500n }) },
      // Every key is read again after this.
      { kind: 'configure', settings },
      { kind: 'admit', request: bench.request(key) },
    ]);
    const { admitted, refusal } = answers[2] as Extract<Admission, { admitted: false }>;
    const expected = { reason: 'spend_limit_reached', keyName: key.name, limitNanos: 500n };
    assert.deepEqual([admitted, refusal], [false, expected]);
  });

  test('requests of several keys, models, sources, days and months each count where they belong', (t) => {
    const bench = openBench(t);
    bench.addCredit(USD);
    const [one, other] = [bench.newKey(), bench.newKey()];
    const before = [bench.admit(one), bench.admit(other, { model: 'mock/free' })];
    bench.clock.advance(10 * DAY_MS);
    const after = [bench.admit(one), bench.admit(one)];
    const settle = (id: string, costNanos: bigint, more = {}) =>
      ({ kind: 'settle', settlement: bench.settlement(id, { costNanos, ...more }) }) as const;
    bench.engine.process([
      settle(before[0] as string, 1n),
      settle(after[0] as string, 10n),
      settle(before[1] as string, 100n, { outcome: 'upstream_error', source: 'counted' }),
      settle(after[1] as string, 1_000n),
    ]);
    const rows = bench
      .rows('usage_months')
      .map((row) => [row.month, row.model, row.source, row.requests, row.errors, row.cost_nanos]);
    assert.deepEqual(rows.toSorted(), [
      ['2026-11', 'mock/echo', 'reported', 1n, 0n, 1n],
      ['2026-11', 'mock/free', 'counted', 1n, 1n, 100n],
      ['2026-12', 'mock/echo', 'reported', 2n, 0n, 1_010n],
    ]);
    assert.equal(bench.rows('usage_days').length, 3);
    assert.equal(bench.operator.account.balance().balanceNanos, USD - 1_111n);
    const [november] = bench.rows('usage_months');
    assert.ok(Number(november?.last_at_ms) < bench.clock.wallMs() - 9 * DAY_MS);
  });
});

test('a batch that is rolled back leaves nothing for the next one to write', (t) => {
  const bench = openBench(t);
  bench.addCredit(USD);
  const key = bench.newKey();
  const [first, second] = [bench.admit(key), bench.admit(key)];
  const settle = { kind: 'settle', settlement: bench.settlement(first, { costNanos: 7n }) } as const;
  assert.throws(() => bench.engine.process([settle, settle]), /settled twice/);
  bench.settle(second, { costNanos: 5n });
  assert.equal(bench.operator.account.balance().balanceNanos, USD - 5n);
  assert.equal(bench.operator.usage.monthOf(key.id, '2026-11').requests, 1);
  bench.settle(first, { costNanos: 7n });
  assert.equal(bench.operator.account.balance().balanceNanos, USD - 12n);
});

test('names have a place again that a batch gave them which is rolled back', (t) => {
  const bench = openBench(t, { creditEnforced: false, rpm: 10_000, concurrency: 10_000 });
  const key = bench.newKey();
  const ids = Array.from({ length: MAX_NAMES / 2 + 1 }, () => bench.admit(key));
  const settle = (id: string | undefined, user: string) => {
    const settlement = bench.settlement(id as string, { costNanos: 1n, spentBy: { user, tag: '', app: '' } });
    return { kind: 'settle', settlement } as const;
  };
  const named = ids.map((id, at) => settle(id, `user ${at}`));
  assert.throws(() => bench.engine.process([...named, named[0] as (typeof named)[number]]), /settled twice/);
  bench.engine.process(ids.map((id, at) => settle(id, at === 0 ? 'somebody' : `user ${at}`)));
  const names = new Set(bench.rows('usage_name_days').map(({ name }) => name));
  assert.equal(names.size, MAX_NAMES / 2 + 1);
  assert.ok(names.has('somebody') && names.has(OTHER_NAMES), [...names].join(', '));
});
