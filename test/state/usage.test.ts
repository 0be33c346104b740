/** Usage: for any range, reports are what the requests add up to. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { utcDay, utcMonth } from '../../src/core/clock.ts';
import type { Outcome } from '../../src/core/settlement.ts';
import { NAME_KINDS, type SpentBy } from '../../src/core/spent-by.ts';
import { NO_PARTS, type UsageSource } from '../../src/core/usage.ts';
import type { KeyRecord } from '../../src/state/keys.ts';
import { USAGE_GROUPS, type UsageGroup, type UsageQuery, type UsageRow } from '../../src/state/usage.ts';
import { runs } from '../support/at-length.ts';
import { enter, holdOf, makeGroup, makeKey, type OpenStage, onEachStore, type Stage } from './stage.ts';

const HOUR_MS = 3_600_000;
const START = Date.UTC(2026, 9, 29);
/** Enough for a whole month between two partial ones. */
const DAYS = 40;
const REQUESTS = 300;
const MODELS = ['mock/a', 'mock/B', 'groq/openai/c'];
const SOURCES: readonly UsageSource[] = ['reported', 'counted', 'held'];
const OUTCOMES: readonly Outcome[] = ['ok', 'cancelled', 'upstream_error', 'invalid_request', 'internal_error'];
const MONTHS = ['2026-10', '2026-11', '2026-12'];
const NAMES = {
  user: ['', 'alice', 'ünïcode 用户', 'nobody'],
  tag: ['', 'other', "o'tag"],
  app: ['curl', ''],
} as const;
const ALL: UsageQuery = { by: undefined, keyId: undefined, model: undefined, sinceMs: undefined, untilMs: undefined };

/** A request as the test records it. */
interface Entry {
  readonly keyId: string;
  /** Those that it was booked to, from inside out. */
  readonly groupIds: readonly string[];
  readonly model: string;
  readonly atMs: number;
  readonly source: UsageSource;
  readonly spentBy: SpentBy;
  readonly failed: boolean;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly completionTokens: number;
  readonly costNanos: bigint;
}

type Sums = Pick<
  UsageRow,
  'requests' | 'errors' | 'promptTokens' | 'cachedTokens' | 'cacheWriteTokens' | 'completionTokens' | 'costNanos'
>;

const NO_TOKENS = { promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0 };
const NOTHING: Sums = { requests: 0, errors: 0, ...NO_TOKENS, costNanos: 0n };

/** A stage with requests of three keys over forty days: one in a group in a group, one in the outer one, one in none. */
async function openUsed(open: OpenStage, t: Parameters<OpenStage>[0]) {
  const stage = await open(t);
  const outer = await makeGroup(stage.state, { name: 'outer' });
  const inner = await makeGroup(stage.state, { name: 'inner', groupId: outer.id });
  const groupIds = [inner.id, outer.id];
  const keys: KeyRecord[] = [];
  for (const [i, name] of ['one', 'two', 'three'].entries()) {
    keys.push(await makeKey(stage.state, { name, groupId: groupIds[i] ?? null }));
  }
  const entries: Entry[] = [];
  for (let i = 0; i < REQUESTS; i++) entries.push(await enterOne(stage, keys, groupIds, i));
  return { stage, keys, groupIds, entries, usage: stage.state.usage };
}

