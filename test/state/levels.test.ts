/** Groups and end users as operators keep them: what is in what, whose limits hold, and what a new window begins with. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mintKey } from '../../src/core/api-key.ts';
import type { Budget } from '../../src/core/budgets.ts';
import { NO_USER_LIMITS, userId } from '../../src/state/levels.ts';
import type { OpenState } from '../../src/state/state.ts';
import {
  type Cleanup,
  done,
  enter,
  holdOf,
  makeGroup,
  makeKey,
  NOON,
  type OpenStage,
  onEachStore,
  USD,
} from './stage.ts';

const HOUR_MS = 3_600_000;
const HOURS: Budget = { period: '24h', limitNanos: 5n * USD };
const ALL = { withDeleted: false };

/** Names that a careless query would confuse, in the order of their bytes. */
const NAMES = [
  '%',
  "'; DROP TABLE users; --",
  '/',
  '\\',
  '\0',
  'Zoe',
  '_',
  'a/b',
  'zoe',
  'zoe\u0308',
  'zo\u00eb',
  '\u202ezoe',
  '🦆',
];

/** What a level has spent of its window. */
async function spentOf({ levels }: OpenState, id: string, budget = HOURS): Promise<bigint | undefined> {
  return (await levels.spentBy([{ id, budgets: [budget] }], NOON)).get(id)?.[0]?.chargedNanos;
}

/** Two groups, one in the other, with a key in the inner one that was used for two users. */
async function used(t: Cleanup, open: OpenStage) {
  const stage = await open(t);
  const { state } = stage;
  const outer = await makeGroup(state, { name: 'outer' });
  const inner = await makeGroup(state, { name: 'inner', groupId: outer.id });
  const key = await makeKey(state, { name: 'app', groupId: inner.id });
  const spend = (user: string, costNanos: bigint, admittedAtMs = NOON - HOUR_MS) => {
    const levels = [userId(key.id, user), userId(inner.id, user), inner.id, outer.id];
    return enter(stage, holdOf(key.id, { admittedAtMs, levels }), { costNanos });
  };
  await spend('zoe', 1n);
  await spend('zoe', 2n);
  await spend('z_e', 4n);
  await spend('zoe', 8n, NOON - 30 * HOUR_MS);
  return { stage, state, outer, inner, key, spend };
}

