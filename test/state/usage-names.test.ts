/** Usage by user, tag and app: names are bounded, however many come, and what is beyond the bound is not lost. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_NAMES, OTHER_NAMES } from '../../src/core/spent-by.ts';
import type { UsageQuery } from '../../src/state/usage.ts';
import { enter, holdOf, makeKey, NOON, onEachStore, type Stage } from './stage.ts';

const DAY_MS = 86_400_000;
const ALL: UsageQuery = { by: undefined, keyId: undefined, model: undefined, sinceMs: undefined, untilMs: undefined };
/** Numbers from one to another, as a table `n` with the column `i`. */
const numbers = (from: number, to: number) =>
  `WITH RECURSIVE n (i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${to})`;

const NO_NAMES = { user: '', tag: '', app: '' };

async function requestsBy(stage: Stage, query: Partial<UsageQuery>): Promise<Map<string | undefined, number>> {
  const { rows } = await stage.state.usage.report({ ...ALL, ...query });
  return new Map(rows.map(({ user, tag, app, requests }) => [user ?? tag ?? app, requests]));
}

onEachStore((open) => {
  test('a new name with each request fills its kind for the month, and no other kind nor month', async (t) => {
    const stage = await open(t);
    const { id } = await makeKey(stage.state);
    const spend = (user: string, admittedAtMs: number, tag = '') =>
      enter(stage, holdOf(id, { admittedAtMs }), { spentBy: { ...NO_NAMES, user, tag } });
    await spend('first', NOON);
    await stage.write(`INSERT INTO {usage_names} (month, kind, name, id) ${numbers(2, MAX_NAMES)}
      SELECT '2026-11', 'user', 'name ' || i, i FROM n`);
    await spend('late', NOON);
    await spend('later', NOON + 1, 'new tag');
    await spend('first', NOON + DAY_MS);
    await spend('late', NOON + 10 * DAY_MS);
    await spend('', NOON);
    await stage.assertSound();
    const december = { sinceMs: Date.UTC(2026, 11) };
    const november = { untilMs: Date.UTC(2026, 11) };
    const shown = (rows: Map<string | undefined, number>) => [...rows].map(([name, n]) => `${name}: ${n}`).toSorted();
    assert.deepEqual(shown(await requestsBy(stage, { by: 'user', ...november })), [': 1', 'first: 2', 'other: 2']);
    assert.deepEqual(shown(await requestsBy(stage, { by: 'user', ...december })), ['late: 1']);
    assert.deepEqual(shown(await requestsBy(stage, { by: 'tag' })), [': 5', 'new tag: 1']);
    // A part of a day comes from the journal, which has all names.
    const part = { by: 'user', sinceMs: NOON, untilMs: NOON + 1 } as const;
    assert.deepEqual(shown(await requestsBy(stage, part)), [': 1', 'first: 1', 'other: 1']);
  });

  test('a report over months shows as many names as one month can have, and the others as one', async (t) => {
    const stage = await open(t);
    const { id } = await makeKey(stage.state);
    const spend = (admittedAtMs: number, user: string, costNanos: bigint) =>
      enter(stage, holdOf(id, { admittedAtMs }), { costNanos, spentBy: { ...NO_NAMES, user } });
    await spend(NOON, 'dear', 9n);
    await spend(NOON, 'cheap', 1n);
    await spend(NOON, OTHER_NAMES, 2n);
    const figures = `'${id}', 'mock/echo'`;
    const columns = 'requests, errors, prompt_tokens, cached_tokens, cache_write_tokens, completion_tokens, cost_nanos';
    await stage.write(`INSERT INTO {usage_name_days} (day, kind, name, key_id, model, ${columns}) ${numbers(1, MAX_NAMES)}
      SELECT '2026-12-01', 'user', 'name ' || i, ${figures}, 1, 0, 0, 0, 0, 0, 5 FROM n`);
    await stage.write(`INSERT INTO {usage_days} (day, key_id, model, source, ${columns})
      VALUES ('2026-12-01', ${figures}, 'reported', ${MAX_NAMES}, 0, 0, 0, 0, 0, 5000)`);
    await stage.write(`INSERT INTO {usage_months} (month, key_id, model, source, ${columns}, last_at_ms)
      VALUES ('2026-12', ${figures}, 'reported', ${MAX_NAMES}, 0, 0, 0, 0, 0, 5000, 0)`);
    const { rows } = await stage.state.usage.report({ ...ALL, by: 'user' });
    const [total] = (await stage.state.usage.report(ALL)).rows;
    assert.equal(rows.length, MAX_NAMES + 1);
    const first = rows.slice(0, 2).map(({ user, requests, costNanos }) => [user, requests, costNanos]);
    assert.deepEqual(first, [
      ['dear', 1, 9n],
      [OTHER_NAMES, 3, 2n + 1n + 5n],
    ]);
    assert.equal(
      rows.reduce((sum, { requests }) => sum + requests, 0),
      total?.requests,
    );
    assert.equal(
      rows.reduce((sum, { costNanos }) => sum + costNanos, 0n),
      total?.costNanos,
    );
  });
});
