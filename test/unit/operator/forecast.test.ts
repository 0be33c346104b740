/** When the credit ends, and when a key reaches its limit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY_MS } from '../../../src/core/clock.ts';
import {
  type CreditForecast,
  forecastCredit,
  forecastLimit,
  type LimitForecast,
  lastsText,
  limitText,
  weekSpending,
  weekStartMs,
} from '../../../src/operator/forecast.ts';

const USD = 1_000_000_000n;
const MINUTE_MS = 60_000;
const NOW_MS = Date.UTC(2026, 10, 22, 12);

const credit: readonly (readonly [
  what: string,
  balance: bigint,
  held: bigint,
  refusals: number,
  spent: bigint,
  CreditForecast,
])[] = [
  ['all of it is free', 10n * USD, 0n, 0, 1n * USD, { kind: 'ends', inMs: 10 * MINUTE_MS }],
  ['what is free lasts, not the balance', 10n * USD, 8n * USD, 0, 1n * USD, { kind: 'ends', inMs: 2 * MINUTE_MS }],
  ['everything is held', 10n * USD, 10n * USD, 0, 1n * USD, { kind: 'nothing_free' }],
  ['the balance is negative', -1n, 0n, 0, 0n, { kind: 'nothing_free' }],
  ['nothing was spent', 10n * USD, 0n, 0, 0n, { kind: 'no_spending' }],
  ['it was refused while some was free', 10n * USD, 0n, 3, 1n * USD, { kind: 'refusing', requests: 3 }],
  ['it was refused, and nothing is free', 0n, 0n, 3, 0n, { kind: 'refusing', requests: 3 }],
  ['less is free than a minute takes', 1n, 0n, 0, 1n * USD, { kind: 'ends', inMs: 0 }],
  ['366 days', 366n * 1_440n, 0n, 0, 1n, { kind: 'ends', inMs: 366 * DAY_MS }],
  ['more than a year', 366n * 1_440n + 1n, 0n, 0, 1n, { kind: 'far' }],
  ['the most there can be, at the least pace', 10n ** 18n, 0n, 0, 1n, { kind: 'far' }],
];

test('the credit ends when what is free is spent', () => {
  for (const [what, balanceNanos, heldNanos, refusals, costNanos, expected] of credit) {
    const found = forecastCredit({ balanceNanos, heldNanos }, refusals, { costNanos, spanMs: MINUTE_MS });
    assert.deepEqual(found, expected, what);
  }
});

test('how long the credit lasts is said at both paces, and how bad that is', () => {
  const ends = (inMs: number): CreditForecast => ({ kind: 'ends', inMs });
  const table: readonly (readonly [Parameters<typeof lastsText>[0], string, string])[] = [
    [
      { minute: ends(165_000), week: ends(90 * DAY_MS) },
      'bad',
      '2m45s at this minute’s pace; 90d at the last seven days’ pace',
    ],
    [{ minute: ends(3_600_000) }, 'warn', '1h at this minute’s pace'],
    [{ week: ends(DAY_MS) }, 'good', '1d at the last seven days’ pace'],
    [
      { minute: { kind: 'no_spending' }, week: { kind: 'far' } },
      'good',
      'nothing spent this minute; more than a year at the last seven days’ pace',
    ],
    [{ week: { kind: 'no_spending' } }, 'good', 'nothing spent in the last seven days'],
    [{ minute: { kind: 'nothing_free' }, week: { kind: 'nothing_free' } }, 'bad', 'nothing is free'],
    [{ minute: { kind: 'refusing', requests: 1_047 } }, 'bad', '1,047 refused for money in the last minute'],
  ];
  for (const [paces, tone, text] of table) assert.deepEqual(lastsText(paces), { text, tone });
  assert.equal(lastsText({}), undefined);
});

test('the last seven days are whole days, today among them, or fewer if nothing was spent before', () => {
  assert.equal(weekStartMs(NOW_MS), Date.UTC(2026, 10, 16));
  const day = (text: string, costNanos: bigint) => ({ day: text, costNanos });
  assert.deepEqual(weekSpending([], NOW_MS), { costNanos: 0n, spanMs: 6.5 * DAY_MS });
  const week = weekSpending([day('2026-11-16', 2n), day('2026-11-20', 3n)], NOW_MS);
  assert.deepEqual(week, { costNanos: 5n, spanMs: 6.5 * DAY_MS });
  assert.deepEqual(weekSpending([day('2026-11-21', 3n)], NOW_MS), { costNanos: 3n, spanMs: 1.5 * DAY_MS });
  // A minute after midnight is too short a time to go by.
  const midnightMs = Date.UTC(2026, 10, 22);
  assert.deepEqual(weekSpending([day('2026-11-22', 3n)], midnightMs + 60_000), { costNanos: 3n, spanMs: 3_600_000 });
});

const limits: readonly (readonly [what: string, limit: bigint | null, cost: bigint, now: number, LimitForecast])[] = [
  ['no limit', null, 5n, NOW_MS, { kind: 'no_limit' }],
  ['a limit of nothing', 0n, 0n, NOW_MS, { kind: 'reached' }],
  ['exactly reached', 5n, 5n, NOW_MS, { kind: 'reached' }],
  ['passed', 5n, 6n, NOW_MS, { kind: 'reached' }],
  ['nothing spent', 5n, 0n, NOW_MS, { kind: 'no_spending' }],
  // 21.5 days took 43, so 10 more take 5.
  ['this month', 53n, 43n, NOW_MS, { kind: 'on', day: '2026-11-27' }],
  ['tomorrow', 44n, 43n, NOW_MS, { kind: 'on', day: '2026-11-23' }],
  ['the last moment of the month', 60n * USD, 43n * USD + 1n, NOW_MS, { kind: 'on', day: '2026-11-30' }],
  ['with the next month it starts anew', 60n, 43n, NOW_MS, { kind: 'not_this_month' }],
  ['never', 10n ** 18n, 1n, NOW_MS, { kind: 'not_this_month' }],
  ['a minute into the month', 2n, 1n, Date.UTC(2026, 10, 1) + 60_000, { kind: 'on', day: '2026-11-01' }],
  ['a minute into it, with an hour to go by', 1_000n, 1n, Date.UTC(2026, 10, 1) + 60_000, { kind: 'not_this_month' }],
  ['December', 32n, 31n, Date.UTC(2026, 11, 31), { kind: 'on', day: '2026-12-31' }],
];

test('a key reaches its limit on the day on which this month’s pace takes it there', () => {
  for (const [what, limit, cost, now, expected] of limits) {
    assert.deepEqual(forecastLimit(limit, cost, now), expected, what);
  }
  assert.equal(limitText({ kind: 'no_limit' }), undefined);
  assert.deepEqual(limitText({ kind: 'on', day: '2026-11-27' }), {
    text: 'limit reached on 2026-11-27 at this month’s pace',
    tone: 'warn',
  });
});
