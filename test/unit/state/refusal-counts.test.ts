/**
 * Counted refusals: they are written together, add up in the file, and wait while it cannot be
 * written.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { hashKey, mintKey } from '../../../src/core/api-key.ts';
import { utcMonth } from '../../../src/core/clock.ts';
import type { CountedRefusal } from '../../../src/core/settlement.ts';
import { type Place, prepareLedger } from '../../../src/ledger/client.ts';
import { LedgerUnavailable } from '../../../src/ledger/ledger.ts';
import { bookOf } from '../../../src/state/sqlite/book.ts';
import { openDatabase } from '../../../src/state/sqlite/database.ts';
import { MIGRATIONS } from '../../../src/state/sqlite/migrations.ts';
import { isStorageError } from '../../../src/state/sqlite/storage-errors.ts';
import { bounded, until } from '../../support/wait.ts';
import { type Bench, NOON, openBench } from '../ledger/bench.ts';

/** How long another writer holds the lock: less than a batch waits for it. */
const LOCKED_MS = 200;

const BUSY: Omit<CountedRefusal, 'keyId'> = { code: 'rate_limited', reason: 'concurrency' };
const BROKE: Omit<CountedRefusal, 'keyId'> = { code: 'insufficient_credit', reason: 'insufficient_credit' };

function count(bench: Bench, keyId: string, ...refusals: readonly Omit<CountedRefusal, 'keyId'>[]): void {
  bench.engine.process(refusals.map((refusal) => ({ kind: 'count_refusal', refusal: { keyId, ...refusal } })));
}

describe('counted refusals', () => {
  test('are reported by key, code and reason once written, most frequent first', (t) => {
    const bench = openBench(t);
    const [key, other] = [bench.newKey(), bench.newKey()];
    count(bench, key.id, BROKE, BUSY, BUSY);
    bench.clock.advance(10);
    count(bench, other.id, BUSY);
    count(bench, key.id, { ...BUSY, reason: 'requests_per_minute' }, BUSY);
    assert.ok(bench.engine.hasRefusals);
    bench.engine.writeRefusals();
    assert.ok(!bench.engine.hasRefusals);
    const { usage } = bench.operator;
    assert.deepEqual(usage.refusalsOf(key.id, '2026-11'), [
      { ...BUSY, requests: 3, lastAtMs: NOON + 10 },
      { ...BROKE, requests: 1, lastAtMs: NOON },
      { ...BUSY, reason: 'requests_per_minute', requests: 1, lastAtMs: NOON + 10 },
    ]);
    assert.deepEqual(usage.refusalsOf(other.id, '2026-11'), [{ ...BUSY, requests: 1, lastAtMs: NOON + 10 }]);
    assert.deepEqual(usage.refusalsOf(key.id, '2026-10'), []);
  });

  test('add up over several writes, and each is written once', (t) => {
    const bench = openBench(t);
    const { id } = bench.newKey();
    for (let i = 0; i < 3; i++) {
      count(bench, id, BUSY, BUSY);
      bench.clock.advance(1_000);
      bench.engine.writeRefusals();
      bench.engine.writeRefusals();
    }
    const [row] = bench.operator.usage.refusalsOf(id, '2026-11');
    assert.deepEqual([row?.requests, row?.lastAtMs], [6, NOON + 2_000]);
  });

  test('count in the month of the refusal, even if written in the next', (t) => {
    const bench = openBench(t);
    const { id } = bench.newKey();
    bench.clock.wall = Date.UTC(2026, 10, 30, 23, 59, 59, 999);
    count(bench, id, BUSY);
    bench.clock.advance(1);
    count(bench, id, BUSY);
    bench.engine.writeRefusals();
    for (const month of ['2026-11', '2026-12']) {
      assert.deepEqual(
        bench.operator.usage.refusalsOf(id, month).map(({ requests }) => requests),
        [1],
        month,
      );
    }
  });

  test('keep the time of the latest one if the wall clock was set back', (t) => {
    const bench = openBench(t);
    const { id } = bench.newKey();
    count(bench, id, BUSY);
    bench.engine.writeRefusals();
    bench.clock.wall -= 3_600_000;
    count(bench, id, BUSY);
    bench.engine.writeRefusals();
    const [row] = bench.operator.usage.refusalsOf(id, '2026-11');
    assert.deepEqual([row?.requests, row?.lastAtMs], [2, NOON]);
  });

  test('wait while the file cannot be written, and are written once it can', (t) => {
    const bench = openBench(t);
    const { id } = bench.newKey();
    count(bench, id, BUSY);
    bench.database.pragma('query_only = ON');
    assert.throws(() => bench.engine.writeRefusals(), isStorageError);
    count(bench, id, BUSY);
    assert.throws(() => bench.engine.writeRefusals(), isStorageError);
    assert.ok(bench.engine.hasRefusals);
    bench.database.pragma('query_only = OFF');
    bench.engine.writeRefusals();
    assert.equal(bench.operator.usage.refusalsOf(id, '2026-11')[0]?.requests, 2);
  });
});

