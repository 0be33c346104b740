/** Usage over time: its course by hour or by day, and beside that of a week earlier. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { UsageQuery } from '../../src/state/usage.ts';
import { CostHistory, hasHistory, slotsOf, type UsageAsked } from '../../src/tui/cost-history.ts';
import { type ComparedUsage, type Model, RANGES } from '../../src/tui/model.ts';
import { compared, isCompared } from '../../src/tui/store.ts';
import { after, keyId, letters, NOW_MS, press, SNAPSHOT, screenText, serving, usageRow } from './samples.ts';

const USD = 1_000_000_000n;
const HOUR_MS = 3_600_000;
const TODAY: UsageAsked = { by: 'key', range: 'today', of: {} };
const always = () => true;

/** One USD of key 1 in each hour from ten o'clock on. */
function burning() {
  const asked: number[] = [];
  const history = new CostHistory(async ({ sinceMs = 0 }: UsageQuery) => {
    asked.push(new Date(sinceMs).getUTCHours());
    const rows = sinceMs >= NOW_MS - 2 * HOUR_MS ? [usageRow({ keyId: keyId(1), costNanos: USD })] : [];
    return { rows, droppedDays: [] };
  });
  return { history, asked };
}

const ROWS = [usageRow({ key: 'web-app', keyId: keyId(1), costNanos: 3n * USD })];

test('a row has the cost of each hour of today, with those to come', async () => {
  const { history } = burning();
  await history.read(ROWS, TODAY, NOW_MS, always);
  const [row] = history.shown(ROWS, TODAY, NOW_MS);
  assert.deepEqual(row?.costs, [...Array(10).fill(0), 1, 1, 1, ...Array(11).fill(0)]);
});

describe('since when a row costs much', () => {
  const [twelve, now] = [NOW_MS, NOW_MS + HOUR_MS / 2];
  const eachHour = (usd: number) => Object.fromEntries(Array.from({ length: 13 }, (_, hour) => [hour, usd]));
  const cases: readonly (readonly [what: string, costs: Readonly<Record<number, number>>, hour: number | undefined])[] =
    [
      ['is the first hour of those up to now, of which half an hour has passed', { 2: 1, 10: 20, 11: 20, 12: 4 }, 10],
      ['is told over hours with less, but for a pause', { 5: 20, 8: 20, 9: 6, 10: 20, 11: 20, 12: 10 }, 8],
      ['is an hour at the end of which it began', { 2: 1, 9: 2, 10: 20, 11: 20, 12: 10 }, 9],
      ['is not an hour with as little as the one before', { 8: 2, 9: 2, 10: 20, 11: 20, 12: 10 }, 10],
      ['is not an hour with next to nothing', { 9: 0.5, 10: 20, 11: 20, 12: 10 }, 10],
      ['is the present hour', { 0: 1, 10: 1, 11: 1, 12: 10 }, 12],
      ['is no longer going on if it costs little now', { 10: 20, 11: 20, 12: 1 }, undefined],
      ['is not told of what always did', eachHour(20), undefined],
      ['is not the first of all, before which nothing is known', { ...eachHour(20), 0: 2 }, 1],
    ];
  for (const [what, costs, hour] of cases) {
    test(what, async () => {
      const history = new CostHistory(async ({ sinceMs = 0 }: UsageQuery) => {
        const usd = costs[new Date(sinceMs).getUTCHours()] ?? 0;
        return { rows: [usageRow({ keyId: keyId(1), costNanos: BigInt(usd * 1_000_000_000) })], droppedDays: [] };
      });
      await history.read(ROWS, TODAY, now, always);
      const { sinceMs, untilMs } = history.shown(ROWS, TODAY, now)[0]?.high ?? {};
      assert.equal(
        untilMs === undefined ? sinceMs : undefined,
        hour === undefined ? undefined : twelve + (hour - 12) * HOUR_MS,
      );
    });
  }

  test('is told also once it has stopped, with its end', async () => {
    const costs: Readonly<Record<number, number>> = { 2: 1, 7: 20, 8: 15, 12: 1 };
    const history = new CostHistory(async ({ sinceMs = 0 }: UsageQuery) => {
      const usd = costs[new Date(sinceMs).getUTCHours()] ?? 0;
      return { rows: [usageRow({ keyId: keyId(1), costNanos: BigInt(usd) * USD })], droppedDays: [] };
    });
    await history.read(ROWS, TODAY, now, always);
    const high = { sinceMs: twelve - 5 * HOUR_MS, untilMs: twelve - 3 * HOUR_MS };
    assert.deepEqual(history.shown(ROWS, TODAY, now)[0]?.high, high);
  });

  test('does not wait for an hour that has just begun', async () => {
    const { history } = burning();
    const begun = NOW_MS + HOUR_MS + 60_000;
    await history.read(ROWS, TODAY, NOW_MS, always);
    assert.equal(history.shown(ROWS, TODAY, begun)[0]?.high?.sinceMs, NOW_MS - 2 * HOUR_MS);
  });
});

