/** The table of keys: names, rotation, limits, allowlists, and what remains of a deleted key. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hashKey, mintKey, previewKey } from '../../../src/core/api-key.ts';
import { checkKeyName, type KeyChange, type KeyRecord } from '../../../src/state/keys.ts';
import { NOON, openBench } from '../ledger/bench.ts';

const NAMES: readonly (readonly [name: string, problem: RegExp | undefined])[] = [
  ['app', undefined],
  ['My app: v2 (staging)', undefined],
  ['café 東京 🚀', undefined],
  ['x', undefined],
  ['x'.repeat(64), undefined],
  ['🚀'.repeat(64), undefined],
  ['key_short', undefined],
  ['', /1 to 64 characters/],
  ['x'.repeat(65), /1 to 64 characters/],
  ['🚀'.repeat(65), /1 to 64 characters/],
  [' app', /space/],
  ['app ', /space/],
  ['\u00a0app', /space/],
  ['a\nb', /control/],
  ['a\u001b[31mb', /control/],
  ['a\u0000b', /control/],
  ['a\u200bb', /control/],
  ['a\u202eb', /control/],
  ['a\u2028b', /control/],
  [`key_${'0'.repeat(26)}`, /look like a key id/],
];

describe('a name for a key', () => {
  for (const [name, problem] of NAMES) {
    test(`${JSON.stringify(name)} is ${problem === undefined ? 'valid' : `invalid: ${problem.source}`}`, () => {
      if (problem === undefined) assert.equal(checkKeyName(name), undefined);
      else assert.match(checkKeyName(name) ?? '', problem);
    });
  }
});

function done(change: KeyChange): KeyRecord {
  assert.equal(change.kind, 'done');
  return (change as Extract<KeyChange, { kind: 'done' }>).key;
}

const UNLIMITED = { rpm: null, tpm: null, concurrency: null, spendLimitNanos: null };

describe('a new key', () => {
  test('is enabled, and only its hash and its last four characters are stored', (t) => {
    const { operator } = openBench(t);
    const secret = mintKey();
    const limits = { rpm: 5, tpm: 6_000_000_000, concurrency: 7, spendLimitNanos: 9_007_199_254_740_993n };
    const key = done(operator.keys.create(secret, { name: 'app', allowlist: ['a/b', 'c/d', 'a/b'], ...limits }, NOON));
    assert.deepEqual(
      { ...key, id: '' },
      {
        id: '',
        name: 'app',
        preview: previewKey(secret),
        state: 'enabled',
        allowlist: ['a/b', 'c/d'],
        createdAtMs: NOON,
        ...limits,
      },
    );
    assert.deepEqual(operator.keys.byHash(hashKey(secret)), key);
    const [row] = operator.database.prepare('SELECT * FROM keys').all() as Record<string, unknown>[];
    assert.ok(!JSON.stringify(row).includes(secret.slice('sk-inf-'.length)));
  });

  test('is found by id and by name', (t) => {
    const { operator } = openBench(t);
    const key = done(operator.keys.create(mintKey(), { name: 'app', allowlist: null, ...UNLIMITED }, NOON));
    assert.deepEqual(operator.keys.find('app'), key);
    assert.deepEqual(operator.keys.find(key.id), key);
    assert.equal(operator.keys.find('App'), undefined);
  });

  test('cannot take a name that another key has', (t) => {
    const { operator, newKey } = withNewKey(t);
    newKey('app');
    assert.equal(
      operator.keys.create(mintKey(), { name: 'app', allowlist: null, ...UNLIMITED }, NOON).kind,
      'name_taken',
    );
    assert.equal(operator.keys.count(), 1);
  });
});

function withNewKey(t: Parameters<typeof openBench>[0]) {
  const bench = openBench(t);
  const newKey = (name: string) => bench.record(bench.newKey({ name }));
  return { operator: bench.operator, newKey };
}

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

describe('a rotated key', () => {
  for (const [name, successor] of SUCCESSORS) {
    test(`${name} has the successor ${successor}`, (t) => {
      const { operator, newKey } = withNewKey(t);
      newKey(name);
      const next = done(operator.keys.rotate(name, mintKey(), NOON));
      assert.equal(next.name, successor);
      assert.equal(checkKeyName(next.name), undefined);
    });
  }

  test('takes the next free name', (t) => {
    const { operator, newKey } = withNewKey(t);
    for (const name of ['app', 'app-2', 'app-4']) newKey(name);
    assert.equal(done(operator.keys.rotate('app', mintKey(), NOON)).name, 'app-3');
    assert.equal(done(operator.keys.rotate('app-2', mintKey(), NOON)).name, 'app-5');
  });

  test('passes its settings on, and does not change itself', (t) => {
    const { operator } = openBench(t);
    const settings = { rpm: 1, tpm: 2, concurrency: 3, spendLimitNanos: 4n, allowlist: ['a/b'] };
    const old = done(operator.keys.create(mintKey(), { name: 'app', ...settings }, NOON));
    const secret = mintKey();
    const next = done(operator.keys.rotate(old.id, secret, NOON + 5));
    assert.deepEqual(next, {
      ...old,
      id: next.id,
      name: 'app-2',
      preview: previewKey(secret),
      createdAtMs: NOON + 5,
    });
    assert.notEqual(next.id, old.id);
    assert.deepEqual(operator.keys.find(old.id), old);
  });

  test('is enabled as a successor, even of a disabled key', (t) => {
    const { operator, newKey } = withNewKey(t);
    newKey('app');
    operator.keys.setState('app', 'disabled');
    assert.equal(done(operator.keys.rotate('app', mintKey(), NOON)).state, 'enabled');
  });
});

describe('a deleted key', () => {
  test('releases its name, is not listed, and is still found by its id', (t) => {
    const { operator, newKey } = withNewKey(t);
    const old = newKey('app');
    operator.keys.setState('app', 'deleted');
    assert.equal(operator.keys.find('app'), undefined);
    const successor = newKey('app');
    assert.equal(operator.keys.find('app')?.id, successor.id);
    assert.equal(operator.keys.find(old.id)?.state, 'deleted');
    assert.deepEqual(
      operator.keys.list({ withDeleted: false }).map(({ id }) => id),
      [successor.id],
    );
    assert.equal(operator.keys.list({ withDeleted: true }).length, 2);
    assert.equal(operator.keys.count(), 1);
  });

  test('is found by its name in a search that includes deleted keys, unless another key has the name', (t) => {
    const { operator, newKey } = withNewKey(t);
    const old = newKey('app');
    operator.keys.setState('app', 'deleted');
    assert.equal(operator.keys.findWithDeleted('app')?.id, old.id);
    const successor = newKey('app');
    assert.equal(operator.keys.findWithDeleted('app')?.id, successor.id);
  });

  test('can no longer be enabled, limited or rotated, by its id either', (t) => {
    const { operator, newKey } = withNewKey(t);
    const { id } = newKey('app');
    operator.keys.setState(id, 'deleted');
    for (const change of [
      operator.keys.setState(id, 'enabled'),
      operator.keys.setLimits(id, { rpm: 1 }),
      operator.keys.editAllowlist(id, () => null),
      operator.keys.rotate(id, mintKey(), NOON),
    ]) {
      assert.equal(change.kind, 'deleted');
    }
  });
});

describe('a change of a key', () => {
  test('sets only the limits that are given', (t) => {
    const { operator, newKey } = withNewKey(t);
    newKey('app');
    operator.keys.setLimits('app', { rpm: 1, spendLimitNanos: 0n });
    operator.keys.setLimits('app', { tpm: 2 });
    const key = done(operator.keys.setLimits('app', { rpm: null }));
    assert.deepEqual([key.rpm, key.tpm, key.concurrency, key.spendLimitNanos], [null, 2, null, 0n]);
  });

  test('distinguishes an empty allowlist from none', (t) => {
    const { operator, newKey } = withNewKey(t);
    newKey('app');
    assert.deepEqual(done(operator.keys.editAllowlist('app', () => [])).allowlist, []);
    assert.deepEqual(done(operator.keys.editAllowlist('app', (old) => [...(old ?? []), 'a/b', 'a/b'])).allowlist, [
      'a/b',
    ]);
    assert.equal(done(operator.keys.editAllowlist('app', () => null)).allowlist, null);
  });

  test('of an unknown key changes nothing', (t) => {
    const { operator } = openBench(t);
    assert.equal(operator.keys.setState('nobody', 'disabled').kind, 'no_such_key');
    assert.equal(operator.keys.rotate('nobody', mintKey(), NOON).kind, 'no_such_key');
  });
});
