/** Batches that nobody knows the end of: settlements count once, and admissions are given back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from '../../src/ledger/protocol.ts';
import { SharedLedgerStore } from '../../src/state/postgres/ledger-store.ts';
import { until } from '../support/wait.ts';
import { type BenchKey, LedgerBench, tokens, USD } from './bench.ts';
import type { SharedDatabase, SharedStore } from './shared-store.ts';

const HOLD = 100n;
const SPENT_BY = { user: 'alice', tag: '', app: 'curl' };

async function stage(t: { after(work: () => Promise<void>): void }, database: SharedDatabase) {
  const bench = await LedgerBench.of(t, database.openStore, { rpm: 2, tpm: 1_000, concurrency: 2 });
  await bench.addCredit(USD);
  const key = await bench.newKey();
  const id = await bench.admit(key, { holdNanos: HOLD });
  const settle: Command = {
    kind: 'settle',
    settlement: bench.settlement(id, { costNanos: 60n, completionId: 'once', spentBy: SPENT_BY, ...tokens(30, 10) }),
  };
  return { bench, store: bench.store as SharedStore, key, settle };
}

const admitOf = (bench: LedgerBench, key: BenchKey) => {
  return { kind: 'admit', request: bench.request(key, { holdNanos: HOLD, reservedTokens: 900 }) } as const;
};

/** Copies what is stored but who is connected. Returns how to restore it. */
export async function backUp(database: SharedDatabase): Promise<() => Promise<void>> {
  const tables = [...(await database.tables()), 'log', 'positions'];
  const copies = tables.map((name) => `CREATE TABLE backup.${name} AS TABLE inf_gw.${name};`);
  await database.read(`DROP SCHEMA IF EXISTS backup CASCADE; CREATE SCHEMA backup; ${copies.join(' ')}`);
  const copyBack = (name: string) =>
    `DELETE FROM inf_gw.${name}; INSERT INTO inf_gw.${name} OVERRIDING SYSTEM VALUE TABLE backup.${name};`;
  return async () => {
    await database.read(`BEGIN; ${tables.map(copyBack).join(' ')} DROP SCHEMA backup CASCADE; COMMIT`);
  };
}

/** Restores the database while `work` waits for the lock of the account, whose row the restore replaces. */
export async function restoreUnder<T>(
  database: SharedDatabase,
  restore: () => Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  await database.read('BEGIN; SELECT FROM inf_gw.account FOR UPDATE');
  const result = work();
  await until(async () => (await database.read('SELECT FROM pg_locks WHERE NOT granted')).length > 0);
  await restore();
  return result;
}

/** When the connections that decide have come to the end of their last queries; null while one is at work. */
const LAST_ANSWER = `SELECT CASE WHEN bool_and(state = 'idle') THEN max(state_change)::text END AS at FROM pg_stat_activity
  WHERE application_name = 'inf-gw first ledger'`;

/** The database carries out what is asked, and the answer is lost with the connections. `work` runs before there are others. */
async function loseAnswer(bench: LedgerBench, commands: readonly Command[], work = async () => {}): Promise<void> {
  const { database, process } = bench.store as SharedStore;
  const lastAnswer = async () => (await database.read(LAST_ANSWER))[0]?.at;
  const before = await lastAnswer();
  process.link.hold(['toClient']);
  const lost = assert.rejects(bench.process(commands), (error) => process.engine.faultOf(error) !== undefined);
  await until(async () => ![null, before].includes((await lastAnswer()) as string | null));
  process.link.cut();
  await lost;
  await work();
  process.link.pass();
}

/** The batch is decided, and the connections are lost before its flush is asked for. */
async function loseFlush({ store }: LedgerBench, commands: readonly Command[]): Promise<void> {
  const { engine, link } = (store as SharedStore).process;
  await engine.process(commands);
  link.cut();
  for (const ask of [() => engine.probe(), () => engine.flush()]) {
    await assert.rejects(
      async () => ask(),
      (error) => engine.faultOf(error) !== undefined,
    );
  }
  assert.ok(engine.isLostWithFlush(commands));
}

/** Decides once the connections are back. */
async function decideAgain(bench: LedgerBench, commands: readonly Command[]): Promise<void> {
  const { engine } = bench.store;
  await until(() =>
    bench.process(commands).then(
      () => true,
      (error) => {
        assert.ok(engine.faultOf(error), `${error}`);
        return false;
      },
    ),
  );
}

/** The settlement counts once, and the admission of its batch is gone without a trace. */
async function assertOnce(bench: LedgerBench, key: BenchKey): Promise<void> {
  assert.deepEqual(await bench.balance(), [USD - 60n, 0n]);
  assert.deepEqual(
    (await bench.store.rows('journal')).map((row) => [row.cost_nanos, row.completion_id, row.by_user]),
    [[60n, 'once', 'alice']],
  );
  const { figures } = await bench.identify(key);
  assert.deepEqual([figures.remainingRequests, figures.remainingTokens], [1, 960]);
  assert.equal((await bench.store.operator.usage.monthOf(key.id, '2026-11')).costNanos, 60n);
  await bench.admit(key, { holdNanos: HOLD });
}

const LOSSES = [
  ['the answer is lost', loseAnswer],
  ['the flush is lost', loseFlush],
] as const;