async function enterOne(stage: Stage, keys: readonly KeyRecord[], all: readonly string[], i: number): Promise<Entry> {
  // Every 192 minutes, and sometimes exactly on the boundary of a day.
  const atMs = START + Math.floor((i * DAYS * 24 * HOUR_MS) / REQUESTS) + (i % 7 === 0 ? 0 : 1);
  const at = (i * 7) % keys.length;
  const { id: keyId } = keys[at] as KeyRecord;
  const groupIds = all.slice(at);
  // End users are levels, too, and no groups.
  const levels = [`${keyId}/zoe`, ...groupIds.flatMap((id) => [`${id}/zoe`, id])];
  const model = MODELS[(i * 5 + (i >> 3)) % MODELS.length] as string;
  const parts = { ...NO_PARTS, cacheWriteTokens: i % 5, cacheWrite1hTokens: i % 3 };
  const tokens = { promptTokens: 9 + (i % 83), cachedTokens: i % 4, completionTokens: (i * 3) % 47 };
  const source = SOURCES[(i >> 2) % SOURCES.length] as UsageSource;
  const outcome = source === 'held' ? 'interrupted' : (OUTCOMES[i % OUTCOMES.length] as Outcome);
  const costNanos = BigInt((i * 17) % 29) + 3_000_000_000n * BigInt(i % 2);
  // The names of a request come with its end, which a crash leaves out.
  const name = (names: readonly string[], step: number) =>
    source === 'held' ? '' : (names[(i >> step) % names.length] as string);
  const spentBy = {
    user: name(['', 'alice', 'ünïcode 用户'], 1),
    tag: name(['', 'other', "o'tag"], 2),
    app: name(['curl'], 0),
  };
  const end = { usage: { ...tokens, parts }, outcome, source, costNanos, ...(i % 4 > 0 && { spentBy }) };
  // They count at their admission, however late they end.
  await enter(
    stage,
    holdOf(keyId, { model, admittedAtMs: atMs, holdNanos: costNanos, levels }),
    end,
    (i % 3) * HOUR_MS,
  );
  const failed = outcome !== 'ok' && outcome !== 'cancelled';
  const cacheWriteTokens = parts.cacheWriteTokens + parts.cacheWrite1hTokens;
  const named = i % 4 > 0 ? spentBy : { user: '', tag: '', app: '' };
  return { keyId, groupIds, model, source, spentBy: named, atMs, failed, ...tokens, cacheWriteTokens, costNanos };
}

function groupOf(entry: Entry, by: UsageGroup): string {
  switch (by) {
    case 'group':
      return entry.groupIds.join();
    case 'key':
      return entry.keyId;
    case 'model':
      return entry.model;
    case 'hour':
      return `${new Date(entry.atMs).toISOString().slice(0, 13)}:00:00Z`;
    case 'day':
      return utcDay(entry.atMs);
    case 'month':
      return utcMonth(entry.atMs);
    case 'source':
      return entry.source;
    case 'user':
    case 'tag':
    case 'app':
      return entry.spentBy[by];
  }
}

/** What is booked to a group is also booked to the one that it is in. */
function eachGroupOf(entry: Entry): Entry[] {
  return entry.groupIds.map((id) => ({ ...entry, groupIds: [id] }));
}

