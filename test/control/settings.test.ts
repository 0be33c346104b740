/** A change of the ledger's settings is applied with the batch that it came in, or not at all. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBench } from '../unit/ledger/bench.ts';

const SETTINGS = {
  rpm: 7,
  tpm: 700,
  concurrency: 7,
  modelsRpm: 7,
  creditEnforced: false,
  journalRetentionMs: 86_400_000,
};

test('a batch that fails keeps the old settings, and the next one applies the new ones', (t) => {
  const bench = openBench(t);
  const key = bench.newKey();
  const before = bench.identify(key).figures;
  const { journalRetentionMs } = bench.engine;
  const change = { kind: 'configure', settings: SETTINGS } as const;
  const admission = { kind: 'admit', request: bench.request(key, { holdNanos: 0n }) } as const;
  // Throws after the commands before it have been decided.
  const broken = { kind: 'settle', settlement: bench.settlement('req_not_open') } as const;
  assert.throws(() => bench.engine.process([change, admission, broken]), /is not open/);
  assert.deepEqual(bench.identify(key).figures, before);
  assert.equal(bench.engine.journalRetentionMs, journalRetentionMs);
  bench.engine.process([change, admission]);
  const { limitRequests, remainingRequests, limitTokens } = bench.identify(key).figures;
  assert.deepEqual([limitRequests, remainingRequests, limitTokens], [7, 6, 700]);
  assert.equal(bench.engine.journalRetentionMs, SETTINGS.journalRetentionMs);
});
