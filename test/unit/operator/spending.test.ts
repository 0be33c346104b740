/** What a key has spent of its budgets: which stops it first, when it opens, and when it is spent. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type BudgetSpend, fixedSpend, slidingSpend } from '../../../src/core/budgets.ts';
import { isSpent, outlookOf, spendBounds, standingOf, tightest } from '../../../src/operator/spending.ts';

/** Sunday, noon. */
const NOW_MS = Date.UTC(2026, 10, 1, 12);
const MIDNIGHT_MS = Date.UTC(2026, 10, 2);
const USD = 1_000_000_000n;
const DAY_MS = 86_400_000;

function day(spent: bigint, limit: bigint): BudgetSpend {
  return fixedSpend({ period: 'day', limitNanos: limit }, spent, MIDNIGHT_MS, NOW_MS);
}

function total(spent: bigint, limit: bigint): BudgetSpend {
  return fixedSpend({ period: 'total', limitNanos: limit }, spent, null, NOW_MS);
}

const bounds = (month: bigint | null, spent: bigint, ...budgets: BudgetSpend[]) =>
  spendBounds(month, spent, budgets, NOW_MS);

test('the limit of the month is one of the budgets, before the total', () => {
  const periods = bounds(9n, 1n, day(1n, 2n), total(1n, 3n)).map(({ period }) => period);
  assert.deepEqual(periods, ['day', 'month', 'total']);
  assert.deepEqual(bounds(null, 1n), []);
});

test('bounds that are not spent are the same at any moment of their period', () => {
  const at = (nowMs: number) =>
    spendBounds(9n, 1n, [fixedSpend({ period: 'day', limitNanos: 5n }, 1n, MIDNIGHT_MS, nowMs)], nowMs);
  assert.deepEqual(at(NOW_MS), at(NOW_MS + 60_000));
});

describe('the tightest bound', () => {
  const rows: readonly (readonly [what: string, bounds: readonly BudgetSpend[], period: string | undefined])[] = [
    ['is none of a key without any', [], undefined],
    ['is the one of which the largest part is gone', bounds(100n, 50n, day(4n, 10n)), 'month'],
    ['is a spent one before a fuller one that is open', bounds(10n, 9n, day(10n, 10n)), 'day'],
    ['is the one that opens last, if several are spent', bounds(10n, 10n, day(10n, 10n)), 'month'],
    ['is the one that never opens before all others', bounds(10n, 10n, total(5n, 5n)), 'total'],
    ['is a limit of nothing', bounds(100n, 50n, day(0n, 0n)), 'day'],
  ];
  for (const [what, all, period] of rows) test(what, () => assert.equal(tightest(all, NOW_MS)?.period, period));
});

describe('the state of a key', () => {
  /** 24 hours, in which all was spent so many hours ago. */
  const window = (nanos: bigint, hoursAgo: number) =>
    slidingSpend({ period: '24h', limitNanos: 4n }, 86_400, [[NOW_MS - hoursAgo * 3_600_000, nanos]], NOW_MS);
  const key = (more = {}) => ({ state: 'enabled' as const, expiresAtMs: null, ...more });
  const rows: readonly (readonly [standing: ReturnType<typeof standingOf>, text: string, tone: string])[] = [
    [standingOf(key(), bounds(9n, 1n), NOW_MS), 'enabled', 'good'],
    [standingOf(key({ state: 'disabled' }), bounds(9n, 9n), NOW_MS), 'disabled', 'warn'],
    [standingOf(key({ expiresAtMs: NOW_MS }), [], NOW_MS), '✕ expired', 'bad'],
    [standingOf(key(), bounds(null, 0n, day(5n, 5n)), NOW_MS), '✕ spent, opens 00:00', 'bad'],
    [standingOf(key(), bounds(9n, 9n), NOW_MS), '✕ spent, opens 12-01', 'bad'],
    // Not `10:14`, which would be two hours ago.
    [standingOf(key(), bounds(null, 0n, window(4n, 2)), NOW_MS), '✕ spent, opens 11-02 10:14', 'bad'],
    [standingOf(key(), bounds(null, 0n, window(4n, 14)), NOW_MS), '✕ spent, opens 22:14', 'bad'],
    [standingOf(key(), bounds(null, 0n, total(5n, 5n)), NOW_MS), '✕ spent', 'bad'],
    [standingOf(key(), bounds(null, 0n, day(5n, 5n)), MIDNIGHT_MS), 'enabled', 'good'],
  ];
  for (const [standing, text, tone] of rows) test(`${text}, ${tone}`, () => assert.deepEqual(standing, { text, tone }));
});

describe('what comes of a budget', () => {
  const sliding = slidingSpend({ period: '10h', limitNanos: 4n }, 36_000, [[NOW_MS - 3_600_000, 4n]], NOW_MS);
  const rows: readonly (readonly [bound: BudgetSpend, text: string | undefined])[] = [
    [day(5n * USD, 5n * USD), 'opens 00:00'],
    [day(USD, 5n * USD), 'resets 00:00'],
    [day(4n * USD, 5n * USD), 'spent at 15:00 at its pace'],
    [day(0n, 5n), 'resets 00:00'],
    [total(5n, 5n), 'never opens'],
    [total(4n, 5n), undefined],
    [sliding, 'opens 21:06'],
    [fixedSpend({ period: 'week', limitNanos: 5n }, 4n, NOW_MS + 4 * DAY_MS, NOW_MS), 'spent on 11-03 at its pace'],
  ];
  for (const [bound, text] of rows) {
    test(`${bound.period}: ${text}`, () => assert.equal(outlookOf(bound, NOW_MS)?.text, text));
  }

  describe('without a calendar at the pace of the key in the last seven days', () => {
    const week = (usd: bigint) => ({ costNanos: usd * USD, spanMs: 7 * DAY_MS });
    const window = (spent: bigint, limit: bigint) =>
      slidingSpend({ period: '10h', limitNanos: limit * USD }, 36_000, [[NOW_MS - 3_600_000, spent * USD]], NOW_MS);
    const open: readonly (readonly [bound: BudgetSpend, usdAWeek: bigint, text: string | undefined])[] = [
      [total(4n * USD, 5n * USD), 7n, 'spent on 11-02 at its pace'],
      [total(4n * USD, 100n * USD), 7n, 'spent on 2027-02-05 at its pace'],
      [total(4n * USD, 1_000n * USD), 7n, undefined],
      [total(4n * USD, 5n * USD), 0n, undefined],
      // 2 USD an hour come, and 0.40 leave.
      [window(4n, 12n), 336n, 'spent at 17:00 at its pace'],
      // As much is in it as comes in ten hours, and no more will be.
      [window(4n, 5n), 67n, 'resets 21:06'],
      // It fills, but not up to the limit.
      [window(1n, 30n), 336n, 'resets 21:06'],
    ];
    for (const [bound, usd, text] of open) {
      test(`${bound.period}, ${usd} USD a week: ${text}`, () =>
        assert.equal(outlookOf(bound, NOW_MS, week(usd))?.text, text));
    }
  });

  test('a budget that has opened since it was read is not spent', () => {
    assert.deepEqual([isSpent(day(5n, 5n), MIDNIGHT_MS - 1), isSpent(day(5n, 5n), MIDNIGHT_MS)], [true, false]);
  });
});
