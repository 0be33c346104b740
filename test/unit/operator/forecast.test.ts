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
  recentSpending,
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
      { recent: ends(165_000), week: ends(90 * DAY_MS) },
      'bad',
      'about 3 min at the pace of the last 10 min; about 90 days at the pace of the last 7 days',
    ],
    [{ recent: ends(5.3 * 3_600_000) }, 'warn', 'about 5 h at the pace of the last 10 min'],
    [{ week: ends(DAY_MS) }, 'good', 'about 24 h at the pace of the last 7 days'],
    [
      { recent: { kind: 'no_spending' }, week: { kind: 'far' } },
      'good',
      'no spending in the last 10 min; more than a year at the pace of the last 7 days',
    ],
    [{ week: { kind: 'no_spending' } }, 'good', 'no spending in the last 7 days'],
    [{ recent: { kind: 'nothing_free' }, week: { kind: 'nothing_free' } }, 'bad', 'no credit is free'],
    [{ recent: { kind: 'refusing', requests: 1_047 } }, 'bad', '1,047 refused for lack of credit in the last minute'],
  ];
  for (const [paces, tone, text] of table) assert.deepEqual(lastsText(paces), { text, tone });
  assert.equal(lastsText({}), undefined);
});

test('the recent pace is an average over ten minutes, or since the start of the gateway', () => {
  const minute = (agoMin: number, cost_usd: string) => ({ at_s: (NOW_MS - agoMin * MINUTE_MS) / 1_000, cost_usd });
  // Spending that comes in bursts: a pace of one minute would be 0 or 5 USD.
  const minutes = [minute(11, '100.00'), minute(10, '1.00'), minute(5, '5.00'), minute(0, '0.50')];
  const early = NOW_MS - DAY_MS;
  assert.deepEqual(recentSpending(minutes, early, NOW_MS), { costNanos: 6_500_000_000n, spanMs: 10 * MINUTE_MS });
  // 20 s later, the minute that began ten minutes before is no longer complete.
  const later = { costNanos: 5_500_000_000n, spanMs: 9 * MINUTE_MS + 20_000 };
  assert.deepEqual(recentSpending(minutes, early, NOW_MS + 20_000), later);
  const started = recentSpending([minute(2, '1.00')], NOW_MS - 3 * MINUTE_MS, NOW_MS);
  assert.deepEqual(started, { costNanos: USD, spanMs: 3 * MINUTE_MS });
  assert.equal(recentSpending([], NOW_MS - 1_000, NOW_MS).spanMs, MINUTE_MS);
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
