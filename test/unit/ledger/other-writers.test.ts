/** An operator's change through another connection takes effect with the engine's next decision. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBench, USD } from './bench.ts';

const READY = { holdNanos: 100n };

test('a key that was just created is admitted, though its hash was looked up before', (t) => {
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
