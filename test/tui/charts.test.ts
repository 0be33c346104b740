/** The range of the charts: the key that changes it, and what is asked for and read because of it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TrafficRow } from '../../src/control/protocol.ts';
import { emptyHistogram, type Histogram, quantile, record } from '../../src/observe/histogram.ts';
import type { Book } from '../../src/state/book.ts';
import type { HistoryRow } from '../../src/state/history.ts';
import { HistoryRead, MAX_HISTORY_ROWS } from '../../src/tui/history.ts';
import type { ChartRange, Model } from '../../src/tui/model.ts';
import { sharedQuery, snapshotQuery } from '../../src/tui/queries.ts';
import { withHistory, withMinutes } from '../../src/tui/update/step.ts';
import { after, alone, NOW_MS, press, SNAPSHOT, screenText, second, serving } from './samples.ts';

const HOUR_MS = 3_600_000;
const NOW_S = NOW_MS / 1_000;

/** A gateway that was started so long ago. */
function servingSince(agoMs: number): Model {
  return serving('overview', { ...SNAPSHOT, started_at_ms: NOW_MS - agoMs });
}

const withRange = (model: Model, chartRange: ChartRange): Model => ({ ...model, chartRange });
const minute = (ago: number, requests = 1): TrafficRow => second(NOW_S - 60 * ago, { requests });
const agesOf = (rows: readonly TrafficRow[]) => rows.map(({ at_s, requests }) => [(NOW_S - at_s) / 60, requests]);

describe('the key t', () => {
  test('goes through the ranges in the Overview, and does nothing elsewhere', () => {
    const ranges = ['t', 't', 't', 't'].map((_, count, keys) => {
      return press(serving(), ...keys.slice(0, count + 1)).model.chartRange;
    });
    assert.deepEqual([serving().chartRange, ...ranges], ['5m', '1h', '24h', '1m', '5m']);
    for (const view of ['live', 'usage', 'models'] as const) {
      assert.equal(press(serving(view), 't').model.chartRange, '5m');
    }
  });

  const cases: readonly (readonly [string, Model, ChartRange, sinceMs: number, untilMs: number])[] = [
    ['without a gateway', alone(), '5m', NOW_MS - HOUR_MS, NOW_MS],
    ['without a gateway', alone(), '1h', NOW_MS - 24 * HOUR_MS, NOW_MS],
    ['of a gateway that is ten minutes old', servingSince(600_000), '5m', NOW_MS - HOUR_MS, NOW_MS - 600_000],
    [
      'of a gateway that is two hours old',
      servingSince(2 * HOUR_MS),
      '1h',
      NOW_MS - 24 * HOUR_MS,
      NOW_MS - 2 * HOUR_MS,
    ],
  ];
  for (const [what, model, from, sinceMs, untilMs] of cases) {
    test(`has the journal read after ${from} for what is missing ${what}`, () => {
      const { effects } = press(withRange(model, from), 't');
      assert.deepEqual(effects, [{ kind: 'load_history', span: { sinceMs, untilMs } }]);
    });
  }

  test('reads nothing that the gateway remembers, or the seconds have', () => {
    assert.deepEqual(press(servingSince(2 * HOUR_MS), 't').effects, []);
    assert.deepEqual(press(withRange(servingSince(25 * HOUR_MS), '1h'), 't').effects, []);
    assert.deepEqual(press(withRange(alone(), '24h'), 't', 't').effects, []);
  });

  test('reads once more when the Overview is opened again, and not each second', () => {
    const long = withRange(alone(), '24h');
    const { model, effects } = press(long, '2', '1');
    assert.deepEqual(
      effects.map(({ kind }) => kind),
      ['load_history'],
    );
    assert.deepEqual(press(after(model, { kind: 'tick', nowMs: NOW_MS + 1_000 })).effects, []);
  });
});

describe('the gateway', () => {
  const asked = (model: Model) => snapshotQuery(model).minutesSinceS;

  test('is asked for the minutes of the last hour, and of the day where that is open', () => {
    const lastHour = 3_600 * (Math.floor(NOW_S / 3_600) - 1);
    assert.deepEqual(
      (['1m', '5m'] as const).map((range) => asked(withRange(serving(), range))),
      [lastHour, lastHour],
    );
    assert.equal(asked(withRange(serving(), '24h')), 0);
    assert.equal(asked(withRange(serving('keys'), '24h')), lastHour);
    assert.ok(!('minutesSinceS' in sharedQuery(withRange(serving(), '24h'))));
  });

  test('is asked for the last hour from a full hour on, so that the question stays the same', () => {
    const model = withRange(serving(), '1h');
    const sinceS = asked(model) ?? 0;
    assert.ok(sinceS % 3_600 === 0 && sinceS <= NOW_S - 3_600 && sinceS > NOW_S - 3 * 3_600);
    assert.equal(asked({ ...model, nowMs: NOW_MS + 1_000 }), sinceS);
  });

  test('tells its minutes, which follow those that are known', () => {
    const known = { ...withRange(serving(), '24h'), minutes: [minute(9), minute(2), minute(1)] };
    const snapshot = { ...SNAPSHOT, minutes: [minute(1, 7), minute(0, 8)] };
    assert.deepEqual(agesOf(after(known, { kind: 'snapshot', snapshot }).minutes), [
      [9, 1],
      [2, 1],
      [1, 7],
      [0, 8],
    ]);
  });
});

