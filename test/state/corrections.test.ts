/**
 * Corrections of requests that are charged as held: they apply wherever the charge did, and no
 * other request can be corrected.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Nanos } from '../../src/core/money.ts';
import { USAGE_GROUPS } from '../../src/state/usage.ts';
import {
  type Cleanup,
  enter,
  enterHeld,
  holdOf,
  makeGroup,
  makeKey,
  NOON,
  type OpenStage,
  onEachStore,
  type Stage,
  USD,
} from './stage.ts';

const HOLD = 700n;
const EVERYTHING = { keyId: undefined, model: undefined, sinceMs: undefined, untilMs: undefined };

/** A stage with these requests, charged as held. */
async function crashed(t: Cleanup, open: OpenStage, holds: readonly Nanos[] = [HOLD]) {
  const stage = await open(t);
  const { account, requests } = stage.state;
  await account.enter(USD, '', NOON);
  const group = await makeGroup(stage.state);
  const key = await makeKey(stage.state, { groupId: group.id });
  // Of an end user, so that every kind of level is charged.
  const levels = [`${key.id}/zoe`, group.id];
  const ids: string[] = [];
  for (const holdNanos of holds) ids.push(await enterHeld(stage, holdOf(key.id, { holdNanos, levels })));
  const balance = async () => (await account.balance()).balanceNanos;
  return { stage, key, levels, ids, id: ids[0] as string, requests, balance };
}

/** Everything that is stored except the figures that a correction must change. */
async function untouchedBy(stage: Stage): Promise<unknown> {
  const changed = ['cost_nanos', 'corrected_at_ms', 'balance_nanos', 'charged_nanos'];
  const tables = Object.entries(await stage.dump()).map(([name, rows]) => {
    const kept = name === 'credit_entries' ? [] : changed;
    const without = (row: object) => Object.entries(row).filter(([column]) => !kept.includes(column));
    // Rows are in no order that a change of a figure cannot change.
    return [name, rows.map((row) => String(without(row as object))).toSorted()];
  });
  return Object.fromEntries(tables);
}

