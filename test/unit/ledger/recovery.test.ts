/** After a restart, open holds are settled as held and the windows are rebuilt. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Bench, openBench, USD } from './bench.ts';

/** Ends the process abruptly, and starts another one that much later. */
function crashAndStart(bench: Bench, downMs = 0): void {
  bench.database.close();
  bench.clock.advance(downMs);
  bench.clock.monotonic = 1_234;
  bench.start();
}

describe('the windows after a restart', () => {
  test('count a long request at its admission, and its tokens at its settlement', (t) => {
    const bench = openBench(t, { rpm: 1, tpm: 100 });
    const key = bench.newKey();
    const long = bench.admit(key);
    bench.clock.advance(300_000);
    bench.settle(long, { usage: { promptTokens: 50, cachedTokens: 0, completionTokens: 50 } });
    crashAndStart(bench, 10_000);
    const { figures } = bench.identify(key);
    assert.deepEqual([figures.remainingRequests, figures.resetRequestsS], [1, 0]);
    assert.deepEqual([figures.remainingTokens, figures.resetTokensS], [0, 50]);
  });

  test('contain nothing from the future if the wall clock was set back', (t) => {
    const bench = openBench(t, { rpm: 1 });
    const key = bench.newKey();
    bench.settle(bench.admit(key));
    bench.database.close();
    bench.clock.wall -= 3_600_000;
    bench.start();
    assert.deepEqual(bench.refuse(key), { reason: 'requests_per_minute', limit: 1, retryAfterS: 60 });
  });
});

test('while the ledger runs, a step of the wall clock changes nothing', (t) => {
  const bench = openBench(t, { rpm: 1 });
  const key = bench.newKey();
  bench.settle(bench.admit(key));
  bench.clock.monotonic += 30_000;
  for (const step of [-7_200_000, 14_400_000, -3_600_000]) {
    bench.clock.wall += step;
    assert.deepEqual(bench.refuse(key), { reason: 'requests_per_minute', limit: 1, retryAfterS: 30 });
  }
});

for (const [who, goOn] of [
  ['a ledger that runs while the clock comes back', () => {}],
  ['a process that takes over once the clock has come back', (bench: Bench) => bench.takeOver(1)],
] as const) {
  test(`${who} counts what was spent meanwhile as now`, (t) => {
    const bench = openBench(t);
    bench.addCredit(USD);
    const key = bench.newKey({ budgets: [{ period: '1h', limitNanos: 100n }] });
    bench.clock.wall += 3 * 3_600_000;
    bench.settle(bench.admit(key, { holdNanos: 100n }), { costNanos: 100n });
    bench.clock.wall -= 3 * 3_600_000;
    goOn(bench);
    assert.equal(bench.refuse(key).reason, 'spend_limit_reached');
    bench.clock.advance(3_600_000 + 36_000);
    bench.admit(key);
  });
}

test('a sliding budget keeps no more steps than ever after the clock has come back', (t) => {
  const bench = openBench(t);
  const key = bench.newKey({ budgets: [{ period: '10s', limitNanos: USD }] });
  const spend = () => bench.settle(bench.admit(key), { costNanos: 1n });
  bench.clock.wall += 3_600_000;
  spend();
  bench.clock.wall -= 3_600_000;
  for (let i = 0; i < 250; i++) {
    bench.clock.advance(100);
    spend();
  }
  const steps = bench.operator.database.prepare('SELECT count(*) FROM budget_steps').pluck().get();
  assert.equal(steps, 200);
});

test('the first start reports that it created the file, and a later one does not', (t) => {
  const bench = openBench(t);
  assert.deepEqual(bench.summary, { created: true, balanceNanos: 0n, keys: 0, recoveredHolds: 0 });
  bench.newKey();
  bench.operator.keys.setState(bench.newKey().id, 'deleted');
  crashAndStart(bench);
  assert.deepEqual(bench.summary, { created: false, balanceNanos: 0n, keys: 1, recoveredHolds: 0 });
});

test('after a takeover, a leash counts what the runs inside of it have in flight, and its keys are known as such', (t) => {
  const bench = openBench(t);
  bench.addCredit(USD);
  const budgets = [{ period: 'total', limitNanos: 100n }];
  const outer = bench.newKey({ budgets, isLeashed: true });
  const inner = bench.newKey({ budgets, isLeashed: true, parentId: outer.id });
  bench.settle(bench.admit(inner, { holdNanos: 40n }), { costNanos: 40n });
  const open = bench.admit(inner, { holdNanos: 60n });
  bench.takeOver(1_000);
  assert.deepEqual(bench.refuse(outer), { reason: 'money_spoken_for', retryAfterS: 1 });
  bench.settle(open, { costNanos: 59n });
  const identity = bench.identify(outer);
  assert.equal(identity.kind === 'enabled' && identity.isLeashed, true);
  bench.settle(bench.admit(outer, { holdNanos: 1n }), { costNanos: 1n });
  assert.equal(bench.refuse(inner).reason, 'spend_limit_reached');
});
