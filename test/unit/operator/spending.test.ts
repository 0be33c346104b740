/** Budgets: which of them stops a key, with the levels around it, when it frees up, and when it will be spent. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type BudgetSpend, fixedSpend, slidingSpend } from '../../../src/core/budgets.ts';
import { UTC, type Zone } from '../../../src/operator/moments.ts';
import {
  type BoundedLevel,
  blockerJson,
  blockerOf,
  isSpent,
  nextSpent,
  outlookOf,
  spendBounds,
  spentAtText,
  standingOf,
  standingWithin,
  tightest,
} from '../../../src/operator/spending.ts';
import type { KeyRecord } from '../../../src/state/keys.ts';

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
    [standingOf(key(), bounds(9n, 1n), NOW_MS, UTC), 'enabled', 'good'],
    [standingOf(key({ state: 'disabled' }), bounds(9n, 9n), NOW_MS, UTC), 'disabled', 'warn'],
    [standingOf(key({ expiresAtMs: NOW_MS }), [], NOW_MS, UTC), '✕ expired', 'bad'],
    [standingOf(key(), bounds(null, 0n, day(5n, 5n)), NOW_MS, UTC), '✕ spent, resets 00:00 UTC', 'bad'],
    [standingOf(key(), bounds(9n, 9n), NOW_MS, UTC), '✕ spent, resets 12-01 UTC', 'bad'],
    // Not `10:14`, which would be two hours ago.
    [standingOf(key(), bounds(null, 0n, window(4n, 2)), NOW_MS, UTC), '✕ spent, resets 11-02 10:14 UTC', 'bad'],
    [standingOf(key(), bounds(null, 0n, window(4n, 14)), NOW_MS, UTC), '✕ spent, resets 22:14 UTC', 'bad'],
    [standingOf(key(), bounds(null, 0n, total(5n, 5n)), NOW_MS, UTC), '✕ spent', 'bad'],
    [standingOf(key(), bounds(null, 0n, day(5n, 5n)), MIDNIGHT_MS, UTC), 'enabled', 'good'],
  ];
  for (const [standing, text, tone] of rows) test(`${text}, ${tone}`, () => assert.deepEqual(standing, { text, tone }));
});

describe('what comes of a budget', () => {
  const sliding = slidingSpend({ period: '10h', limitNanos: 4n }, 36_000, [[NOW_MS - 3_600_000, 4n]], NOW_MS);
  const rows: readonly (readonly [bound: BudgetSpend, text: string | undefined])[] = [
    [day(5n * USD, 5n * USD), 'resets in 12h, 00:00 UTC'],
    [day(USD, 5n * USD), 'resets in 12h, 00:00 UTC'],
    [day(4n * USD, 5n * USD), 'spent at 15:00 UTC (3 h)'],
    [day(0n, 5n), 'resets in 12h, 00:00 UTC'],
    [total(5n, 5n), 'never resets'],
    [total(4n, 5n), undefined],
    [sliding, 'resets in 9h6m, 21:06 UTC'],
    [fixedSpend({ period: 'week', limitNanos: 5n }, 4n, NOW_MS + 4 * DAY_MS, NOW_MS), 'spent on 11-03 UTC (39 h)'],
  ];
  for (const [bound, text] of rows) {
    test(`${bound.period}: ${text}`, () => assert.equal(outlookOf(bound, NOW_MS, undefined, UTC)?.text, text));
  }

  describe('without a calendar at the pace of the key in the last seven days', () => {
    const week = (usd: bigint) => ({ costNanos: usd * USD, spanMs: 7 * DAY_MS });
    const window = (spent: bigint, limit: bigint) =>
      slidingSpend({ period: '10h', limitNanos: limit * USD }, 36_000, [[NOW_MS - 3_600_000, spent * USD]], NOW_MS);
    const open: readonly (readonly [bound: BudgetSpend, usdAWeek: bigint, text: string | undefined])[] = [
      [total(4n * USD, 5n * USD), 7n, 'spent on 11-02 UTC (24 h)'],
      [total(4n * USD, 100n * USD), 7n, 'spent on 2027-02-05 UTC (96 days)'],
      [total(4n * USD, 1_000n * USD), 7n, undefined],
      [total(4n * USD, 5n * USD), 0n, undefined],
      // 2 USD an hour come, and 0.40 leave.
      [window(4n, 12n), 336n, 'spent at 17:00 UTC (5 h)'],
      // As much is in it as comes in ten hours, and no more will be.
      [window(4n, 5n), 67n, 'resets in 9h6m, 21:06 UTC'],
      // It fills, but not up to the limit.
      [window(1n, 30n), 336n, 'resets in 9h6m, 21:06 UTC'],
    ];
    for (const [bound, usd, text] of open) {
      test(`${bound.period}, ${usd} USD a week: ${text}`, () =>
        assert.equal(outlookOf(bound, NOW_MS, week(usd), UTC)?.text, text));
    }
  });

  test('a budget that has opened since it was read is not spent', () => {
    assert.deepEqual([isSpent(day(5n, 5n), MIDNIGHT_MS - 1), isSpent(day(5n, 5n), MIDNIGHT_MS)], [true, false]);
  });
});

describe('a key inside groups and under a parent', () => {
  const record = (id: string, more: Partial<KeyRecord> = {}) =>
    ({
      id,
      name: id.slice(4),
      state: 'enabled',
      expiresAtMs: null,
      groupId: null,
      parentId: null,
      ...more,
    }) as KeyRecord;
  const spent = [day(5n, 5n)];
  const weekly = [fixedSpend({ period: 'week', limitNanos: 5n }, 5n, MIDNIGHT_MS + DAY_MS, NOW_MS)];
  /** `key_app` in `grp_nlp` in `grp_lab`; `key_child` under `key_app`. */
  const levels = (changes: Readonly<Record<string, { bounds?: BoundedLevel['bounds'] } & Partial<KeyRecord>>>) => {
    const level = (id: string, more: Partial<KeyRecord> = {}): [string, BoundedLevel] => {
      const { bounds = [], ...change } = changes[id] ?? {};
      return [id, { record: record(id, { ...more, ...change }), bounds }];
    };
    return new Map([
      level('key_child', { parentId: 'key_app' }),
      level('key_app', { groupId: 'grp_nlp' }),
      level('grp_nlp', { groupId: 'grp_lab' }),
      level('grp_lab'),
    ]);
  };
  const rows: readonly (readonly [
    what: string,
    of: Parameters<typeof levels>[0],
    id: string,
    text: string,
    json: readonly [level: string | null, reason: string, period: string | null] | undefined,
  ])[] = [
    ['is enabled where no level is spent', {}, 'key_child', 'enabled', undefined],
    [
      'is spent by the outermost group',
      { grp_lab: { bounds: spent } },
      'key_child',
      '✕ spent by @lab, resets 00:00 UTC',
      ['@lab', 'spent', 'day'],
    ],
    [
      'is spent by its parent',
      { key_app: { bounds: spent } },
      'key_child',
      '✕ spent by app, resets 00:00 UTC',
      ['app', 'spent', 'day'],
    ],
    [
      'is spent by itself',
      { key_app: { bounds: spent }, grp_nlp: { bounds: spent } },
      'key_app',
      '✕ spent, resets 00:00 UTC',
      [null, 'spent', 'day'],
    ],
    [
      'names the level that frees up last',
      { key_app: { bounds: spent }, grp_nlp: { bounds: weekly } },
      'key_app',
      '✕ spent by @nlp, resets 11-03 UTC',
      ['@nlp', 'spent', 'week'],
    ],
    [
      'is disabled by a group before a spent budget counts',
      { key_app: { bounds: spent }, grp_lab: { state: 'disabled' } },
      'key_child',
      'disabled by @lab',
      ['@lab', 'disabled', null],
    ],
    [
      'has expired with its parent',
      { key_app: { expiresAtMs: NOW_MS } },
      'key_child',
      '✕ expired with app',
      ['app', 'expired', null],
    ],
  ];
  for (const [what, changes, id, text, json] of rows) {
    test(what, () => {
      const all = levels(changes);
      const owner = all.get(id) as BoundedLevel;
      const levelOf = (other: string) => all.get(other);
      assert.equal(standingWithin(owner, levelOf, NOW_MS, UTC).text, text);
      const blocker = blockerOf(owner, levelOf, NOW_MS);
      const found = blocker && blockerJson(blocker, id);
      assert.deepEqual(found && [found.level, found.reason, found.period], json);
    });
  }

  test('the limits that will be spent first are named in their order, and not those of refused levels', () => {
    const all = levels({
      key_child: { bounds: [day(1n * USD, 5n * USD)] },
      key_app: { bounds: [day(3n * USD, 5n * USD), total(9n, 10n)] },
      grp_nlp: { bounds: [day(4n * USD, 5n * USD)] },
      grp_lab: { bounds: spent },
    });
    const next = nextSpent([...all.values()], NOW_MS, 3);
    assert.deepEqual(
      next.map(({ level, bound, spentAtMs }) => [level.record.name, bound.period, spentAtMs]),
      [
        ['nlp', 'day', Date.UTC(2026, 10, 1, 15)],
        ['app', 'day', Date.UTC(2026, 10, 1, 20)],
        ['app', 'total', undefined],
      ],
    );
  });
});

test('the time at which a budget will be spent has the time that is left until then', () => {
  assert.equal(
    spentAtText(NOW_MS + 58 * 60_000, NOW_MS, () => 3 * 3_600_000),
    'spent at 15:58 (58 min)',
  );
});

describe('times to come', () => {
  const berlin: Zone = () => 3_600_000;
  const pacific: Zone = () => -8 * 3_600_000;
  const rows: readonly (readonly [zone: Zone, text: string])[] = [
    [UTC, 'resets in 12h, 00:00 UTC'],
    [berlin, 'resets in 12h, 11-02 01:00'],
    [pacific, 'resets in 12h, 16:00'],
  ];
  for (const [zone, text] of rows) {
    test(`are in the zone of the viewer, and labelled where that is UTC: ${text}`, () =>
      assert.equal(outlookOf(day(5n, 5n), NOW_MS, undefined, zone)?.text, text));
  }
});