/** What is lost is lost once more. */
export function testRepeatedDoubts(database: SharedDatabase): void {
  for (const [what, lose] of LOSSES) {
    test(`a settlement counts once, where ${what}, and then that of the repetition`, async (t) => {
      const { bench, key, settle } = await stage(t, database);
      await lose(bench, [settle, admitOf(bench, key)]);
      await until(() => bench.identify(key).then(Boolean, () => false));
      await lose(bench, [settle]);
      await decideAgain(bench, [settle]);
      await assertOnce(bench, key);
    });
  }
}

export function testDoubts(database: SharedDatabase): void {
  for (const [what, lose] of LOSSES) {
    test(`a settlement counts once, and an admission with it is given back, where ${what}`, async (t) => {
      const { bench, key, settle } = await stage(t, database);
      await lose(bench, [settle, admitOf(bench, key)]);
      await decideAgain(bench, [settle]);
      await assertOnce(bench, key);
    });
  }

  test('an admission in doubt that was charged as held meanwhile costs nothing', async (t) => {
    const { bench, store, key, settle } = await stage(t, database);
    await bench.process([settle]);
    const { engine } = await store.startOther('second');
    await loseAnswer(bench, [admitOf(bench, key)], async () => {
      await store.advanceInSilence(9_000);
      // The other gateway writes what the first has decided, since that does not.
      await engine.beat();
      const [reaped] = await store.database.read('SELECT * FROM inf_gw.reap()');
      assert.deepEqual([reaped?.names, reaped?.settled], [['first'], 1n]);
    });
    await until(() => bench.identify(key).then(Boolean, () => false));
    assert.deepEqual(await bench.balance(), [USD - 60n, 0n]);
    assert.deepEqual(
      (await store.rows('journal')).map((row) => [row.outcome, row.source, row.cost_nanos]),
      [
        ['ok', 'reported', 60n],
        ['internal_error', 'counted', 0n],
      ],
    );
  });

  test('an admission that was given back is given back again where the database is restored to before', async (t) => {
    const { bench, store, key, settle } = await stage(t, database);
    await bench.process([settle]);
    let restore = async () => {};
    await loseAnswer(bench, [admitOf(bench, key)], async () => {
      // The other gateway writes what the first has decided, and the backup has it.
      const { engine } = await store.startOther('second');
      await store.advanceInSilence(2_000);
      await engine.beat();
      restore = await backUp(database);
    });
    await until(() => bench.identify(key).then(Boolean, () => false));
    await store.engine.write();
    await restore();
    await bench.identify(key);
    await store.engine.maintain();
    assert.deepEqual(await bench.balance(), [USD - 60n, 0n]);
    assert.deepEqual(
      (await store.rows('journal')).map((row) => row.cost_nanos),
      [60n],
    );
    assert.deepEqual(
      store.process.losses.map(([, requests]) => requests),
      [0],
    );
  });

  test('an admission that was repeated is charged where the database is restored to before its end', async (t) => {
    const { bench, store, key, settle } = await stage(t, database);
    await bench.process([settle]);
    const admit = admitOf(bench, key);
    await loseAnswer(bench, [admit]);
    // As the thread does where another transaction was in the way.
    await decideAgain(bench, [admit]);
    await store.engine.write();
    const restore = await backUp(database);
    await bench.settle(admit.request.requestId, { costNanos: 10n });
    await store.engine.flush();
    await restore();
    await bench.identify(key);
    await store.engine.maintain();
    assert.deepEqual(await bench.balance(), [USD - 60n - HOLD, 0n]);
    assert.deepEqual(
      store.process.losses.map(([, requests]) => requests),
      [1],
    );
    await store.operator.nodes?.acceptLosses();
  });

  test('a gateway that was taken for dead during a flush lets nothing out for a flush that was sent before', async (t) => {
    const { bench, store, key } = await stage(t, database);
    const { engine } = store;
    const send = SharedLedgerStore.prototype.flush;
    const mocked = t.mock.method(SharedLedgerStore.prototype, 'flush', async function (this: SharedLedgerStore) {
      mocked.mock.restore();
      await send.call(this);
      // Its answer is read late, after that to another batch with a flush of its own.
      await engine.process([admitOf(bench, key)]);
      bench.clock.advance(9_000);
      await database.read(`UPDATE inf_gw.nodes SET epoch = epoch + 1 WHERE name = 'first'`);
    });
    // The connections may be given up for it before the answer is read.
    await assert.rejects(bench.process([admitOf(bench, key)]), (error) => engine.faultOf(error) !== undefined);
  });

  test('a batch that waits while the database is restored is decided by what is restored', async (t) => {
    const { bench, key } = await stage(t, database);
    const restore = await backUp(database);
    await restoreUnder(database, restore, () => bench.process([admitOf(bench, key)]));
    assert.deepEqual(await bench.balance(), [USD, HOLD + HOLD]);
  });

  test('a growth that is repeated grows once', async (t) => {
    const { bench, store } = await stage(t, database);
    const [held] = await store.rows('holds');
    const growth = { requestId: held?.request_id as string, outputTokens: 40, holdNanos: 250n };
    await loseAnswer(bench, [{ kind: 'grow', growth }]);
    await decideAgain(bench, [{ kind: 'grow', growth }]);
    assert.deepEqual(await bench.balance(), [USD, 250n]);
  });
}
