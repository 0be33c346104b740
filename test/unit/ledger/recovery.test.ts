/** After a restart, open holds are settled as held and the windows are rebuilt. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Bench, NOON, openBench, USD } from './bench.ts';

/** Ends the process abruptly, and starts another one that much later. */
function crashAndStart(bench: Bench, downMs = 0): void {
  bench.database.close();
  bench.clock.advance(downMs);
  bench.clock.monotonic = 1_234;
  bench.start();
}

describe('a request that a crash left open', () => {
  test('is charged as held, with the tokens of its hold', (t) => {
    const bench = openBench(t);
    bench.addCredit(USD);
    const key = bench.newKey();
    const requestId = bench.admit(key, { holdNanos: 70n, inputTokens: 30, outputTokens: 40 });
    crashAndStart(bench, 5_000);
    assert.equal(bench.summary.recoveredHolds, 1);
    assert.equal(bench.summary.balanceNanos, USD - 70n);
    assert.deepEqual(bench.rows('holds'), []);
    const [row] = bench.rows('journal');
    assert.equal(row?.request_id, requestId);
    assert.equal(row?.source, 'held');
    assert.equal(row?.outcome, 'interrupted');
    assert.deepEqual([row?.prompt_tokens, row?.completion_tokens, row?.cost_nanos], [30n, 40n, 70n]);
    assert.deepEqual([row?.admitted_at_ms, row?.settled_at_ms], [BigInt(NOON), BigInt(NOON + 5_000)]);
    const report = bench.operator.usage.report(EVERYTHING).rows[0];
    assert.deepEqual([report?.requests, report?.errors, report?.costNanos], [1, 1, 70n]);
  });

  test('is settled once, however often the gateway starts', (t) => {
    const bench = openBench(t);
    bench.addCredit(USD);
    bench.admit(bench.newKey(), { holdNanos: 70n });
    crashAndStart(bench);
    crashAndStart(bench);
    assert.equal(bench.summary.recoveredHolds, 0);
    assert.equal(bench.rows('journal').length, 1);
    assert.equal(bench.operator.account.balance().balanceNanos, USD - 70n);
  });

  test('no longer takes a slot, and its charge counts against the spend limit', (t) => {
    const bench = openBench(t, { concurrency: 1 });
    bench.addCredit(USD);
    const key = bench.newKey({ spendLimitNanos: 100n });
    bench.admit(key, { holdNanos: 99n });
    crashAndStart(bench);
    const next = bench.admit(key, { holdNanos: 1n });
    bench.settle(next, { costNanos: 1n });
    assert.equal(bench.refuse(key).reason, 'spend_limit_reached');
  });

  test('is charged in the month of its admission', (t) => {
    const bench = openBench(t);
    bench.clock.wall = Date.UTC(2026, 10, 30, 23, 59);
    bench.addCredit(USD);
    const key = bench.newKey();
    bench.admit(key, { holdNanos: 70n });
    crashAndStart(bench, 3_600_000);
    assert.equal(bench.operator.usage.monthOf(key.id, '2026-11').costNanos, 70n);
    assert.equal(bench.operator.usage.monthOf(key.id, '2026-12').costNanos, 0n);
  });
});

const EVERYTHING = { by: undefined, keyId: undefined, model: undefined, sinceMs: undefined, untilMs: undefined };

describe('the windows after a restart', () => {
  test('contain what was admitted and settled in the last minute, at the original times', (t) => {
    const bench = openBench(t, { rpm: 3, tpm: 100 });
    const [key, other] = [bench.newKey(), bench.newKey()];
    bench.settle(bench.admit(key), { usage: { promptTokens: 20, cachedTokens: 0, completionTokens: 10 } });
    bench.clock.advance(20_000);
    bench.settle(bench.admit(key), { usage: { promptTokens: 30, cachedTokens: 0, completionTokens: 10 } });
    bench.settle(bench.admit(other));
    crashAndStart(bench, 15_000);
    const { figures } = bench.identify(key);
    assert.deepEqual([figures.remainingRequests, figures.resetRequestsS], [1, 45]);
    assert.deepEqual([figures.remainingTokens, figures.resetTokensS], [30, 45]);
    assert.equal(bench.identify(other).figures.remainingRequests, 2);
    assert.deepEqual(bench.refuse(key, { reservedTokens: 31 }), {
      reason: 'tokens_per_minute',
      limit: 100,
      retryAfterS: 25,
    });
    bench.clock.advance(25_000);
    bench.admit(key, { reservedTokens: 31 });
  });

  test('are empty if the gateway was down for a minute', (t) => {
    const bench = openBench(t, { rpm: 1 });
    const key = bench.newKey();
    bench.settle(bench.admit(key));
    crashAndStart(bench, 60_000);
    bench.admit(key);
  });

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