function sumsByHand(entries: readonly Entry[], query: UsageQuery): Map<string, Sums> {
  const sums = new Map<string, Sums>();
  if (query.by === undefined) sums.set('all', NOTHING);
  const isByGroup = [query.by, ...(query.and ?? [])].includes('group');
  for (const entry of entries.flatMap((each) => (isByGroup ? eachGroupOf(each) : [each]))) {
    if (query.groupId !== undefined && !entry.groupIds.includes(query.groupId)) continue;
    if (query.keyId !== undefined && entry.keyId !== query.keyId) continue;
    if (query.model !== undefined && entry.model !== query.model) continue;
    if (NAME_KINDS.some((kind) => entry.spentBy[kind] !== (query.names?.[kind] ?? entry.spentBy[kind]))) continue;
    if (entry.atMs < (query.sinceMs ?? 0) || entry.atMs >= (query.untilMs ?? Number.POSITIVE_INFINITY)) continue;
    const groups = USAGE_GROUPS.filter((each) => each === query.by || query.and?.some((other) => other === each));
    const group = groups.map((by) => groupOf(entry, by)).join(' | ') || (query.by === undefined ? 'all' : '');
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

function byGroup(rows: readonly UsageRow[]): Map<string, Sums> {
  return new Map(
    rows.map(({ keyId, groupId, model, hour, day, month, source, user, tag, app, key: _, group: __, ...sums }) => {
      const names = [keyId, model, groupId, hour, day, month, source, user, tag, app].filter(
        (name) => name !== undefined,
      );
      return [names.length === 0 ? 'all' : names.join(' | '), sums];
    }),
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

onEachStore((open) => {
  const cleanups: (() => void | Promise<void>)[] = [];
  let used: Awaited<ReturnType<typeof openUsed>>;
  before(async () => {
    used = await openUsed(open, { after: (work) => cleanups.push(work) });
  });
  after(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });

  const reported = async (query: UsageQuery) => byGroup((await used.usage.report(query)).rows);

  describe('the usage report', () => {
    test('for any range, group and filter is what the requests add up to', async () => {
      const queries = fc.record({
        by: fc.constantFrom(undefined, ...USAGE_GROUPS),
        others: fc.subarray([...USAGE_GROUPS], { maxLength: 3 }),
        user: fc.option(fc.constantFrom(...NAMES.user), { nil: undefined, freq: 2 }),
        tag: fc.option(fc.constantFrom(...NAMES.tag), { nil: undefined, freq: 2 }),
        app: fc.option(fc.constantFrom(...NAMES.app), { nil: undefined, freq: 2 }),
        key: fc.option(fc.nat({ max: 2 }), { nil: undefined }),
        group: fc.option(fc.nat({ max: 1 }), { nil: undefined }),
        model: fc.option(fc.constantFrom(...MODELS, 'mock/none', 'MOCK/A'), { nil: undefined }),
        sinceMs: moments,
        untilMs: moments,
      });
      await fc.assert(
        fc.asyncProperty(queries, async ({ key, group, others, user, tag, app, ...rest }) => {
          const and = rest.by === undefined ? [] : others.filter((group) => group !== rest.by);
          const names = {
            ...(user !== undefined && { user }),
            ...(tag !== undefined && { tag }),
            ...(app !== undefined && { app }),
          };
          const groupId = group === undefined ? undefined : used.groupIds[group];
          const keyId = key === undefined ? undefined : used.keys[key]?.id;
          const query: UsageQuery = { ...rest, and, keyId, groupId, names };
          assert.deepEqual(sorted(await reported(query)), sorted(sumsByHand(used.entries, query)));
        }),
        { numRuns: runs(250) },
      );
    });

    test('has one row of zeros if nothing was used and no group is asked for', async () => {
      assert.deepEqual(await reported({ ...ALL, untilMs: 0 }), new Map([['all', NOTHING]]));
      assert.deepEqual(await reported({ ...ALL, untilMs: 0, by: 'key' }), new Map());
    });

    test('includes its start and excludes its end, to the millisecond', async () => {
      const [{ atMs }] = used.entries as [Entry];
      const requests = async (sinceMs: number, untilMs: number) =>
        (await reported({ ...ALL, sinceMs, untilMs })).get('all')?.requests;
      assert.equal(await requests(atMs, atMs + 1), 1);
      assert.equal(await requests(atMs + 1, atMs + 2), 0);
      assert.equal(await requests(atMs - 1, atMs), 0);
    });

    for (const by of ['key', 'model', 'source'] as const) {
      test(`by ${by} has the most expensive first`, async () => {
        const { rows } = await used.usage.report({ ...ALL, by });
        const costs = rows.map(({ costNanos }) => costNanos);
        assert.equal(costs.length, 3);
        assert.deepEqual(
          costs,
          costs.toSorted((a, b) => (a < b ? 1 : -1)),
        );
        const filled = (['key', 'keyId', 'model', 'day', 'month', 'source'] as const).filter((name) => rows[0]?.[name]);
        assert.deepEqual(filled, by === 'key' ? ['key', 'keyId'] : [by]);
      });
    }

    test('by key has the names of keys, of deleted ones as well', async () => {
      const { keys } = used.stage.state;
      await keys.setState('two', 'deleted');
      const { rows } = await used.usage.report({ ...ALL, by: 'key' });
      assert.deepEqual(rows.map(({ key }) => key).toSorted(), ['one', 'three', 'two']);
    });

    test('by day and by month is in order of time', async () => {
      const days = (await used.usage.report({ ...ALL, by: 'day' })).rows.map(({ day }) => day);
      assert.deepEqual(days, days.toSorted());
      assert.equal(days.length, DAYS);
      const months = (await used.usage.report({ ...ALL, by: 'month' })).rows.map(({ month }) => month);
      assert.deepEqual(months, MONTHS);
    });
  });

  test('the figures of a month are the sum of its days, for one key, for some and for all', async () => {
    const { usage, keys, entries } = used;
    for (const month of MONTHS) {
      const all = await usage.month(month);
      const some = await usage.monthsOf([keys[1]?.id ?? '', 'key_none'], month);
      for (const { id } of keys) {
        const mine = entries.filter((entry) => entry.keyId === id && utcMonth(entry.atMs) === month);
        const figures = {
          requests: mine.length,
          tokens: mine.reduce((sum, entry) => sum + entry.promptTokens + entry.completionTokens, 0),
          costNanos: mine.reduce((sum, entry) => sum + entry.costNanos, 0n),
        };
        assert.deepEqual(await usage.monthOf(id, month), figures);
        assert.deepEqual(all.get(id), figures);
        if (id === keys[1]?.id) assert.deepEqual(some.get(id), figures);
      }
      assert.equal(all.size, keys.length);
      assert.equal(some.get(keys[0]?.id ?? ''), undefined);
    }
    assert.equal((await usage.month('2026-09')).size, 0);
    assert.deepEqual(await usage.monthOf(keys[0]?.id ?? '', '2026-09'), { requests: 0, tokens: 0, costNanos: 0n });
  });

  test('the last use of a key is its latest admission: in a month, before it, and ever', async () => {
    const { usage, keys, entries } = used;
    const lastOf = (keyId: string, isIn: (month: string) => boolean) =>
      Math.max(
        ...entries.filter((entry) => entry.keyId === keyId && isIn(utcMonth(entry.atMs))).map(({ atMs }) => atMs),
      );
    const [inNovember, before] = [await usage.lastUses('in', '2026-11'), await usage.lastUses('before', '2026-12')];
    for (const { id } of keys) {
      assert.equal(
        await usage.lastUseOf(id),
        lastOf(id, () => true),
      );
      const expected = lastOf(id, (month) => month === '2026-11');
      assert.equal(inNovember.get(id), expected);
      assert.equal(before.get(id), expected);
    }
    assert.equal(await usage.lastUseOf('key_none'), undefined);
    assert.equal((await usage.lastUses('before', '2026-10')).size, 0);
  });

  test('dropped rows leave all sums as they were; only a report on a part of their day says that it misses them', async () => {
    const { stage, usage, entries } = used;
    // Hours are read from the journal alone.
    const whole: UsageQuery[] = [...USAGE_GROUPS, undefined]
      .filter((by) => by !== 'hour')
      .map((by) => ({ ...ALL, by }));
    const before = [];
    for (const query of whole) before.push(await usage.report(query));
    await stage.dropOldRows(START + 3 * 24 * HOUR_MS);
    for (const [i, query] of whole.entries()) assert.deepEqual(await usage.report(query), before[i]);
    const sinceMs = START + 24 * HOUR_MS + 6 * HOUR_MS;
    const partial = await usage.report({ ...ALL, sinceMs, untilMs: START + 2 * 24 * HOUR_MS + HOUR_MS });
    assert.deepEqual(partial.droppedDays, ['2026-10-30', '2026-10-31']);
    assert.equal(partial.rows[0]?.requests, 0);
    const later = await usage.report({ ...ALL, sinceMs });
    assert.deepEqual(later.droppedDays, ['2026-10-30']);
    const counted = entries.filter(({ atMs }) => atMs >= START + 2 * 24 * HOUR_MS).length;
    assert.equal(later.rows[0]?.requests, counted);
    await stage.assertSound();
  });
});
