/** Dropping old rows: after every step the totals agree, and no figure has changed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { audit } from '../../src/audit/audit.ts';
import { utcDay } from '../../src/core/clock.ts';
import { bookOf } from '../../src/state/sqlite/book.ts';
import { dropOldRows } from '../../src/state/sqlite/retention.ts';
import { USAGE_GROUPS, type UsageQuery } from '../../src/state/usage.ts';
import { assertBooksBalance } from '../support/books.ts';
import { daysAgo, drawPast, SOURCES, writePast } from '../support/past.ts';
import { type Bench, type BenchKey, NOON, openBench, USD } from '../unit/ledger/bench.ts';

/** More than two steps' worth. */
const ROWS = 2_600;
const STEPS = 3;
const ALL: UsageQuery = { by: undefined, keyId: undefined, model: undefined, sinceMs: undefined, untilMs: undefined };
/** More than everything that is charged. */
const CREDIT = 1_000_000_000n;

function assertSound({ operator: { database } }: Bench): void {
  const checks = audit(database.name, { onProgress: () => {} });
  assert.deepEqual(
    checks.flatMap(({ differences }) => differences),
    [],
  );
  // Adds the sums up in another way than the auditor.
  assertBooksBalance(database);
}

/** Every report that an operator can get on whole days and months. Hours are read from the journal, without dropped rows. */
function figuresOf({ operator }: Bench, keys: readonly BenchKey[]): unknown {
  const filters = [{}, ...keys.map(({ id }) => ({ keyId: id }))];
  const reports = filters.flatMap((filter) =>
    [undefined, ...USAGE_GROUPS.filter((by) => by !== 'hour')].map((by) =>
      operator.usage.report({ ...ALL, ...filter, by }),
    ),
  );
  const months = ['2026-09', '2026-10', '2026-11'].map((month) => [...operator.usage.month(month)]);
  return { reports, months, balance: operator.account.balance() };
}

/** A bench with rows of three months, from all sources. */
function openWithPast(test: Parameters<typeof openBench>[0], rows = ROWS) {
  const bench = openBench(test);
  bench.addCredit(CREDIT);
  const keys = [bench.newKey(), bench.newKey({ spendLimitNanos: USD })];
  const past = drawPast(
    keys.map(({ id }) => id),
    rows,
    daysAgo(70, NOON),
    NOON,
  );
  writePast(bench.operator.database, past);
  assert.deepEqual(
    [...new Set(bench.operator.usage.report({ ...ALL, by: 'month' }).rows.map(({ month }) => month))],
    ['2026-09', '2026-10', '2026-11'],
  );
  return { bench, keys, past };
}

/** The earliest admission in the journal. */
function oldest(bench: Bench): bigint | null {
  return bench.operator.database.prepare('SELECT min(admitted_at_ms) FROM journal').pluck().safeIntegers().get() as
    | bigint
    | null;
}

describe('dropping old rows', () => {
  test('drops the oldest first, in steps; after each step the totals agree, and all figures are unchanged', (t) => {
    const { bench, keys } = openWithPast(t);
    const before = figuresOf(bench, keys);
    for (let step = 1; step <= STEPS; step++) {
      const [first, rows] = [oldest(bench), bench.rows('journal').length];
      assert.equal(dropOldRows(bench.database, NOON), step < STEPS, 'it returns whether there may be more');
      assert.ok(bench.rows('journal').length < rows);
      const left = oldest(bench);
      assert.ok(left === null || (first !== null && left > first));
      assertSound(bench);
      assert.deepEqual(figuresOf(bench, keys), before);
    }
    assert.equal(bench.rows('journal').length, 0);
    assert.equal(dropOldRows(bench.database, NOON), false);
    assertSound(bench);
  });

  test('drops what was admitted before the moment, and nothing that was admitted at it', (t) => {
    const { bench, past } = openWithPast(t, 100);
    const { admittedAtMs } = past[60] as (typeof past)[number];
    assert.equal(dropOldRows(bench.database, admittedAtMs), false);
    const left = bench.rows('journal').map(({ request_id: id }) => id);
    assert.deepEqual(
      left,
      past.slice(60).map(({ requestId }) => requestId),
    );
  });

  test('keeps open requests, and one that ends later counts on the sealed day', (t) => {
    const { bench, keys } = openWithPast(t, 100);
    const [key] = keys as [BenchKey];
    bench.clock.wall = daysAgo(30, NOON);
    const open = bench.admit(key, { holdNanos: 5n });
    bench.clock.wall = NOON;
    assert.equal(dropOldRows(bench.database, NOON), false);
    assert.equal(bench.rows('holds').length, 1);
    bench.settle(open, { costNanos: 4n });
    assertSound(bench);
    const row = bench.rows('journal')[0];
    assert.equal(row?.request_id, open);
    assert.equal(dropOldRows(bench.database, NOON), false, 'a request that has just ended still counts in the windows');
    assert.equal(bench.rows('journal').length, 1);
    dropOldRows(bench.database, NOON + 1);
    assertSound(bench);
    assert.deepEqual([bench.rows('journal').length, bench.rows('holds').length], [0, 0]);
  });

  test('changes neither the balance nor the charges of a spend limit, in memory or after a restart', (t) => {
    const { bench } = openWithPast(t);
    const key = bench.newKey({ spendLimitNanos: 100n });
    bench.clock.wall = NOON - 5 * 86_400_000;
    bench.settle(bench.admit(key), { costNanos: 100n });
    bench.clock.wall = NOON;
    const balance = bench.operator.account.balance();
    while (dropOldRows(bench.operator.database, NOON));
    assert.equal(bench.rows('journal').length, 0);
    assert.equal(bench.refuse(key).reason, 'spend_limit_reached');
    bench.database.close();
    bench.start();
    assert.equal(bench.refuse(key).reason, 'spend_limit_reached');
    assert.deepEqual(bench.operator.account.balance(), balance);
  });

  test('keeps what the windows are rebuilt from after a restart', (t) => {
    const { bench, keys } = openWithPast(t);
    const [key] = keys as [BenchKey];
    for (let i = 0; i < 3; i++) bench.settle(bench.admit(key));
    const { figures } = bench.identify(key);
    while (dropOldRows(bench.database, bench.clock.wallMs() - 86_400_000));
    bench.database.close();
    bench.start();
    assert.deepEqual(bench.identify(key).figures, figures);
  });
});