describe('minutes', () => {
  test('are kept for a day', () => {
    const day = 24 * 60;
    assert.deepEqual(agesOf(withMinutes([minute(day + 1), minute(day)], [minute(3)], NOW_MS)), [
      [day, 1],
      [3, 1],
    ]);
    assert.deepEqual(agesOf(withHistory([], [minute(day + 1), minute(4)], NOW_MS)), [[4, 1]]);
  });

  test('of the journal fill what the gateway does not know', () => {
    const known = [minute(5, 3), minute(4, 1), minute(0, 2)];
    const read = [minute(7, 9), minute(5, 2), minute(4, 6)];
    const model = after({ ...alone(), minutes: known }, { kind: 'history', rows: read });
    // It has started within the fourth, of which the journal tells more.
    assert.deepEqual(agesOf(model.minutes), [
      [7, 9],
      [5, 3],
      [4, 6],
      [0, 2],
    ]);
  });
});

describe('the journal', () => {
  const span = { sinceMs: NOW_MS - HOUR_MS, untilMs: NOW_MS };
  const ended = (agoMs: number, more: Partial<HistoryRow> = {}): HistoryRow => {
    return { settledAtMs: NOW_MS - agoMs, outcome: 'ok', tokens: 10, costNanos: 1_000n, firstByteMs: 40, ...more };
  };
  const historyOf = (slices: readonly (readonly HistoryRow[])[]): Book['history'] => ({
    slice: async ({ before }) => {
      const number = Number(before.row);
      const next = number + 1 < slices.length ? { admittedAtMs: 0, row: BigInt(number + 1) } : undefined;
      return { rows: slices[number] ?? [], next };
    },
  });
  const readAll = async (history: Book['history']) => {
    const read = new HistoryRead(span, 'here');
    let slices = 1;
    while (await read.readOn(history)) slices++;
    return { rows: read.rows(), slices };
  };

  test('is added up by the minute in which requests ended, over all slices', async () => {
    const failed = ended(61_000, { outcome: 'upstream_error', costNanos: 0n, firstByteMs: undefined });
    const left = ended(59_000, { outcome: 'cancelled', firstByteMs: undefined });
    const { rows, slices } = await readAll(historyOf([[left, failed], [ended(62_000)], [ended(120_000)]]));
    assert.equal(slices, 3);
    assert.deepEqual(
      rows.map(({ first_byte: _, ...row }) => row),
      [
        { at_s: NOW_S - 120, requests: 3, tokens: 30, cost_usd: '0.000002', errors: { upstream_error: 1 } },
        { at_s: NOW_S - 60, requests: 1, tokens: 10, cost_usd: '0.000001', errors: {} },
      ],
    );
    const firstBytes = rows.map(({ first_byte }) => quantile([...first_byte], 0.5));
    assert.ok((firstBytes[0] ?? 0) >= 40 && (firstBytes[0] ?? 0) < 60 && firstBytes[1] === undefined);
  });

  test('leaves out what ended after its span, which the gateway counts itself', async () => {
    assert.deepEqual((await readAll(historyOf([[ended(0)]]))).rows, []);
    assert.equal((await readAll(historyOf([[ended(1)]]))).rows.length, 1);
  });

  test('is read up to a number of rows, however many there are', async () => {
    let rows = 0;
    const endless: Book['history'] = {
      slice: async ({ limit }) => {
        rows += limit;
        return { rows: [ended(1)], next: { admittedAtMs: 0, row: 0n } };
      },
    };
    await readAll(endless);
    assert.equal(rows, MAX_HISTORY_ROWS);
  });
});

describe('the first byte by upstream', () => {
  const histogram = (...milliseconds: number[]): Histogram => {
    const all = emptyHistogram();
    for (const each of milliseconds) record(all, each);
    return all;
  };
  const [upstream] = SNAPSHOT.upstreams;
  assert.ok(upstream !== undefined);
  const steps = (from: number, to: number) => Array.from({ length: 30 }, (_, i) => histogram(i < 15 ? from : to));
  const upstreams = [
    { ...upstream, upstream: 'groq', first_bytes: steps(80, 80) },
    { ...upstream, upstream: 'openai', first_bytes: steps(200, 5_000) },
    { ...upstream, upstream: 'mistral' },
  ];
  const shown = (more = {}) =>
    screenText({ ...serving('overview', { ...SNAPSHOT, upstreams }, { columns: 120, rows: 40 }), ...more });

  test('is shown with p50 and p99 of the last minute, each with its course on one scale', () => {
    assert.match(shown(), /first byte +p50 +p99$/m);
    assert.match(shown(), /groq +≤87ms ⣀{13} +≤87ms ⣀{13}$/m);
    assert.match(shown(), /openai +≤6\.0s ⣀{5}⣸⣿{7} +≤6\.0s ⣀{5}⣸⣿{7}$/m);
    assert.match(shown(), / 5 min, log scale$/m);
  });

  test('has its figures without a course in a narrow window', () => {
    const narrow = shown({ columns: 60, rows: 20 });
    assert.match(narrow, /first byte +p50 +p99$/m);
    assert.match(narrow, /openai +≤6\.0s +≤6\.0s$/m);
    assert.doesNotMatch(narrow, /log scale/);
  });

  test('gives way to the curve of all where the journal tells, and where no gateway tells', () => {
    assert.doesNotMatch(shown({ chartRange: '1h' as const }), /log scale/);
    assert.doesNotMatch(screenText(serving()), /log scale/);
  });

  test('is asked for only where it is shown', () => {
    const steps = (model: Model) => snapshotQuery(model).firstByteSteps;
    assert.deepEqual(
      [steps(serving()), steps(withRange(serving(), '24h')), steps(serving('keys'))],
      [30, undefined, undefined],
    );
  });
});
