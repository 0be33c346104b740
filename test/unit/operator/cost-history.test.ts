/** Costs by hour and by day: their steps, what they are compared with, and where most was spent. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { burnOf, type HistorySpan, historySpan, readCostHistory } from '../../../src/operator/cost-history.ts';
import { UTC } from '../../../src/operator/moments.ts';
import { axisText, plotLines } from '../../../src/operator/plot.ts';
import { plotSvg } from '../../../src/operator/plot-svg.ts';
import type { UsageQuery, UsageRow } from '../../../src/state/usage.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** In the middle of an hour. */
const NOW_MS = Date.UTC(2026, 10, 22, 12, 30);

describe('a span of a history', () => {
  const rows: readonly (readonly [what: string, span: HistorySpan, first: string, steps: number, weeks: number])[] = [
    [
      'has 24 hours of a day, the present one among them',
      historySpan(NOW_MS - DAY_MS, NOW_MS),
      '2026-11-21T13:00',
      24,
      1,
    ],
    ['has the hours of seven days', historySpan(NOW_MS - WEEK_MS, NOW_MS), '2026-11-15T13:00', 168, 1],
    ['has days beyond eight of them', historySpan(NOW_MS - 30 * DAY_MS, NOW_MS), '2026-10-24T00:00', 30, 5],
    ['has days if they are asked for', historySpan(NOW_MS - WEEK_MS, NOW_MS, 'day'), '2026-11-16T00:00', 7, 1],
    ['has one step at least', historySpan(NOW_MS - 1, NOW_MS), '2026-11-22T13:00', 1, 1],
  ];
  for (const [what, span, first, steps, weeks] of rows) {
    test(what, () => {
      const found = [new Date(span.fromMs).toISOString().slice(0, 16), span.steps, span.earlierMs / WEEK_MS];
      assert.deepEqual(found, [first, steps, weeks]);
    });
  }
});

test('a history has the cost of each step, and of the same hour a week before', async () => {
  const span = historySpan(NOW_MS - DAY_MS, NOW_MS);
  const at = (step: number, beforeMs = 0) => new Date(span.fromMs + step * HOUR_MS - beforeMs).toISOString();
  const asked: UsageQuery[] = [];
  const usage = {
    report: async (query: UsageQuery) => {
      asked.push(query);
      const isNow = query.sinceMs === span.fromMs;
      const row = isNow ? { hour: at(3), costNanos: 5n } : { hour: at(3, WEEK_MS), costNanos: 7n };
      return { rows: [row as UsageRow], droppedDays: isNow ? [] : ['2026-11-14'] };
    },
  };
  const history = await readCostHistory(usage, { keyId: 'key_a', model: undefined }, span);
  assert.deepEqual([history.costs[3], history.earlier[3]], [5n, 7n]);
  assert.deepEqual([history.costs.length, history.costs.filter((cost) => cost > 0n).length], [24, 1]);
  // A missing past makes the comparison wrong, and not the figures of this time.
  assert.deepEqual(history.droppedDays, []);
  assert.deepEqual(
    asked.map(({ by, keyId, sinceMs = 0, untilMs = 0 }) => [by, keyId, untilMs - sinceMs]),
    [
      ['hour', 'key_a', DAY_MS],
      ['hour', 'key_a', DAY_MS],
    ],
  );
});

describe('the highest spending', () => {
  const rows: readonly (readonly [what: string, costs: readonly bigint[], found: ReturnType<typeof burnOf>])[] = [
    ['starts with a jump', [1n, 1n, 1n, 1n, 1n, 100n, 90n], { from: 5, to: 7, costNanos: 190n }],
    [
      'stays where it began once a budget has stopped it',
      [1n, 1n, 1n, 9n, 9n, 0n, 0n],
      { from: 3, to: 5, costNanos: 18n },
    ],
    ['is the latest of equal ones', [1n, 9n, 1n, 1n, 9n, 1n, 1n], { from: 4, to: 5, costNanos: 9n }],
    ['is unknown if it reaches back to the first step', [9n, 9n, 1n, 1n], undefined],
    ['is usual if it lasts for most of the time', [1n, 9n, 9n, 9n, 9n], undefined],
    ['needs a cost', [0n, 0n], undefined],
  ];
  for (const [what, costs, found] of rows) test(what, () => assert.deepEqual(burnOf(costs), found));
});

describe('a plot', () => {
  const span = historySpan(Date.UTC(2026, 10, 22), Date.UTC(2026, 10, 22, 8));
  const usd = (...amounts: number[]) => amounts.map((amount) => BigInt(amount * 1e9));
  const history = {
    span,
    costs: usd(0, 1, 2, 0, 0, 0, 4, 4),
    earlier: usd(2, 2, 2, 2, 2, 2, 2, 2),
    droppedDays: [],
  };
  const drawn = plotLines(history, { width: 7 + 16, height: 5 }, UTC);

  test('has columns up to their cost, and the earlier time as a line where there are none', () => {
    assert.deepEqual(
      drawn.map((line) =>
        line
          .map(({ text }) => text)
          .join('')
          .trimEnd(),
      ),
      [
        '     4┤            ⣿⣿⣿⣿',
        '      │            ⣿⣿⣿⣿',
        '     2┤⠉⠉⠉⠉⣿⣿⠉⠉⠉⠉⠉⠉⣿⣿⣿⣿',
        '     0┤  ⣿⣿⣿⣿      ⣿⣿⣿⣿',
        '       00:00',
      ],
    );
    const parts = new Set(drawn.flat().map(({ part }) => part));
    assert.deepEqual([...parts].toSorted(), ['axis', 'earlier', 'now']);
  });

  test('keeps its width at any size, from more steps than columns to fewer', () => {
    for (const width of [20, 47, 120]) {
      for (const steps of [1, 24, 168, 720]) {
        const long = {
          span: { ...span, steps },
          costs: Array(steps).fill(1n),
          earlier: Array(steps).fill(3n),
          droppedDays: [],
        };
        for (const line of plotLines(long, { width, height: 8 }, UTC).slice(0, -1)) {
          assert.equal(
            line.reduce((sum, { text }) => sum + text.length, 0),
            width,
          );
        }
      }
    }
  });

  test('has figures of at most six columns beside it', () => {
    for (const value of [0.0005, 0.00025, 0.125, 1.25, 2.5, 999, 12_345, 1e9])
      assert.ok(axisText(value).length <= 7, axisText(value));
  });

  test('as SVG has a bar for each cost, a line, and names that are escaped', () => {
    const svg = plotSvg(history, 'Cost of <b>"app"', 'a week before', UTC);
    assert.equal(svg.match(/<rect x=/g)?.length, 4);
    assert.equal(svg.match(/points="([^"]*)"/)?.[1]?.split(' ').length, 8);
    assert.match(svg, /<title>Cost of &lt;b&gt;&quot;app&quot;<\/title>/);
    assert.doesNotMatch(svg, /<b>/);
  });
});