/** Events that happen to the file, in any order. Times are days before noon. */
type Event =
  | { readonly kind: 'settle'; readonly days: number; readonly key: number; readonly cost: number }
  | { readonly kind: 'correct'; readonly which: number; readonly cost: number }
  | { readonly kind: 'drop'; readonly days: number };

const DAYS = fc.double({ min: 0, max: 60, noNaN: true });
const EVENTS: fc.Arbitrary<Event> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('settle'), days: DAYS, key: fc.nat(1), cost: fc.nat(500) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('correct'), which: fc.nat(100), cost: fc.nat(500) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('drop'), days: DAYS }) },
);

/** What each request was finally charged, with what it counts under. */
class Expected {
  readonly requests: { day: string; keyId: string; source: string; costNanos: bigint }[] = [];

  by(group: 'day' | 'month' | 'keyId' | 'source'): Map<string, bigint> {
    const sums = new Map<string, bigint>();
    for (const request of this.requests) {
      const name = group === 'month' ? request.day.slice(0, 7) : request[group];
      sums.set(name, (sums.get(name) ?? 0n) + request.costNanos);
    }
    return sums;
  }
}

function assertFigures({ operator: { usage } }: Bench, expected: Expected): void {
  for (const [by, group] of [
    ['day', 'day'],
    ['month', 'month'],
    ['key', 'keyId'],
    ['source', 'source'],
  ] as const) {
    const { rows } = usage.report({ ...ALL, by });
    const sums = new Map(rows.map((row) => [row[group] as string, row.costNanos]));
    const sorted = (map: Map<string, bigint>) => [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
    assert.deepEqual(sorted(sums), sorted(expected.by(group)), by);
  }
}

test('whatever is settled, corrected and dropped, in any order, the totals agree and include all requests', (t) => {
  const bench = openBench(t);
  const keys = [bench.newKey(), bench.newKey()];
  const store = bookOf(bench.operator.database).requests;
  const expected = new Expected();
  const apply = (event: Event): void => {
    const at = 'days' in event ? Math.floor(daysAgo(event.days, NOON)) : NOON;
    if (event.kind === 'drop') {
      dropOldRows(bench.database, at);
    } else if (event.kind === 'correct') {
      const index = event.which % Math.max(1, expected.requests.length);
      const { kind } = store.correct(`req_${index}`, BigInt(event.cost), NOON);
      const request = expected.requests[index];
      if (kind === 'done' && request !== undefined) request.costNanos = BigInt(event.cost);
    } else {
      const number = expected.requests.length;
      const source = SOURCES[number % SOURCES.length] as (typeof SOURCES)[number];
      const [costNanos, keyId] = [BigInt(event.cost), keys[event.key]?.id as string];
      const figures = { model: `mock/${number % 2}`, promptTokens: 3, completionTokens: 4, costNanos };
      const end = { source, outcome: source === 'held' ? ('interrupted' as const) : ('ok' as const), ...figures };
      writePast(bench.operator.database, [{ requestId: `req_${number}`, keyId, admittedAtMs: at, ...end }]);
      expected.requests.push({ day: utcDay(at), keyId, source, costNanos });
    }
  };
  fc.assert(
    fc.property(fc.array(EVENTS, { minLength: 5, maxLength: 25 }), (events) => {
      for (const event of events) apply(event);
      assertSound(bench);
      assertFigures(bench, expected);
    }),
    { numRuns: 30 },
  );
  assert.ok(bench.rows('journal').length < expected.requests.length, 'something was dropped');
});