onEachStore((open) => {
  describe('groups', () => {
    test('are found by name and id, and a name is free again once its group is deleted', async (t) => {
      const { state } = await open(t);
      const group = await makeGroup(state, { name: 'team' });
      assert.deepEqual(await state.groups.find('team'), group);
      assert.deepEqual(await state.groups.find(group.id), group);
      assert.equal(await state.groups.find('a\0'), undefined);
      assert.equal((await state.groups.create({ name: 'team' }, NOON)).kind, 'name_taken');
      assert.equal((await state.groups.delete('team', { isEmptied: false })).kind, 'done');
      assert.equal((await state.groups.setState(group.id, 'enabled')).kind, 'no_such_group');
      assert.equal((await makeGroup(state, { name: 'team' })).name, 'team');
    });

    test('and parents are charged in a month for their own requests and for those of the levels inside them', async (t) => {
      const { state, stage, outer, inner, key } = await used(t, open);
      const child = await makeKey(state, { name: 'app/child', parentId: key.id });
      await enter(stage, holdOf(child.id, { levels: [key.id, inner.id, outer.id] }), { costNanos: 16n });
      await enter(stage, holdOf(key.id, { admittedAtMs: NOON - 32 * 24 * HOUR_MS, levels: [] }), { costNanos: 99n });
      const charges = await state.levels.chargesIn('2026-11', [child.id, key.id, outer.id, userId(key.id, 'zoe')]);
      assert.deepEqual(
        [child.id, key.id, outer.id, userId(key.id, 'zoe'), inner.id].map((id) => charges.get(id)),
        [16n, 31n, 31n, 11n, undefined],
      );
    });

    test('nest four deep, and none is in itself', async (t) => {
      const { state } = await open(t);
      const ids: string[] = [];
      for (let i = 0; i < 4; i++) ids.push((await makeGroup(state, { groupId: ids.at(-1) ?? null })).id);
      const [first = '', second = '', third = '', fourth = ''] = ids;
      assert.equal((await state.groups.create({ name: 'fifth', groupId: fourth }, NOON)).kind, 'too_deep');
      for (const [group, into] of [
        [first, fourth],
        [first, first],
        [second, third],
      ] as const) {
        assert.equal((await state.groups.place(group, into)).kind, 'in_itself');
      }
      const tall = await makeGroup(state);
      assert.equal((await state.groups.place(first, tall.id)).kind, 'too_deep');
      assert.equal((await state.groups.place(third, tall.id)).kind, 'done');
      assert.equal((await state.groups.place(fourth, null)).kind, 'done');
      assert.equal((await state.groups.place(fourth, 'grp_none')).kind, 'no_such_group');
    });

    test('are deleted when nothing is in them, or with what is in them moved to the one above', async (t) => {
      const { state, outer, inner } = await used(t, open);
      const below = await makeGroup(state, { groupId: inner.id });
      assert.equal((await state.groups.delete(inner.id, { isEmptied: false })).kind, 'not_empty');
      assert.equal((await state.groups.delete(inner.id, { isEmptied: true })).kind, 'done');
      assert.equal((await state.keys.find('app'))?.groupId, outer.id);
      assert.equal((await state.groups.find(below.id))?.groupId, outer.id);
      assert.deepEqual(await state.groups.keyCounts(), new Map([[outer.id, 1]]));
    });

    test('take nothing in once they are deleted, nor are put anywhere', async (t) => {
      const { state, inner, key } = await used(t, open);
      const { id } = await makeGroup(state, { name: 'gone' });
      assert.equal((await state.groups.delete(id, { isEmptied: false })).kind, 'done');
      for (const change of [
        await state.keys.create(mintKey(), { name: 'late', groupId: id }, NOON),
        await state.keys.place(key.id, id),
        await state.groups.create({ name: 'later', groupId: id }, NOON),
        await state.groups.place(inner.id, id),
        await state.groups.place(id, inner.id),
      ]) {
        assert.equal(change.kind, 'no_such_group');
      }
    });

    test('have the keys that were put into them, and those that these have made', async (t) => {
      const { state, outer, inner, key } = await used(t, open);
      const child = await makeKey(state, { name: 'child', parentId: key.id });
      await makeKey(state, { name: 'alone' });
      const named = async (...groupIds: string[]) =>
        (await state.keys.list({ ...ALL, groupIds })).map(({ name }) => name);
      assert.deepEqual(await named(inner.id), ['app', 'child']);
      assert.deepEqual(await named(outer.id), []);
      assert.equal((await state.keys.place(child.id, outer.id)).kind, 'is_child');
      assert.equal((await state.keys.place('app', 'grp_none')).kind, 'no_such_group');
      assert.equal(done(await state.keys.place('app', outer.id)).groupId, outer.id);
      assert.deepEqual(await named(inner.id, outer.id), ['app', 'child']);
      assert.equal(done(await state.keys.place('app', null)).groupId, null);
    });

    test('list the requests that were booked to them, wherever the key is now', async (t) => {
      const { state, outer, inner, key } = await used(t, open);
      await state.keys.place(key.id, null);
      const query = { keyId: undefined, sinceMs: undefined, errors: false, limit: 10 };
      for (const groupId of [inner.id, outer.id]) {
        assert.equal((await state.requests.list({ ...query, groupId })).length, 4);
      }
      assert.deepEqual(await state.requests.list({ ...query, groupId: 'grp_none' }), []);
    });

    test('have nothing of an end user whose name is made to look like one', async (t) => {
      const { stage, state, key } = await used(t, open);
      const other = await makeGroup(state);
      const query = { keyId: undefined, groupId: other.id };
      for (const name of [`"${other.id}`, `["${other.id}`, `a","${other.id}`, other.id]) {
        const spentBy = { user: name, tag: '', app: '' };
        await enter(stage, holdOf(key.id, { levels: [userId(key.id, name)] }), { costNanos: 1n, spentBy });
      }
      assert.deepEqual(await state.requests.list({ ...query, sinceMs: undefined, errors: false, limit: 10 }), []);
      const range = { sinceMs: undefined, untilMs: undefined, model: undefined };
      assert.deepEqual((await state.usage.report({ ...query, ...range, by: 'user' })).rows, []);
    });

    test('begin a sliding budget with what was booked to them', async (t) => {
      const { state, outer, inner, spend } = await used(t, open);
      await state.groups.setLimits(inner.id, { budgets: () => [HOURS] }, NOON);
      assert.deepEqual([await spentOf(state, inner.id), await spentOf(state, outer.id)], [7n, 0n]);
      await spend('zoe', 16n, NOON - 2 * HOUR_MS);
      await state.groups.setLimits(inner.id, { budgets: () => [] }, NOON);
      assert.equal(await spentOf(state, inner.id), 0n);
    });
  });

  describe('the limits of end users', () => {
    test('are those of all, and over them those of one alone', async (t) => {
      const { state, key } = await used(t, open);
      const limits = { ...NO_USER_LIMITS, rpm: 5, budgets: [HOURS], required: true };
      assert.deepEqual(done(await state.keys.setLimits(key.id, { userLimits: () => limits }, NOON)).userLimits, limits);
      await state.groups.editUser(key.id, 'zoe', (before) => ({ ...before, rpm: 9, spendLimitNanos: USD }), NOON);
      const own = await state.groups.findUser(key.id, 'zoe');
      assert.deepEqual([own?.rpm, own?.spendLimitNanos, own?.budgets], [9, USD, []]);
      const none = { userLimits: () => NO_USER_LIMITS };
      assert.deepEqual(done(await state.keys.setLimits(key.id, none, NOON)).userLimits, NO_USER_LIMITS);
      await state.groups.editUser(key.id, 'zoe', (before) => ({ ...before, rpm: null, spendLimitNanos: null }), NOON);
      assert.equal(await state.groups.findUser(key.id, 'zoe'), undefined);
      assert.equal((await state.keys.find(key.id))?.userLimits, null);
    });

    test('hold for the names of any text, byte for byte', async (t) => {
      const { state } = await open(t);
      const { id } = await makeKey(state, { name: 'app' });
      for (const [i, name] of NAMES.entries()) {
        await state.groups.editUser(id, name, (before) => ({ ...before, rpm: i + 1 }), NOON);
      }
      for (const [i, name] of NAMES.entries()) assert.equal((await state.groups.findUser(id, name))?.rpm, i + 1);
      const names = await state.groups.userNames(id, '', 100);
      assert.deepEqual(names.toSorted(), NAMES.toSorted());
      const paged: string[] = [];
      for (let page = ['']; page.length > 0; paged.push(...page)) {
        page = [...(await state.groups.userNames(id, paged.at(-1) ?? '', 3))];
      }
      assert.deepEqual(paged, names);
      for (const name of NAMES) {
        await state.groups.editUser(id, name, (before) => ({ ...before, state: 'disabled', rpm: null }), NOON);
        await state.groups.editUser(id, name, (before) => ({ ...before, state: 'enabled' }), NOON);
      }
      assert.deepEqual(await state.groups.userNames(id, '', 100), []);
      assert.equal((await state.keys.find(id))?.userLimits, null);
    });

    test('of one alone hold with the successor of their key, too, where they have spent nothing', async (t) => {
      const { state, key } = await used(t, open);
      const budgets = [HOURS, { period: 'day', limitNanos: 0n }];
      await state.groups.editUser(key.id, 'zoe', (before) => ({ ...before, rpm: 9, budgets }), NOON);
      await state.groups.editUser(key.id, '\0', (before) => ({ ...before, state: 'disabled' }), NOON);
      const next = done(await state.keys.rotate(key.id, mintKey(), NOON));
      assert.deepEqual(next.userLimits, NO_USER_LIMITS);
      for (const name of ['zoe', '\0']) {
        const own = await state.groups.findUser(key.id, name);
        assert.deepEqual(await state.groups.findUser(next.id, name), own && { ...own, ownerId: next.id });
      }
      assert.deepEqual(await state.groups.userNames(next.id, '', 9), ['\0', 'zoe']);
      assert.equal(await spentOf(state, userId(next.id, 'zoe')), 0n);
    });

    test('begin a sliding budget with what each of them has spent', async (t) => {
      const { state, key, inner } = await used(t, open);
      const setAll = (budgets: readonly Budget[]) =>
        state.keys.setLimits(key.id, { userLimits: () => ({ ...NO_USER_LIMITS, budgets }) }, NOON);
      const setOne = (budgets: readonly Budget[]) =>
        state.groups.editUser(key.id, 'zoe', (before) => ({ ...before, rpm: 1, budgets }), NOON);
      const spent = async () => [
        await spentOf(state, userId(key.id, 'zoe')),
        await spentOf(state, userId(key.id, 'z_e')),
        await spentOf(state, userId(inner.id, 'zoe')),
      ];
      await setAll([HOURS]);
      assert.deepEqual(await spent(), [3n, 4n, 0n]);
      await setOne([{ ...HOURS, limitNanos: USD }]);
      assert.deepEqual(await spent(), [3n, 4n, 0n]);
      // What is set for all holds again.
      await setOne([]);
      assert.deepEqual(await spent(), [3n, 4n, 0n]);
      await setOne([HOURS]);
      await setAll([]);
      assert.deepEqual(await spent(), [3n, 0n, 0n]);
      await setAll([HOURS]);
      await setOne([]);
      await setAll([]);
      assert.deepEqual(await spent(), [0n, 0n, 0n]);
      await state.groups.setLimits(inner.id, { userLimits: () => ({ ...NO_USER_LIMITS, budgets: [HOURS] }) }, NOON);
      assert.deepEqual(await spent(), [0n, 0n, 3n]);
    });
  });
});
