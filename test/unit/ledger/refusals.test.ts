/** A refusal changes nothing in the ledger: each of them on a real file. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AdmissionRequest, Refusal } from '../../../src/ledger/ledger.ts';
import { type Bench, type BenchKey, openBench, USD } from './bench.ts';

/**
 * Each way to be refused, with a key limited to ten requests, 1,000 tokens and two slots, and ten
 * USD of credit.
 */
const REFUSALS: readonly {
  reason: Refusal['reason'];
  prepare: (bench: Bench, key: BenchKey) => void;
  request?: Partial<AdmissionRequest>;
}[] = [
  { reason: 'unknown_key', prepare: (bench, key) => bench.operator.keys.setState(key.id, 'deleted') },
  { reason: 'unknown_key', prepare: () => {}, request: { keyHash: '00' } },
  { reason: 'key_disabled', prepare: (bench, key) => bench.operator.keys.setState(key.id, 'disabled') },
  { reason: 'model_not_allowed', prepare: (bench, key) => bench.operator.keys.editAllowlist(key.id, () => []) },
  {
    reason: 'spend_limit_reached',
    prepare: (bench, key) => bench.operator.keys.setLimits(key.id, { spendLimitNanos: 0n }),
  },
  { reason: 'insufficient_credit', prepare: () => {}, request: { holdNanos: 10n * USD + 1n } },
  { reason: 'larger_than_token_limit', prepare: () => {}, request: { reservedTokens: 1_001 } },
  {
    reason: 'requests_per_minute',
    prepare: (bench, key) => {
      for (let i = 0; i < 10; i++) bench.settle(bench.admit(key));
    },
  },
  {
    reason: 'tokens_per_minute',
    prepare: (bench, key) => void bench.admit(key, { reservedTokens: 991 }),
  },
  {
    reason: 'concurrency',
    prepare: (bench, key) => {
      bench.admit(key);
      bench.admit(key);
    },
  },
  {
    reason: 'money_spoken_for',
    prepare: (bench, key) => void bench.admit(key, { holdNanos: 9n * USD }),
    request: { holdNanos: USD + 1n },
  },
];

describe('a refusal takes no window, no slot and no money:', () => {
  for (const { reason, prepare, request } of REFUSALS) {
    test(`${reason}${request?.keyHash === undefined ? '' : ', for a key that never existed'}`, (t) => {
      const bench = openBench(t, { rpm: 10, tpm: 1_000, concurrency: 2 });
      bench.addCredit(10n * USD);
      const key = bench.newKey();
      prepare(bench, key);
      const [file, { figures }] = [bench.dump(), bench.identify(key)];
      for (let i = 0; i < 3; i++) assert.equal(bench.refuse(key, request).reason, reason);
      assert.deepEqual(bench.dump(), file);
      assert.deepEqual(bench.identify(key).figures, figures);
    });
  }

  test('and leaves the slot free', (t) => {
    const bench = openBench(t, { concurrency: 1, tpm: 100 });
    const key = bench.newKey();
    for (let i = 0; i < 5; i++) bench.refuse(key, { reservedTokens: 101 });
    bench.admit(key, { reservedTokens: 100 });
  });
});
