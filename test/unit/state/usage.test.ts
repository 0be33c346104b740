/** Usage reports: for any range, they are what the requests add up to. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { utcDay } from '../../../src/core/clock.ts';
import type { Outcome } from '../../../src/core/settlement.ts';
import { NO_PARTS, type UsageSource } from '../../../src/core/usage.ts';
import { USAGE_GROUPS, type UsageGroup, type UsageQuery, type UsageRow } from '../../../src/state/usage.ts';
import { type Bench, type BenchKey, openBench } from '../ledger/bench.ts';

const HOUR_MS = 3_600_000;
const START = Date.UTC(2026, 9, 29);
/** Enough for a whole month between two partial ones. */
const DAYS = 40;
const REQUESTS = 1_200;
const MODELS = ['mock/a', 'mock/b', 'groq/openai/c'];
const SOURCES: readonly UsageSource[] = ['reported', 'counted', 'held'];
const OUTCOMES: readonly Outcome[] = ['ok', 'cancelled', 'upstream_error', 'invalid_request', 'internal_error'];
const ALL: UsageQuery = { by: undefined, keyId: undefined, model: undefined, sinceMs: undefined, untilMs: undefined };

/** A request as the test records it. */
interface Entry {
  readonly keyId: string;
  readonly model: string;
  readonly atMs: number;
  readonly source: UsageSource;
  readonly failed: boolean;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly completionTokens: number;
  readonly costNanos: bigint;
}

const cleanups: (() => void)[] = [];
let bench: Bench;
let keys: BenchKey[];
const entries: Entry[] = [];

before(() => {
  bench = openBench({ after: (work) => cleanups.push(work) }, { creditEnforced: false, rpm: 1_000_000 });
  keys = ['one', 'two', 'three'].map((name) => bench.newKey({ name }));
  for (let i = 0; i < REQUESTS; i++) {
    // Every 48 minutes, and sometimes exactly on the boundary of a day.
    const drift = i % 7 === 0 ? 0 : 1;
    bench.clock.wall = START + Math.floor((i * DAYS * 24 * HOUR_MS) / REQUESTS) + drift;
    enter(i);
  }
});

after(() => {
  for (const cleanup of cleanups) cleanup();
});

function enter(i: number): void {
  const key = keys[(i * 7) % keys.length] as BenchKey;
  const model = MODELS[(i * 5 + (i >> 3)) % MODELS.length] as string;
  const outcome = OUTCOMES[i % OUTCOMES.length] as Outcome;
  const parts = { ...NO_PARTS, cacheWriteTokens: i % 5, cacheWrite1hTokens: i % 3 };
  const usage = { promptTokens: 9 + (i % 83), cachedTokens: i % 4, completionTokens: (i * 3) % 47, parts };
  const source = SOURCES[(i >> 2) % SOURCES.length] as UsageSource;
  const costNanos = BigInt((i * 17) % 29);
  const atMs = bench.clock.wallMs();
  const requestId = bench.admit(key, { model });
  // They count at their admission, however late they end.
  bench.clock.wall += (i % 3) * HOUR_MS;
  bench.settle(requestId, { usage, outcome, source, costNanos });
  const failed = outcome !== 'ok' && outcome !== 'cancelled';
  const { parts: _, ...tokens } = usage;
  const cacheWriteTokens = parts.cacheWriteTokens + parts.cacheWrite1hTokens;
  entries.push({ keyId: key.id, model, source, atMs, failed, ...tokens, cacheWriteTokens, costNanos });
}

type Sums = Pick<
  UsageRow,
  'requests' | 'errors' | 'promptTokens' | 'cachedTokens' | 'cacheWriteTokens' | 'completionTokens' | 'costNanos'
>;

function groupOf(entry: Entry, by: UsageGroup | undefined): string {
  switch (by) {
    case 'key':
      return entry.keyId;
    case 'model':
      return entry.model;
    case 'day':
      return utcDay(entry.atMs);
    case 'month':
      return utcDay(entry.atMs).slice(0, 7);
    case 'source':
      return entry.source;
    case undefined:
      return 'all';
  }
}

function sumsByHand(query: UsageQuery): Map<string, Sums> {
  const sums = new Map<string, Sums>();
  if (query.by === undefined) sums.set('all', NOTHING);
  for (const entry of entries) {
    if (query.keyId !== undefined && entry.keyId !== query.keyId) continue;
    if (query.model !== undefined && entry.model !== query.model) continue;
    if (entry.atMs < (query.sinceMs ?? 0) || entry.atMs >= (query.untilMs ?? Number.POSITIVE_INFINITY)) continue;
    const group = groupOf(entry, query.by);
    const sum = sums.get(group) ?? NOTHING;
    sums.set(group, {
      requests: sum.requests + 1,
      errors: sum.errors + (entry.failed ? 1 : 0),
      promptTokens: sum.promptTokens + entry.promptTokens,
      cachedTokens: sum.cachedTokens + entry.cachedTokens,
      cacheWriteTokens: sum.cacheWriteTokens + entry.cacheWriteTokens,
      completionTokens: sum.completionTokens + entry.completionTokens,
      costNanos: sum.costNanos + entry.costNanos,
    });
  }
  return sums;
}