/** The ledger thread on a file with one key, and an operator's connection to that file. */
async function openThread(test: TestContext, place: Place = 'thread') {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-refusals-'));
  const path = join(directory, 'state.db');
  const { database } = openDatabase(path);
  // The ledger writes to the same file, and the test waits for it.
  database.pragma('busy_timeout = 10000');
  const secret = mintKey();
  const none = { rpm: null, tpm: null, concurrency: null, spendLimitNanos: null, allowlist: null };
  const change = bookOf(database).keys.create(secret, { ...none, name: 'app' }, Date.now());
  assert.ok(change.kind === 'done');
  const started = place === 'here' ? undefined : (once(process, 'worker') as Promise<[Worker]>);
  const limits = { rpm: 600, tpm: 2_000_000, concurrency: 60, modelsRpm: 6_000, journalRetentionMs: undefined };
  const running = await prepareLedger(
    { state: { kind: 'file', path }, durability: 'full', creditEnforced: false, ...limits },
    {
      onStorageFault: () => {},
      onStorageRecovered: () => {},
      onStops: () => assert.fail(),
      onDeaths: () => assert.fail(),
      onOrphans: () => assert.fail(),
      onDeath: (error) => assert.fail(error),
    },
    { place, isAhead: false },
  ).open();
  const [thread] = (await started) ?? [];
  test.after(async () => {
    await running.close();
    await thread?.terminate();
    database.close();
    rmSync(directory, { recursive: true });
  });
  const { id } = change.key;
  const refused = () => bookOf(database).usage.refusalsOf(id, utcMonth(Date.now()))[0]?.requests ?? 0;
  const request = {
    requestId: 'req_1',
    keyHash: hashKey(secret),
    model: 'mock/echo',
    reservedTokens: 1,
    inputTokens: 1,
    outputTokens: 1,
    holdNanos: 0n,
  };
  return {
    ledger: running.client,
    close: () => running.close(),
    thread,
    path,
    database,
    refused,
    request,
    refusal: { ...BUSY, keyId: id },
  };
}

describe('refusals counted by the ledger thread', () => {
  test('are in the file a moment later', async (t) => {
    const { ledger, refusal, refused } = await openThread(t);
    for (let i = 0; i < 5; i++) ledger.countRefusal(refusal);
    await until(() => refused() === 5);
  });

  test('are in the file even if it is closed at once', async (t) => {
    const { ledger, close, refusal, refused } = await openThread(t);
    for (let i = 0; i < 5; i++) ledger.countRefusal(refusal);
    await close();
    assert.equal(refused(), 5);
  });

  test('survive a storage fault, even in one batch with an admission that fails because of it', async (t) => {
    const { ledger, close, database, refusal, refused, request } = await openThread(t);
    // Another schema version is a storage fault that is noticed at once and can be reverted.
    database.pragma(`user_version = ${MIGRATIONS.length + 1}`);
    const admission = ledger.admit(request);
    ledger.countRefusal(refusal);
    await assert.rejects(admission, LedgerUnavailable);
    ledger.countRefusal(refusal);
    await assert.rejects(ledger.identify(request.keyHash), LedgerUnavailable);
    database.pragma(`user_version = ${MIGRATIONS.length}`);
    await until(() => ledger.storageFault === undefined);
    ledger.countRefusal(refusal);
    await close();
    assert.equal(refused(), 3);
  });

  for (const place of ['thread', 'here'] as const) {
    test(`count once though their batch waits for another writer, and so do the rest of it: ${place}`, async (t) => {
      const { ledger, close, database, refusal, refused, request } = await openThread(t, place);
      let isDecided = false;
      database.exec('BEGIN IMMEDIATE');
      const admission = ledger.admit(request).then((answer) => {
        isDecided = true;
        return answer;
      });
      ledger.countRefusal(refusal);
      // A ledger that blocked this thread would not let it come to this.
      await pause(LOCKED_MS);
      assert.equal(isDecided, false);
      database.exec('COMMIT');
      assert.ok((await admission).admitted);
      assert.equal(ledger.storageFault, undefined);
      await close();
      assert.equal(refused(), 1);
    });
  }

  test('do not keep the thread from ending when the file is gone', async (t) => {
    const { ledger, close, thread, path, refusal } = await openThread(t);
    renameSync(path, `${path}-elsewhere`);
    const ended = bounded(once(thread as Worker, 'exit'), 'the thread ends');
    ledger.countRefusal(refusal);
    await close();
    await ended;
  });
});
