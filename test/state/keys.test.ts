/** Keys: how they are created, found, listed, changed, rotated and deleted. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hashKey, mintKey, previewKey } from '../../src/core/api-key.ts';
import { DAY_MS } from '../../src/core/clock.ts';
import { checkKeyName, childName, childPrefixes, type KeyChange, MOST_CREATED_A_DAY } from '../../src/state/keys.ts';
import { ALONE } from '../support/state.ts';
import { done, makeKey, NOON, onEachStore } from './stage.ts';

const UNLIMITED = { rpm: null, tpm: null, concurrency: null, spendLimitNanos: null };
const UNKNOWN = ['nobody', '', ' ', '%', "' OR 1=1 --", '\u0000', '\u{1f600}', 'key_', mintKey()];

const SUCCESSORS: readonly (readonly [name: string, successor: string])[] = [
  ['app', 'app-2'],
  ['app-2', 'app-3'],
  ['app-9', 'app-10'],
  ['app-0', 'app-1'],
  ['app-', 'app--2'],
  ['app-x', 'app-x-2'],
  ['2026', '2026-2'],
  ['x'.repeat(64), `${'x'.repeat(62)}-2`],
  [`${'x'.repeat(62)}-9`, `${'x'.repeat(61)}-10`],
  ['🚀'.repeat(64), `${'🚀'.repeat(62)}-2`],
];

onEachStore((open) => {
  describe('a new key', () => {
    test('is enabled, and only its hash and its last four characters are stored', async (t) => {
      const stage = await open(t);
      const { keys } = stage.state;
      const secret = mintKey();
      const limits = { rpm: 5, tpm: 6_000_000_000, concurrency: 7, spendLimitNanos: 9_007_199_254_740_993n };
      const allowlist = ['c/d', 'a/b', 'c/d', 'É/"\\\n'];
      const terms = { budgets: [{ period: 'day', limitNanos: 9_007_199_254_740_993n }], expiresAtMs: NOON + 1 };
      const key = done(await keys.create(secret, { name: 'app', allowlist, ...limits, ...terms }, NOON));
      assert.deepEqual(
        { ...key, id: '' },
        {
          id: '',
          name: 'app',
          preview: previewKey(secret),
          state: 'enabled',
          allowlist: ['c/d', 'a/b', 'É/"\\\n'],
          createdAtMs: NOON,
          ...ALONE,
          ...limits,
          ...terms,
        },
      );
      assert.match(key.id, /^key_[0-9a-z]{26}$/);
      const stored = JSON.stringify(await stage.dump(), (_, value) => (typeof value === 'bigint' ? `${value}` : value));
      assert.ok(stored.includes(hashKey(secret)));
      assert.ok(!stored.includes(secret.slice('sk-inf-'.length)));
    });

    test('that run has made knows the runs around it, and is known of by them at any depth', async (t) => {
      const { state } = await open(t);
      const outer = await makeKey(state, { isLeashed: true });
      const middle = await makeKey(state, { isLeashed: true, parentId: outer.id });
      const deep = await makeKey(state, { isLeashed: true, parentId: middle.id });
      assert.equal((await state.keys.find(deep.id))?.parentId, middle.id);
      const inner = (await state.keys.innerIds(outer.id)).toSorted();
      assert.deepEqual(inner, [middle.id, deep.id]);
      assert.deepEqual(await state.keys.innerIds(deep.id), []);
      assert.equal((await makeKey(state)).isLeashed, false);
    });

    test('takes those with it that it has made, and these have made, when it is deleted', async (t) => {
      const { state } = await open(t);
      const outer = await makeKey(state, { name: 'outer', mayCreate: true });
      const middle = await makeKey(state, { name: 'outer/middle', parentId: outer.id });
      await makeKey(state, { name: 'deep', parentId: middle.id });
      const other = await makeKey(state, { name: 'other' });
      assert.equal(done(await state.keys.setState('outer/middle', 'disabled')).state, 'disabled');
      assert.equal(done(await state.keys.setState('outer', 'deleted')).state, 'deleted');
      const left = await state.keys.list({ withDeleted: false });
      assert.deepEqual(left, [other]);
      assert.equal((await state.keys.setState(middle.id, 'enabled')).kind, 'deleted');
      assert.equal((await makeKey(state, { name: 'deep' })).name, 'deep', 'their names are free again');
    });

    test('of a key number at most 1,000 in a day, deleted ones included', async (t) => {
      const stage = await open(t);
      const { state } = stage;
      const parent = await makeKey(state, { mayCreate: true });
      const other = await makeKey(state, { mayCreate: true });
      await stage.write(`INSERT INTO {keys} (id, name, hash, preview, state, created_at_ms, parent_id)
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${MOST_CREATED_A_DAY - 1})
        SELECT 'key_bulk' || n, 'bulk ' || n, 'hash ' || n, '', 'deleted', ${NOON}, '${parent.id}' FROM numbers`);
      let children = 0;
      const create = (parentId: string, atMs: number) =>
        state.keys.create(mintKey(), { name: `child ${++children}`, parentId }, atMs);
      const last = done(await create(parent.id, NOON));
      assert.equal((await create(parent.id, NOON + DAY_MS / 3)).kind, 'too_many_today');
      await state.keys.setState(last.id, 'deleted');
      assert.equal((await create(parent.id, NOON)).kind, 'too_many_today');
      assert.equal((await create(other.id, NOON)).kind, 'done');
      assert.equal((await create(parent.id, NOON + DAY_MS)).kind, 'done');
      // What its operator asks for is not refused.
      const { id } = done(await create(other.id, NOON));
      await stage.write(`UPDATE {keys} SET parent_id = '${parent.id}' WHERE id = '${id}'`);
      assert.equal((await state.keys.rotate(id, mintKey(), NOON)).kind, 'done');
    });

    test('is under no key that is gone, whoever has just deleted that', async (t) => {
      const { state } = await open(t);
      const outer = await makeKey(state, { mayCreate: true });
      await state.keys.setState(outer.id, 'deleted');
      for (const parentId of [outer.id, 'key_x']) {
        const change = await state.keys.create(mintKey(), { name: 'late', parentId }, NOON);
        assert.equal(change.kind, 'no_such_key');
      }
      assert.deepEqual(await state.keys.list({ withDeleted: false }), []);
    });

    test('is found by its id, by its name, and by the key itself', async (t) => {
      const { keys } = (await open(t)).state;
      const secret = mintKey();
      const key = done(await keys.create(secret, { name: 'Äpp (β) 🚀', allowlist: null, ...UNLIMITED }, NOON));
      for (const by of [key.id, key.name, secret]) {
        assert.deepEqual(await keys.find(by), key);
        assert.deepEqual(await keys.findWithDeleted(by), key);
      }
    });

    for (const name of [...UNKNOWN, 'App', 'app ', 'APP', 'ａｐｐ']) {
      test(`named app is not found by ${JSON.stringify(name)}`, async (t) => {
        const { state } = await open(t);
        await makeKey(state, { name: 'app' });
        assert.equal(await state.keys.find(name), undefined);
        assert.equal(await state.keys.findWithDeleted(name), undefined);
      });
    }

    test('cannot take a name that another key has, and then nothing is changed', async (t) => {
      const stage = await open(t);
      await makeKey(stage.state, { name: 'app' });
      const before = await stage.dump();
      const key = { name: 'app', allowlist: null, ...UNLIMITED };
      assert.deepEqual(await stage.state.keys.create(mintKey(), key, NOON), { kind: 'name_taken' });
      assert.deepEqual(await stage.dump(), before);
    });

    test('is one, if several processes create it at once', async (t) => {
      const stage = await open(t);
      const states = [stage.state, await stage.open(), await stage.open()];
      const key = { name: 'app', allowlist: null, ...UNLIMITED };
      const changes = await Promise.all(states.map(({ keys }) => keys.create(mintKey(), key, NOON)));
      assert.deepEqual(changes.map(({ kind }) => kind).toSorted(), ['done', 'name_taken', 'name_taken']);
    });
  });

  describe('the list of keys', () => {
    test('is in order of creation, page by page, with or without deleted keys', async (t) => {
      const { state } = await open(t);
      const ids: string[] = [];
      for (const name of ['b', 'a', 'D', 'c', 'é']) ids.push((await makeKey(state, { name })).id);
      await state.keys.setState('D', 'deleted');
      const listed = async (query: Parameters<typeof state.keys.list>[0]) =>
        (await state.keys.list(query)).map(({ name }) => name);
      assert.deepEqual(await listed({ withDeleted: true }), ['b', 'a', 'D', 'c', 'é']);
      assert.deepEqual(await listed({ withDeleted: false }), ['b', 'a', 'c', 'é']);
      assert.deepEqual(await listed({ withDeleted: false, limit: 2 }), ['b', 'a']);
      assert.deepEqual(await listed({ withDeleted: false, limit: 2, afterId: ids[1] }), ['c', 'é']);
      assert.deepEqual(await listed({ withDeleted: true, limit: 2, afterId: ids[1] }), ['D', 'c']);
      assert.deepEqual(await listed({ withDeleted: true, afterId: ids[4] }), []);
    });
  });

  describe('a rotated key', () => {
    for (const [name, successor] of SUCCESSORS) {
      test(`${name} has the successor ${successor}`, async (t) => {
        const { state } = await open(t);
        await makeKey(state, { name });
        const next = done(await state.keys.rotate(name, mintKey(), NOON));
        assert.equal(next.name, successor);
        assert.equal(checkKeyName(next.name), undefined);
      });
    }

    test('takes the next free name', async (t) => {
      const { state } = await open(t);
      for (const name of ['app', 'app-2', 'app-3', 'app-4', 'app-6']) await makeKey(state, { name });
      await state.keys.setState('app-3', 'deleted');
      assert.equal(done(await state.keys.rotate('app', mintKey(), NOON)).name, 'app-3');
      assert.equal(done(await state.keys.rotate('app-2', mintKey(), NOON)).name, 'app-5');
      assert.equal(done(await state.keys.rotate('app', mintKey(), NOON)).name, 'app-7');
    });

    test('that another has made keeps what stands before its name, however long both are', async (t) => {
      const { state } = await open(t);
      const parent = await makeKey(state, { name: 'p'.repeat(64) });
      const own = 'c'.repeat(64);
      for (const prefix of childPrefixes(parent)) {
        const { id } = await makeKey(state, { name: `${prefix}${own}`, parentId: parent.id });
        const next = done(await state.keys.rotate(id, mintKey(), NOON));
        assert.equal(next.name, `${prefix}${'c'.repeat(62)}-2`);
        assert.equal(checkKeyName(childName(next, parent)), undefined);
      }
    });

    test('takes a name of its own, if several processes rotate at once', async (t) => {
      const stage = await open(t);
      await makeKey(stage.state, { name: 'app' });
      const states = [stage.state, await stage.open(), await stage.open()];
      const changes = await Promise.all(
        [...states, ...states, ...states].map(({ keys }) => keys.rotate('app', mintKey(), NOON)),
      );
      const names = changes.map((change) => done(change).name);
      assert.deepEqual(names.toSorted(), Array.from({ length: 9 }, (_, i) => `app-${i + 2}`).toSorted());
    });

    test('passes its settings on, and does not change itself', async (t) => {
      const { keys } = (await open(t)).state;
      const settings = { rpm: 1, tpm: 2, concurrency: 3, spendLimitNanos: 4n, allowlist: ['a/b'] };
      const old = done(await keys.create(mintKey(), { name: 'app', ...settings }, NOON));
      const secret = mintKey();
      const next = done(await keys.rotate(old.id, secret, NOON + 5));
      assert.deepEqual(next, {
        ...old,
        id: next.id,
        name: 'app-2',
        preview: previewKey(secret),
        createdAtMs: NOON + 5,
      });
      assert.notEqual(next.id, old.id);
      assert.deepEqual(await keys.find(old.id), old);
      assert.deepEqual(await keys.find(secret), next);
    });

    test('is enabled as a successor, even of a disabled key', async (t) => {
      const { state } = await open(t);
      await makeKey(state, { name: 'app' });
      await state.keys.setState('app', 'disabled');
      assert.equal(done(await state.keys.rotate('app', mintKey(), NOON)).state, 'enabled');
    });
  });

  describe('a deleted key', () => {
    test('releases its name, is not listed, and is still found by its id', async (t) => {
      const { state } = await open(t);
      const { keys } = state;
      const old = await makeKey(state, { name: 'app' });
      assert.equal(done(await keys.setState('app', 'deleted')).state, 'deleted');
      assert.equal(await keys.find('app'), undefined);
      const successor = await makeKey(state, { name: 'app' });
      assert.equal((await keys.find('app'))?.id, successor.id);
      assert.equal((await keys.find(old.id))?.state, 'deleted');
      assert.deepEqual(await keys.list({ withDeleted: false }), [successor]);
      assert.equal((await keys.list({ withDeleted: true })).length, 2);
    });

    test('is found by its name in a search that includes deleted keys, unless another key has the name', async (t) => {
      const { state } = await open(t);
      const { keys } = state;
      const ids: string[] = [];
      for (const at of [0, 1, 2]) {
        const key = { name: 'app', allowlist: null, ...UNLIMITED };
        ids.push(done(await keys.create(mintKey(), key, NOON + at)).id);
        await keys.setState('app', 'deleted');
        assert.equal((await keys.findWithDeleted('app'))?.id, ids[at], 'the one that was created last');
      }
      const successor = await makeKey(state, { name: 'app' });
      assert.equal((await keys.findWithDeleted('app'))?.id, successor.id);
    });

    test('can no longer be enabled, limited or rotated, by its id either', async (t) => {
      const stage = await open(t);
      const { keys } = stage.state;
      const { id } = await makeKey(stage.state, { name: 'app' });
      await keys.setState(id, 'deleted');
      const before = await stage.dump();
      const changes: KeyChange[] = [
        await keys.setState(id, 'enabled'),
        await keys.setLimits(id, { rpm: 1 }),
        await keys.editAllowlist(id, () => null),
        await keys.rotate(id, mintKey(), NOON),
      ];
      for (const { kind } of changes) assert.equal(kind, 'deleted');
      assert.deepEqual(await stage.dump(), before);
    });
  });

  describe('a change of a key', () => {
    test('sets only the limits that are given', async (t) => {
      const { state } = await open(t);
      await makeKey(state, { name: 'app' });
      const other = await makeKey(state, { name: 'other' });
      await state.keys.setLimits('app', { rpm: 1, spendLimitNanos: 0n });
      await state.keys.setLimits('app', { tpm: 2 });
      const key = done(await state.keys.setLimits('app', { rpm: null }));
      assert.deepEqual([key.rpm, key.tpm, key.concurrency, key.spendLimitNanos], [null, 2, null, 0n]);
      assert.deepEqual(await state.keys.find('app'), key);
      assert.deepEqual(await state.keys.find('other'), other);
    });

    test('distinguishes an empty allowlist from none', async (t) => {
      const { state } = await open(t);
      await makeKey(state, { name: 'app' });
      const edited = async (edit: Parameters<typeof state.keys.editAllowlist>[1]) =>
        done(await state.keys.editAllowlist('app', edit)).allowlist;
      assert.deepEqual(await edited(() => []), []);
      assert.deepEqual(await edited((old) => [...(old ?? []), 'a/b', 'a/b']), ['a/b']);
      assert.deepEqual((await state.keys.find('app'))?.allowlist, ['a/b']);
      assert.equal(await edited(() => null), null);
      assert.equal((await state.keys.find('app'))?.allowlist, null);
    });

    test('that throws changes nothing, and the next one works', async (t) => {
      const stage = await open(t);
      await makeKey(stage.state, { name: 'app', allowlist: ['a/b'] });
      const before = await stage.dump();
      const fail = () => {
        throw new Error('no such model');
      };
      await assert.rejects(stage.state.keys.editAllowlist('app', fail), /^Error: no such model$/);
      assert.deepEqual(await stage.dump(), before);
      assert.equal(done(await stage.state.keys.setState('app', 'disabled')).state, 'disabled');
    });

    test('by several processes at once loses none of them', async (t) => {
      const stage = await open(t);
      await makeKey(stage.state, { name: 'app', allowlist: [] });
      const states = [stage.state, await stage.open(), await stage.open()];
      const models = Array.from({ length: 12 }, (_, i) => `mock/${i}`);
      await Promise.all(
        models.map((model, i) => states[i % 3]?.keys.editAllowlist('app', (old) => [...(old ?? []), model])),
      );
      const { allowlist } = (await stage.state.keys.find('app')) ?? {};
      assert.deepEqual(allowlist?.toSorted(), models.toSorted());
    });

    for (const name of UNKNOWN) {
      test(`that is unknown, such as ${JSON.stringify(name)}, changes nothing`, async (t) => {
        const stage = await open(t);
        const { keys } = stage.state;
        await makeKey(stage.state, { name: 'app' });
        const before = await stage.dump();
        assert.equal((await keys.setState(name, 'disabled')).kind, 'no_such_key');
        assert.equal((await keys.setLimits(name, { rpm: 1 })).kind, 'no_such_key');
        assert.equal((await keys.editAllowlist(name, () => [])).kind, 'no_such_key');
        assert.equal((await keys.rotate(name, mintKey(), NOON)).kind, 'no_such_key');
        assert.deepEqual(await stage.dump(), before);
      });
    }
  });
});