test('hours that are over are read once, but for the last of them', async () => {
  const { history, asked } = burning();
  await history.read(ROWS, TODAY, NOW_MS, always);
  assert.deepEqual(asked.splice(0), [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  await history.read(ROWS, TODAY, NOW_MS + 5_000, always);
  assert.deepEqual(asked, [12, 11]);
});

test('nothing is read that nobody waits for any more', async () => {
  const { history, asked } = burning();
  await history.read(ROWS, TODAY, NOW_MS, () => asked.length < 3);
  assert.deepEqual(asked, [12, 11, 10]);
});

test('what is known of one question is not shown for another', async () => {
  const { history } = burning();
  await history.read(ROWS, TODAY, NOW_MS, always);
  assert.equal(history.shown(ROWS, { ...TODAY, of: { model: 'mock/paid' } }, NOW_MS)[0]?.costs, undefined);
});

describe('of many rows', () => {
  test('only those that cost most have a history', async () => {
    const { history } = burning();
    const many = Array.from({ length: 300 }, (_, i) => usageRow({ keyId: keyId(i), costNanos: BigInt(i) * USD }));
    await history.read(many, TODAY, NOW_MS, always);
    const shown = history.shown(many, TODAY, NOW_MS).filter(({ costs }) => costs !== undefined);
    assert.deepEqual([shown.length, shown[0]?.keyId], [200, keyId(100)]);
  });
});

test('each range is hours or days up to now, and a day has none of its own', () => {
  const counts = RANGES.map((range) => [range, slotsOf(range, NOW_MS).count]);
  assert.deepEqual(counts, [
    ['today', 24],
    ['24h', 24],
    ['7d', 7],
    ['30d', 30],
    ['this month', 30],
    ['all', 30],
  ]);
  assert.ok(hasHistory(TODAY) && !hasHistory({ ...TODAY, by: 'day' }));
  assert.ok(!hasHistory({ ...TODAY, of: { period: '2026-11-01' } }));
});

test('the view draws it for each row', () => {
  const costs = [...Array(18).fill(0), 1, 2, 3, 4, 4, 4];
  const rows = ROWS.map((row) => ({ ...row, costs, high: { sinceMs: NOW_MS - 5 * HOUR_MS, untilMs: undefined } }));
  const model = after(serving('usage', SNAPSHOT, { columns: 100, rows: 24 }), { kind: 'usage', rows });
  const screen = screenText({ ...model, usage: { ...model.usage, range: '24h' } });
  assert.match(screen, /LAST 24 H +SINCE/);
  assert.match(screen, /^web-app .* {9}⣠⣾⣿ +07:00 /m);
  assert.match(screenText({ ...model, usage: { ...model.usage, range: '7d' } }), /^web-app .*⣿ +11-01 /m);
});

const row = (number: number, key: string, usd: bigint) =>
  usageRow({ keyId: keyId(number), key, requests: 9, costNanos: usd * USD });

const now = [row(1, 'web-app', 30n), row(2, 'batch-jobs', 6n), row(3, 'laptop', 2n), row(4, 'fresh', 1n)];
const before = [row(1, 'web-app', 10n), row(2, 'batch-jobs', 4n), row(3, 'laptop', 2n), row(5, 'quiet', 8n)];

test('each row has what it cost then, also one that costs nothing any more', () => {
  assert.deepEqual(
    compared(now, before).map(({ key, requests, costNanos, beforeNanos }) => [key, requests, costNanos, beforeNanos]),
    [
      ['web-app', 9, 30n * USD, 10n * USD],
      ['batch-jobs', 9, 6n * USD, 4n * USD],
      ['laptop', 9, 2n * USD, 2n * USD],
      ['fresh', 9, USD, 0n],
      ['quiet', 0, 0n, 8n * USD],
    ],
  );
});

test('only ranges of a week at most are compared, and not by date', () => {
  assert.ok(isCompared('key', 'today', {}) && isCompared('model', '24h', {}) && isCompared('user', '7d', {}));
  assert.ok(!isCompared('key', 'this month', {}) && !isCompared('day', '7d', {}));
  assert.ok(!isCompared('key', 'today', { period: '2026-11-01' }));
});

describe('the view', () => {
  const shown = (rows: readonly ComparedUsage[]): Model =>
    after(serving('usage', SNAPSHOT, { columns: 120, rows: 24 }), { kind: 'usage', rows });

  test('has the week before beside it, and the change in percent', () => {
    const screen = screenText(shown(compared(now, before)));
    assert.match(screen, /COST \(USD\) +LAST WEEK +CHANGE$/m);
    for (const line of [
      /^web-app .* 30\.00 +10\.00 +\+200%$/m,
      /^batch-jobs .* 6\.00 +4\.00 +\+50%$/m,
      /^laptop .* 2\.00 +2\.00 +0%$/m,
      /^fresh .* 1\.00 +0\.00 +new$/m,
      /^quiet .* 0\.00 +8\.00 +-100%$/m,
      /^Total .* 39\.00 USD {2}24\.00 a week earlier {2}\+62%/m,
    ])
      assert.match(screen, line);
  });

  test('finds who spends twice as much as a week ago', () => {
    const { model } = press(shown(compared(now, before)), '/', ...letters('change>=100'), 'enter');
    assert.match(screenText(model), /web-app/);
    assert.doesNotMatch(screenText(model), /batch-jobs|quiet/);
  });

  test('has no such columns for ranges that are not compared', () => {
    assert.doesNotMatch(screenText(shown(now)), /LAST WEEK|week earlier/);
  });
});
