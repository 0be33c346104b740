/** What a gateway has in memory of those that ask: levels that are in use, and no others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Facts, type FactsRow } from '../../../src/ledger/shared/facts.ts';
import { Replica } from '../../../src/ledger/shared/replica.ts';
import type { EntryRow } from '../../../src/state/postgres/log.ts';
import { NOON } from './bench.ts';

const NODE = 1;
const NO_SUMS = { months: null, days: null, ever: null, steps: null };
const TIER = [9, 9, 9, 9, 0];

function row(id: string, groupId: string | null = null): FactsRow {
  const record = { id, name: id, state: 'enabled', allowlist: null, created_at_ms: 0, group_id: groupId };
  return { id, hash: id, record: { ...record, preview: '', budgets: null, user_limits: null }, ...NO_SUMS };
}

test('keys that nobody has used for a minute are forgotten, and those in use stay with what is around them', () => {
  const facts = new Facts(0n);
  const nothing = { holds: [], recent: [], listings: [], unwritten: [], ended: [], tail: [] };
  const replica = new Replica({ seq: 0n, atUs: 0n, balanceNanos: 0n, rules: 1, ...nothing }, facts);
  let seq = 0;
  const follow = (afterS: number, commands: object, rows: readonly FactsRow[] | null) => {
    const entry: EntryRow = [
      ++seq,
      (NOON + afterS * 1_000) * 1_000,
      NODE,
      { t: TIER, ...commands },
      rows,
      0,
      null,
      null,
      0,
    ];
    replica.follow(entry);
    replica.dropIdle();
    return ['key_a', 'key_b', 'grp_g'].filter((id) => facts.has(id));
  };
  const ask = (keyId: string, id: string) => ({ k: [keyId], a: [[0, id, 'm', 1, 1, 1, '1']] });
  const end = (id: string) => ({ s: [[id, 1, 1, '1', 1, 1]] });
  assert.deepEqual(follow(0, ask('key_a', 'req_a'), [row('key_a', 'grp_g'), row('grp_g')]), ['key_a', 'grp_g']);
  assert.deepEqual(follow(1, ask('key_b', 'req_b'), [row('key_b')]), ['key_a', 'key_b', 'grp_g']);
  assert.deepEqual(follow(2, end('req_b'), null), ['key_a', 'key_b', 'grp_g']);
  assert.deepEqual(follow(63, {}, null), ['key_a', 'grp_g']);
  assert.deepEqual(follow(64, end('req_a'), null), ['key_a', 'grp_g']);
  assert.deepEqual(follow(125, {}, null), []);
});