onEachStore((open) => {
  describe('a correction of a request that a crash left open', () => {
    for (const [what, cost] of [
      ['less', 1n],
      ['more', 90_000n],
      ['nothing', 0n],
      ['just as much', HOLD],
    ] as const) {
      test(`charges ${what}: in the balance, in its day and month, and in its row`, async (t) => {
        const { stage, key, levels, id, requests, balance } = await crashed(t, open);
        const { usage } = stage.state;
        await enter(stage, holdOf(key.id, { holdNanos: 5n, levels }), { costNanos: 5n });
        const before = await untouchedBy(stage);
        const correction = await requests.correct(id, cost, NOON + 5_000);
        assert.equal(correction.kind, 'done');
        const found = await requests.find(id);
        assert.deepEqual(
          [found?.end?.costNanos, found?.end?.correctedAtMs, found?.holdNanos],
          [cost, NOON + 5_000, HOLD],
        );
        assert.deepEqual(correction.kind === 'done' && correction.request, found);
        assert.equal(await balance(), USD - 5n - cost);
        assert.equal((await usage.monthOf(key.id, '2026-11')).costNanos, cost + 5n);
        for (const by of [...USAGE_GROUPS, undefined]) {
          const { rows } = await usage.report({ ...EVERYTHING, by });
          const total = rows.reduce((sum, { costNanos }) => sum + costNanos, 0n);
          assert.equal(total, cost + 5n, `by ${by}`);
        }
        assert.deepEqual(await untouchedBy(stage), before);
        await stage.assertSound();
      });
    }

    test('of a request that names who spent it changes the sums of these names', async (t) => {
      const { stage, key, levels, requests } = await crashed(t, open);
      const hold = holdOf(key.id, { holdNanos: HOLD, levels });
      const spentBy = { user: 'zoe', tag: 'nightly', app: 'curl' };
      const lost = { outcome: 'upstream_error', source: 'held', costNanos: HOLD, spentBy } as const;
      const id = await enter(stage, hold, lost);
      await enter(stage, holdOf(key.id, { levels }), { costNanos: 5n, spentBy });
      assert.equal((await requests.correct(id, 3n, NOON)).kind, 'done');
      for (const by of ['user', 'tag', 'app'] as const) {
        const { rows } = await stage.state.usage.report({ ...EVERYTHING, by });
        assert.equal(rows.find((row) => row[by] === spentBy[by])?.costNanos, 8n, by);
      }
      await stage.assertSound();
    });

    test('replaces an earlier one, and counts once if it is repeated', async (t) => {
      const { stage, key, id, requests, balance } = await crashed(t, open);
      for (const [at, cost] of [90n, 90n, 3n, 0n, 1_200n].entries()) {
        assert.equal((await requests.correct(id, cost, NOON + at)).kind, 'done');
        assert.equal(await balance(), USD - cost);
        assert.equal((await stage.state.usage.monthOf(key.id, '2026-11')).costNanos, cost);
        assert.equal((await requests.find(id))?.end?.correctedAtMs, NOON + at);
        await stage.assertSound();
      }
    });

    test('changes only that request', async (t) => {
      const { stage, ids, requests } = await crashed(t, open, [10n, 20n, 30n]);
      await requests.correct(ids[1] as string, 7n, NOON);
      const ends = [];
      for (const id of ids) ends.push((await requests.find(id))?.end);
      assert.deepEqual(
        ends.map((end) => end?.costNanos),
        [10n, 7n, 30n],
      );
      assert.deepEqual(
        ends.map((end) => end?.correctedAtMs),
        [undefined, NOON, undefined],
      );
      await stage.assertSound();
    });

    test('counts on the day and in the month of the admission, whenever it is made', async (t) => {
      const stage = await open(t);
      const { id: keyId } = await makeKey(stage.state);
      const admittedAtMs = Date.UTC(2026, 0, 31, 23, 59, 59);
      const id = await enterHeld(stage, holdOf(keyId, { admittedAtMs, holdNanos: HOLD }));
      // The key has been used since.
      await enter(stage, holdOf(keyId), { costNanos: 5n });
      await stage.state.requests.correct(id, 50n, Date.UTC(2027, 5, 3));
      const costsBy = async (by: 'day' | 'month') =>
        (await stage.state.usage.report({ ...EVERYTHING, by })).rows.map((row) => [row[by], row.costNanos]);
      assert.deepEqual(await costsBy('day'), [
        ['2026-01-31', 50n],
        ['2026-11-21', 5n],
      ]);
      assert.deepEqual(await costsBy('month'), [
        ['2026-01', 50n],
        ['2026-11', 5n],
      ]);
      await stage.assertSound();
    });

    test('by several processes at once: the last one counts, and each once', async (t) => {
      const { stage, id, requests, balance } = await crashed(t, open);
      const states = [stage.state, await stage.open(), await stage.open()];
      await Promise.all(
        Array.from({ length: 12 }, (_, i) => states[i % 3]?.requests.correct(id, BigInt(i * i), NOON + i)),
      );
      assert.equal(await balance(), USD - ((await requests.find(id))?.end?.costNanos ?? 0n));
      await stage.assertSound();
    });
  });

  describe('a correction is refused, and changes nothing,', () => {
    for (const source of ['reported', 'counted'] as const) {
      test(`of a request that was charged as ${source}, by its id or its completion id`, async (t) => {
        const stage = await open(t);
        const { id: keyId } = await makeKey(stage.state);
        const id = await enter(stage, holdOf(keyId), { source, completionId: 'chatcmpl-1' });
        const before = await stage.dump();
        for (const name of [id, 'chatcmpl-1']) {
          assert.deepEqual(await stage.state.requests.correct(name, 1n, NOON), { kind: 'not_held', source });
        }
        assert.deepEqual(await stage.dump(), before);
      });
    }

    test('of a request in flight', async (t) => {
      const stage = await open(t);
      const hold = holdOf((await makeKey(stage.state)).id, { holdNanos: 5n });
      await stage.hold(hold);
      const before = await stage.dump();
      assert.deepEqual(await stage.state.requests.correct(hold.requestId, 1n, NOON), { kind: 'in_flight' });
      assert.deepEqual(await stage.dump(), before);
    });

    test('of a request that the retention has dropped', async (t) => {
      const { stage, id, requests } = await crashed(t, open);
      await stage.dropOldRows(NOON + 1_000);
      const before = await stage.dump();
      assert.deepEqual(await requests.correct(id, 1n, NOON), { kind: 'no_such_request' });
      assert.deepEqual(await stage.dump(), before);
    });
  });
});
