/** What the engine has in the file before it answers, and what it counts where a month ends meanwhile. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOON, openBench, USD } from './bench.ts';

const LAST_MOMENT = Date.UTC(2026, 10, 30, 23, 59, 59, 999);

test('an admitted request has its hold in the file before it is answered', (t) => {
  const bench = openBench(t);
  bench.addCredit(USD);
  const key = bench.newKey();
  const requestId = bench.admit(key, { holdNanos: 7n, inputTokens: 11, outputTokens: 22 });
  assert.deepEqual(
    bench.rows('holds').map((row) => ({ ...row })),
    [
      {
        request_id: requestId,
        key_id: key.id,
        model: 'mock/echo',
        admitted_at_ms: BigInt(NOON),
        input_tokens: 11n,
        output_tokens: 22n,
        hold_nanos: 7n,
        price: null,
        levels: null,
        end_user: null,
      },
    ],
  );
  assert.deepEqual(bench.operator.account.balance(), { balanceNanos: USD, heldNanos: 7n });
});

test('a month is the same in memory and in the file when it changes during an admission', (t) => {
  const bench = openBench(t);
  bench.addCredit(USD);
  // The first reading of the clock in December may be any of these.
  for (let novemberReadings = 0; novemberReadings <= 3; novemberReadings++) {
    const key = bench.newKey({ spendLimitNanos: 100n });
    let readings = 0;
    bench.clock.wallMs = () => (readings++ < novemberReadings ? LAST_MOMENT : LAST_MOMENT + 1);
    const requestId = bench.admit(key);
    bench.settle(requestId, { costNanos: 100n });
    bench.clock.wallMs = () => LAST_MOMENT + 1;
    const charged = bench.operator.usage.monthOf(key.id, '2026-12').costNanos;
    const { admitted } = bench.decide(bench.request(key));
    assert.equal(admitted, charged === 0n, `after ${novemberReadings} readings December was charged ${charged}`);
  }
});

test('all commands of a batch are decided at the same moment', (t) => {
  const bench = openBench(t);
  bench.addCredit(USD);
  const key = bench.newKey();
  let tick = 0;
  bench.clock.wallMs = () => NOON + tick++;
  const commands = Array.from({ length: 3 }, () => ({ kind: 'admit', request: bench.request(key) }) as const);
  bench.engine.process(commands);
  const times = new Set(bench.rows('holds').map((row) => row.admitted_at_ms));
  assert.equal(times.size, 1);
});
