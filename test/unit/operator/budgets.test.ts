/** Budgets and expiry as people write them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type BudgetWord, budgetsAfter, readBudget, readExpiry } from '../../../src/operator/budgets.ts';
import type { Reading } from '../../../src/operator/input.ts';

const NOW = Date.UTC(2026, 10, 21, 12);

const word = (text: string): BudgetWord => {
  const reading = readBudget(text);
  assert.ok(reading.ok, text);
  return reading.value;
};
const read = <T>(reading: Reading<T>): T => {
  if (!reading.ok) throw new Error(reading.expected);
  return reading.value;
};
/** The budgets of a key with `before` after these words. */
const edited = (before: readonly string[], ...words: readonly string[]) => {
  const after = budgetsAfter(read(budgetsAfter([], before.map(word))), words.map(word));
  return read(after).map(({ period, limitNanos }) => `${period}=${limitNanos / 1_000_000_000n}`);
};

describe('`--budget`', () => {
  test('sets a budget, and leaves the others', () => {
    assert.deepEqual(edited([], 'week=20', 'day=5'), ['day=5', 'week=20']);
    assert.deepEqual(edited(['day=5', 'total=9'], 'day=6'), ['day=6', 'total=9']);
  });

  test('replaces a window of the same length, however it is spelled', () => {
    assert.deepEqual(edited(['24h=5'], '1d=6'), ['1d=6']);
  });

  test('removes one with none, and all with none alone', () => {
    assert.deepEqual(edited(['day=5', '24h=4'], '1d=none'), ['day=5']);
    assert.deepEqual(edited(['day=5', '24h=4'], 'week=none'), ['day=5', '24h=4']);
    assert.deepEqual(edited(['day=5', '24h=4'], 'none'), []);
  });

  test('is applied in order: none first replaces all', () => {
    assert.deepEqual(edited(['day=5', '24h=4'], 'none', 'week=3'), ['week=3']);
    assert.deepEqual(edited(['day=5'], 'week=3', 'none'), []);
  });

  test('refuses a ninth budget', () => {
    const eight = Array.from({ length: 8 }, (_, i) => `${i + 1}h=1`);
    assert.equal(edited([], ...eight).length, 8);
    assert.throws(() => edited(eight, 'day=1'), /at most 8 budgets, and would have 9/);
  });

  test('refuses what is no period or no amount, and says what is', () => {
    for (const text of ['', '5', 'day', 'day=', '=5', 'day=-1', 'day=1e3', 'month=5', '400d=5', 'Day=5', 'day=5=6']) {
      const reading = readBudget(text);
      assert.match(reading.ok ? 'ok' : reading.expected, /^Expected /, text);
    }
  });
});

test('`--expires` takes a time to come: how long from now, a date or a time', () => {
  const table = [
    ['30d', NOW + 30 * 86_400_000],
    ['90s', NOW + 90_000],
    ['1s', NOW + 1_000],
    ['2026-12-01', Date.UTC(2026, 11, 1)],
    ['2026-11-21T13:00:00Z', NOW + 3_600_000],
    ['0s', undefined],
    ['2026-11-21', undefined],
    ['999999999d', undefined],
    ['soon', undefined],
    ['7w', undefined],
  ] as const;
  for (const [text, expected] of table) {
    const reading = readExpiry(NOW)(text);
    assert.equal(reading.ok ? reading.value : undefined, expected, text);
    // Within a second it is the same, so that people can read it back.
    const later = readExpiry(NOW + 999)(text);
    assert.equal(later.ok ? later.value : undefined, expected, text);
  }
});
