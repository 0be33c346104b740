/** A file that cannot be written: the engine takes nothing that it could not write down, and goes on afterwards. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Command } from '../../../src/ledger/protocol.ts';
import { isStorageError } from '../../../src/state/sqlite/storage-errors.ts';
import { type Bench, openBench, USD } from './bench.ts';

/** Ways to make writes fail, and to mend them. */
const FAULTS: readonly { what: string; harm: (bench: Bench) => void; mend: (bench: Bench) => void }[] = [
  {
    what: 'the file is read-only',
    harm: ({ database }) => database.pragma('query_only = ON'),
    mend: ({ database }) => database.pragma('query_only = OFF'),
  },
  {
    what: 'the disk is full',
    harm: ({ database }) => {
      const pages = database.pragma('page_count', { simple: true }) as number;
      database.pragma(`max_page_count = ${pages}`);
    },
    mend: ({ database }) => database.pragma('max_page_count = 1000000'),
  },
];

/** Admissions with names so long that their rows do not fit into the pages that are there. */
function largeBatch(bench: Bench, key: ReturnType<Bench['newKey']>): Command[] {
  return Array.from({ length: 8 }, () => ({
    kind: 'admit',
    request: bench.request(key, { holdNanos: 100n, model: `mock/${'m'.repeat(2_000)}` }),
  }));
}

/** A command that throws when all before it in its batch has been decided and written. */
const broken = (bench: Bench): Command => ({ kind: 'settle', settlement: bench.settlement('req_not_open') });

describe('a batch that cannot be written', () => {
  for (const { what, harm, mend } of FAULTS) {
    test(`changes nothing in memory and in the file, and the next one works: ${what}`, (t) => {
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
      mend(bench);
      bench.engine.process(batch);
      assert.equal(bench.rows('holds').length, 8);
      assert.deepEqual(bench.operator.account.balance(), { balanceNanos: USD - 90n, heldNanos: 800n });
      assert.equal(bench.identify(key).figures.remainingRequests, figures.remainingRequests - 8);
    });
  }

  test('gives back what its listings took', (t) => {
    const bench = openBench(t, { modelsRpm: 1 });
    const key = bench.newKey();
    assert.throws(() => bench.engine.process([{ kind: 'admit_listing', keyHash: key.hash }, broken(bench)]));
    assert.equal(bench.list(key).kind, 'admitted');
  });

  test('gives back the money that it charged', (t) => {
    const bench = openBench(t);
    bench.addCredit(100n);
    const key = bench.newKey();
    const open = bench.admit(key, { holdNanos: 10n });
    const settle: Command = { kind: 'settle', settlement: bench.settlement(open, { costNanos: 50n }) };
    assert.throws(() => bench.engine.process([settle, broken(bench)]));
    assert.equal(bench.refuse(key, { holdNanos: 91n }).reason, 'money_spoken_for');
    bench.admit(key, { holdNanos: 90n });
  });

  test('leaves requests free to be looked up, and refuses nothing but what must be written', (t) => {
    const bench = openBench(t);
    const key = bench.newKey();
    bench.database.pragma('query_only = ON');
    assert.equal(bench.identify(key).kind, 'enabled');
    assert.equal(bench.list(key).kind, 'admitted');
    assert.throws(() => bench.admit(key), isStorageError);
  });

  test('does not change what a later refusal says of the wait', (t) => {
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

  test('does not let a charge count that was taken back', (t) => {
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
