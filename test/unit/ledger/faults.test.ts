/**
 * A file that cannot be written: the engine admits nothing that it cannot write, and recovers
 * afterwards.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Command } from '../../../src/ledger/protocol.ts';
import { isStorageError } from '../../../src/state/sqlite/storage-errors.ts';
import { type Bench, openBench, USD } from './bench.ts';

/** Ways to make writes fail, and to repair them. */
const WRITE_FAILURES: readonly { what: string; harm: (bench: Bench) => void; repair: (bench: Bench) => void }[] = [
  {
    what: 'the file is read-only',
    harm: ({ database }) => database.pragma('query_only = ON'),
    repair: ({ database }) => database.pragma('query_only = OFF'),
  },
  {
    what: 'the disk is full',
    harm: ({ database }) => {
      const pages = database.pragma('page_count', { simple: true }) as number;
      database.pragma(`max_page_count = ${pages}`);
    },
    repair: ({ database }) => database.pragma('max_page_count = 1000000'),
  },
];

/** Admissions with model names so long that their rows do not fit into the existing pages. */
function largeBatch(bench: Bench, key: ReturnType<Bench['newKey']>): Command[] {
  return Array.from({ length: 8 }, () => ({
    kind: 'admit',
    request: bench.request(key, { holdNanos: 100n, model: `mock/${'m'.repeat(2_000)}` }),
  }));
}

/** A command that throws after all commands before it in the batch were decided and written. */
const broken = (bench: Bench): Command => ({ kind: 'settle', settlement: bench.settlement('req_not_open') });

describe('a batch that cannot be written', () => {
  for (const { what, harm, repair } of WRITE_FAILURES) {
    test(`changes nothing in memory and in the file, and the next one succeeds: ${what}`, (t) => {
      const bench = openBench(t);
      bench.addCredit(USD);
      const key = bench.newKey({ spendLimitNanos: 1_000n });
      const open = bench.admit(key, { holdNanos: 100n, reservedTokens: 50 });
      const [file, { figures }] = [bench.dump(), bench.identify(key)];
      harm(bench);
      const batch: Command[] = [
        { kind: 'settle', settlement: bench.settlement(open, { costNanos: 90n }) },
        { kind: 'admit_listing', keyHash: key.hash },
        ...largeBatch(bench, key),
      ];
      assert.throws(() => bench.engine.process(batch), isStorageError);
      assert.deepEqual(bench.dump(), file);
      assert.deepEqual(bench.identify(key).figures, figures);
      repair(bench);
      bench.engine.process(batch);
      assert.equal(bench.rows('holds').length, 8);
      assert.deepEqual(bench.operator.account.balance(), { balanceNanos: USD - 90n, heldNanos: 800n });
      assert.equal(bench.identify(key).figures.remainingRequests, figures.remainingRequests - 8);
    });
  }

  test('undoes its listings', (t) => {
    const bench = openBench(t, { modelsRpm: 1 });
    const key = bench.newKey();
    assert.throws(() => bench.engine.process([{ kind: 'admit_listing', keyHash: key.hash }, broken(bench)]));
    assert.equal(bench.list(key).kind, 'admitted');
  });

  test('undoes its counts of tokens, begun or ended', (t) => {
    const bench = openBench(t, { concurrency: 1 });
    const key = bench.newKey();
    const begin: Command = { kind: 'admit_listing', keyHash: key.hash, countId: 'c1' };
    assert.throws(() => bench.engine.process([begin, broken(bench)]));
    bench.engine.process([begin]);
    assert.throws(() => bench.engine.process([{ kind: 'end_count', countId: 'c1' }, broken(bench)]));
    assert.equal(bench.refuse(key).reason, 'concurrency');
    bench.engine.process([{ kind: 'end_count', countId: 'c1' }]);
    bench.admit(key);
  });

  test('undoes its charges', (t) => {
    const bench = openBench(t);
    bench.addCredit(100n);
    const key = bench.newKey();
    const open = bench.admit(key, { holdNanos: 10n });
    const settle: Command = { kind: 'settle', settlement: bench.settlement(open, { costNanos: 50n }) };
    assert.throws(() => bench.engine.process([settle, broken(bench)]));
    assert.equal(bench.refuse(key, { holdNanos: 91n }).reason, 'money_spoken_for');
    bench.admit(key, { holdNanos: 90n });
  });

  test('fails only what must be written: keys are still identified, and listings admitted', (t) => {
    const bench = openBench(t);
    const key = bench.newKey();
    bench.database.pragma('query_only = ON');
    assert.equal(bench.identify(key).kind, 'enabled');
    assert.equal(bench.list(key).kind, 'admitted');
    assert.throws(() => bench.admit(key), isStorageError);
  });

  test('does not change the wait that a later refusal names', (t) => {
    const bench = openBench(t, { tpm: 1_000 });
    const key = bench.newKey();
    const first = bench.admit(key, { reservedTokens: 600 });
    bench.clock.advance(20_000);
    bench.admit(key, { reservedTokens: 400 });
    const before = bench.refuse(key, { reservedTokens: 400 });
    assert.deepEqual(before, { reason: 'tokens_per_minute', limit: 1_000, retryAfterS: 40 });
    const settle: Command = { kind: 'settle', settlement: bench.settlement(first) };
    assert.throws(() => bench.engine.process([settle, broken(bench)]));
    assert.deepEqual(bench.refuse(key, { reservedTokens: 400 }), before);
  });

  test('does not count a charge that was rolled back', (t) => {
    const bench = openBench(t);
    bench.addCredit(100n);
    const key = bench.newKey({ spendLimitNanos: 50n });
    const open = bench.admit(key, { holdNanos: 10n });
    const settle: Command = { kind: 'settle', settlement: bench.settlement(open, { costNanos: 50n }) };
    const admit: Command = { kind: 'admit', request: bench.request(key, { holdNanos: 10n }) };
    assert.throws(() => bench.engine.process([settle, admit, broken(bench)]));
    bench.admit(key, { holdNanos: 10n });
    bench.settle(open, { costNanos: 50n });
    assert.equal(bench.refuse(key).reason, 'spend_limit_reached');
    assert.equal(bench.operator.account.balance().balanceNanos, 50n);
  });
});
