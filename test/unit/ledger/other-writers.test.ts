/** An operator's change through another connection takes effect with the engine's next decision. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Bench, type BenchKey, openBench, USD } from './bench.ts';

const READY = { holdNanos: 100n };

interface Edit {
  readonly what: string;
  readonly edit: (bench: Bench, key: BenchKey) => void;
  /** The refusal after the edit; undefined if the request is admitted. */
  readonly refusal: string | undefined;
  readonly before?: (bench: Bench, key: BenchKey) => void;
}

const EDITS: readonly Edit[] = [
  {
    what: 'a key that was disabled',
    edit: (bench, key) => bench.operator.keys.setState(key.id, 'disabled'),
    refusal: 'key_disabled',
  },
  {
    what: 'a key that was deleted',
    edit: (bench, key) => bench.operator.keys.setState(key.id, 'deleted'),
    refusal: 'unknown_key',
  },
  {
    what: 'a key that was enabled again',
    before: (bench, key) => bench.operator.keys.setState(key.id, 'disabled'),
    edit: (bench, key) => bench.operator.keys.setState(key.id, 'enabled'),
    refusal: undefined,
  },
  {
    what: 'a limit on requests',
    edit: (bench, key) => bench.operator.keys.setLimits(key.id, { rpm: 1 }),
    refusal: 'requests_per_minute',
  },
  {
    what: 'a limit on tokens',
    edit: (bench, key) => bench.operator.keys.setLimits(key.id, { tpm: 15 }),
    refusal: 'tokens_per_minute',
  },
  {
    what: 'a limit on concurrent requests',
    edit: (bench, key) => bench.operator.keys.setLimits(key.id, { concurrency: 1 }),
    refusal: 'concurrency',
  },
  {
    what: 'a spend limit',
    edit: (bench, key) => bench.operator.keys.setLimits(key.id, { spendLimitNanos: 0n }),
    refusal: 'spend_limit_reached',
  },
  {
    what: 'a limit that was set to the default',
    before: (bench, key) => bench.operator.keys.setLimits(key.id, { rpm: 1 }),
    edit: (bench, key) => bench.operator.keys.setLimits(key.id, { rpm: null }),
    refusal: undefined,
  },
  {
    what: 'an allowlist',
    edit: (bench, key) => bench.operator.keys.editAllowlist(key.id, () => ['mock/other']),
    refusal: 'model_not_allowed',
  },
  {
    what: 'an allowlist that was cleared',
    before: (bench, key) => bench.operator.keys.editAllowlist(key.id, () => []),
    edit: (bench, key) => bench.operator.keys.editAllowlist(key.id, () => null),
    refusal: undefined,
  },
  { what: 'credit that was removed', edit: (bench) => bench.addCredit(-USD), refusal: 'insufficient_credit' },
  {
    what: 'credit that was added',
    before: (bench) => bench.addCredit(-USD),
    edit: (bench) => bench.addCredit(USD),
    refusal: undefined,
  },
];

describe('takes effect with the next decision:', () => {
  for (const { what, before, edit, refusal } of EDITS) {
    test(what, (t) => {
      const bench = openBench(t);
      bench.addCredit(USD);
      const key = bench.newKey();
      bench.admit(key, READY);
      before?.(bench, key);
      // The engine has cached the key as it was.
      bench.decide(bench.request(key, READY));
      edit(bench, key);
      const admission = bench.decide(bench.request(key, READY));
      assert.equal(admission.admitted ? undefined : admission.refusal.reason, refusal);
    });
  }

  test('a key that was just created, though its hash was looked up before', (t) => {
    const bench = openBench(t);
    const made = bench.newKey();
    const row = bench.rows('keys')[0] ?? {};
    const columns = Object.keys(row);
    bench.operator.database.prepare('DELETE FROM keys').run();
    assert.equal(bench.refuse(made).reason, 'unknown_key');
    bench.operator.database
      .prepare(`INSERT INTO keys (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`)
      .run(Object.values(row));
    bench.admit(made);
  });
});

test('a request in flight is settled even if its key was deleted meanwhile', (t) => {
  const bench = openBench(t);
  bench.addCredit(USD);
  const key = bench.newKey();
  const requestId = bench.admit(key, READY);
  bench.operator.keys.setState(key.id, 'deleted');
  bench.settle(requestId, { costNanos: 60n });
  assert.deepEqual(bench.operator.account.balance(), { balanceNanos: USD - 60n, heldNanos: 0n });
  assert.equal(bench.operator.usage.monthOf(key.id, '2026-11').costNanos, 60n);
});

test('credit that is added between charges is neither lost nor counted twice', (t) => {
  const bench = openBench(t);
  bench.addCredit(100n);
  const key = bench.newKey();
  for (let i = 0; i < 10; i++) {
    const requestId = bench.admit(key, { holdNanos: 100n });
    bench.addCredit(30n);
    bench.settle(requestId, { costNanos: 30n });
  }
  assert.equal(bench.operator.account.balance().balanceNanos, 100n);
  bench.admit(key, { holdNanos: 100n });
  assert.equal(bench.refuse(key, { holdNanos: 101n }).reason, 'insufficient_credit');
});