const NO_TOKENS = { promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0 };
const NOTHING: Sums = { requests: 0, errors: 0, ...NO_TOKENS, costNanos: 0n };

function reported(query: UsageQuery): Map<string, Sums> {
  const { rows } = bench.operator.usage.report(query);
  return new Map(
    rows.map(({ keyId, model, day, month, source, key: _, ...sums }) => [
      keyId ?? model ?? day ?? month ?? source ?? 'all',
      sums,
    ]),
  );
}

const sorted = (sums: Map<string, Sums>) => [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1));

const moments = fc.oneof(
  fc.constant(undefined),
  fc.integer({ min: START - 30 * HOUR_MS, max: START + (DAYS + 1) * 24 * HOUR_MS }),
  // Midnights, and the milliseconds before and after.
  fc
    .tuple(fc.integer({ min: -1, max: DAYS + 1 }), fc.integer({ min: -1, max: 1 }))
    .map(([day, beside]) => START + day * 24 * HOUR_MS + beside),
);

describe('the usage report', () => {
  test('for any range, group and filter is what the requests add up to', () => {
    const queries = fc.record({
      by: fc.constantFrom(undefined, ...USAGE_GROUPS),
      key: fc.option(fc.nat({ max: 2 }), { nil: undefined }),
      model: fc.option(fc.constantFrom(...MODELS, 'mock/none'), { nil: undefined }),
      sinceMs: moments,
      untilMs: moments,
    });
    fc.assert(
      fc.property(queries, ({ key, ...rest }) => {
        const query: UsageQuery = { ...rest, keyId: key === undefined ? undefined : keys[key]?.id };
        assert.deepEqual(sorted(reported(query)), sorted(sumsByHand(query)));
      }),
      { numRuns: 600 },
    );
  });

  test('has one row of zeros if nothing was used and no group is asked for', () => {
    assert.deepEqual(reported({ ...ALL, untilMs: 0 }), new Map([['all', NOTHING]]));
    assert.deepEqual(reported({ ...ALL, untilMs: 0, by: 'key' }), new Map());
  });

  test('includes its start and excludes its end, to the millisecond', () => {
    const [first] = entries as [Entry];
    assert.equal(reported({ ...ALL, sinceMs: first.atMs, untilMs: first.atMs + 1 }).get('all')?.requests, 1);
    assert.equal(reported({ ...ALL, sinceMs: first.atMs + 1, untilMs: first.atMs + 2 }).get('all')?.requests, 0);
    assert.equal(reported({ ...ALL, sinceMs: first.atMs - 1, untilMs: first.atMs }).get('all')?.requests, 0);
  });

  test('shows keys by name, most expensive first', () => {
    const { rows } = bench.operator.usage.report({ ...ALL, by: 'key' });
    assert.deepEqual(rows.map(({ key }) => key).toSorted(), ['one', 'three', 'two']);
    const costs = rows.map(({ costNanos }) => costNanos);
    assert.deepEqual(
      costs,
      costs.toSorted((a, b) => (a < b ? 1 : -1)),
    );
  });

  test('of days and months is in order of time', () => {
    const days = bench.operator.usage.report({ ...ALL, by: 'day' }).rows.map(({ day }) => day);
    assert.deepEqual(days, days.toSorted());
    assert.equal(days.length, DAYS);
    const months = bench.operator.usage.report({ ...ALL, by: 'month' }).rows.map(({ month }) => month);
    assert.deepEqual(months, ['2026-10', '2026-11', '2026-12']);
  });
});

test('the figures of a month are the sum of its days, for one key and for all', () => {
  for (const month of ['2026-10', '2026-11', '2026-12']) {
    const all = bench.operator.usage.month(month);
    for (const { id } of keys) {
      const figures = bench.operator.usage.monthOf(id, month);
      const mine = entries.filter((entry) => entry.keyId === id && utcDay(entry.atMs).startsWith(month));
      assert.deepEqual(figures, {
        requests: mine.length,
        tokens: mine.reduce((sum, entry) => sum + entry.promptTokens + entry.completionTokens, 0),
        costNanos: mine.reduce((sum, entry) => sum + entry.costNanos, 0n),
      });
      if (mine.length > 0) assert.deepEqual(all.get(id), figures);
      else assert.equal(all.has(id), false);
    }
  }
});
