/** Gateways among each other: names, leaving, and what is taken for dead. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mintKey } from '../../src/core/api-key.ts';
import { DAY_MS } from '../../src/core/clock.ts';
import { UserError } from '../../src/core/errors.ts';
import type { Admission } from '../../src/ledger/ledger.ts';
import type { Answer, Command } from '../../src/ledger/protocol.ts';
import { SETTLEMENT } from '../../src/state/journal.ts';
import { NO_USER_LIMITS } from '../../src/state/levels.ts';
import { until } from '../support/wait.ts';
import { LedgerBench, NOON, tokens, USD } from './bench.ts';
import type { SharedDatabase, SharedProcess, SharedStore } from './shared-store.ts';

/** Of a key: so its steps are compared with the journal. */
const WINDOW = { period: '1h', limitNanos: USD };
/** Who the late request was for. */
const LATE = { user: '', tag: '', app: 'curl' };

/** Two gateways, and a key that both serve. */
async function pair(t: { after(work: () => Promise<void>): void }, database: SharedDatabase, spendLimitNanos = 500n) {
  const bench = await LedgerBench.of(t, database.openStore, { rpm: 100, tpm: 10_000 });
  const store = bench.store as SharedStore;
  await bench.addCredit(USD);
  return {
    bench,
    store,
    other: await store.startOther('second'),
    key: await bench.newKey({ spendLimitNanos, budgets: [WINDOW] }),
  };
}

/** The sums of a report: name, requests and cost. */
async function costsOf({ operator }: SharedStore, by: 'user' | 'app' | 'source') {
  const everything = { keyId: undefined, model: undefined, sinceMs: undefined, untilMs: undefined };
  const { rows } = await operator.usage.report({ ...everything, by });
  return rows.map((row) => [row[by], row.requests, row.costNanos]);
}

/** The second gateway is silent for too long, and another one notices. Returns how many requests were settled. */
async function takeForDead(store: SharedStore): Promise<bigint> {
  // In one transaction, or it could be heard of in between.
  await store.database.read('BEGIN');
  await store.database.read(`UPDATE inf_gw.nodes SET alive_us = alive_us - 8000001 WHERE name = 'second'`);
  const [row] = await store.database.read('SELECT * FROM inf_gw.reap()');
  await store.database.read('COMMIT');
  assert.deepEqual(row?.names, ['second']);
  return row?.settled as bigint;
}

/** Decides as soon as the gateway takes part again. */
async function onceBack(bench: LedgerBench, { engine }: SharedProcess, commands: readonly Command[]) {
  let answers: readonly Answer[] = [];
  await until(async () => {
    try {
      answers = await bench.process(commands, engine);
      return true;
    } catch (error) {
      assert.ok(engine.faultOf(error), `${error}`);
      return false;
    }
  });
  return answers;
}

async function admitOn(bench: LedgerBench, process: SharedProcess, request: ReturnType<LedgerBench['request']>) {
  const [answer] = await bench.process([{ kind: 'admit', request }], process.engine);
  assert.ok((answer as { admitted: boolean }).admitted);
  return request.requestId;
}

const joinBy = (database: SharedDatabase, instance: string) =>
  database.read(`SELECT * FROM inf_gw.join_node('second', $1, '0', '127.0.0.1:1', 0, 1)`, [instance]);

export function testNodes(database: SharedDatabase): void {
  test('a name that a living gateway has is refused, with the place of that gateway', async (t) => {
    const { store } = await pair(t, database);
    const start = store.startOther('second').then(
      () => undefined,
      (error: unknown) => error,
    );
    let isDone = false;
    void start.then(() => {
      isDone = true;
    });
    // It waits for a sign of life, which is one if the clock goes on.
    await until(async () => {
      await store.advanceInSilence(20);
      return isDone;
    });
    const error = await start;
    assert.ok(error instanceof UserError, `${error}`);
    assert.match(error.message, /a gateway named second is already running on this database, at 127.0.0.1:0/);
  });

  test('a gateway that leaves frees its name at once, and its open requests are settled as held', async (t) => {
    const { bench, store, other, key } = await pair(t, database);
    const id = await admitOn(bench, other, bench.request(key, { holdNanos: 70n }));
    await assert.rejects(joinBy(database, 'another process'), { code: 'IG002', hint: '127.0.0.1:0' });
    await other.close();
    // By then the gateway beside it may have settled the request already.
    await joinBy(database, 'another process');
    const [row] = await store.rows('journal');
    assert.deepEqual([row?.request_id, row?.source, row?.cost_nanos], [id, 'held', 70n]);
    assert.deepEqual(await bench.balance(), [USD - 70n, 0n]);
  });

  test('a process of the same name settles what an earlier one left open, and nothing of other gateways', async (t) => {
    const { bench, store, other, key } = await pair(t, database);
    const mine = await bench.admit(key, { holdNanos: 40n });
    const theirs = await admitOn(bench, other, bench.request(key, { holdNanos: 70n }));
    await store.crash(8_001);
    assert.equal(store.summary.recoveredHolds, 1);
    assert.deepEqual(
      (await store.rows('journal')).map((row) => [row.request_id, row.source]),
      [[mine, 'held']],
    );
    await onceBack(bench, other, [{ kind: 'settle', settlement: bench.settlement(theirs, { costNanos: 5n }) }]);
    assert.deepEqual(await bench.balance(), [USD - 45n, 0n]);
  });

  test('limits, edits and money are those of all gateways', async (t) => {
    const { bench, other, key } = await pair(t, database);
    await bench.store.operator.keys.setLimits(key.id, { rpm: 2, concurrency: 2, spendLimitNanos: null });
    const first = await bench.admit(key, { holdNanos: 30n });
    await admitOn(bench, other, bench.request(key, { holdNanos: 30n }));
    assert.equal((await bench.refuse(key)).reason, 'requests_per_minute');
    await bench.settle(first, { costNanos: 30n, ...tokens(100) });
    const [identity] = await bench.process([{ kind: 'identify', keyHash: key.hash }], other.engine);
    assert.equal((identity as { figures: { remainingTokens: number } }).figures.remainingTokens, 10_000 - 110);
  });

  test('hear of the keys that go with one that is deleted, and not of those that had gone before', async (t) => {
    const { store } = await pair(t, database);
    const { keys } = store.operator;
    const make = async (name: string, parentId: string | null = null) => {
      const change = await keys.create(mintKey(), { name, parentId, mayCreate: true }, NOON);
      assert.ok(change.kind === 'done');
      return change.key.id;
    };
    const outer = await make('outer');
    const [gone, living] = [await make('gone', outer), await make('living', outer)];
    await keys.setState(gone, 'deleted');
    await keys.setState(outer, 'deleted');
    const [edit] = await database.read('SELECT facts FROM inf_gw.log WHERE node_id = 0 ORDER BY seq DESC LIMIT 1');
    const heard = (JSON.parse(edit?.facts as string) as { id: string }[]).map(({ id }) => id);
    assert.deepEqual(heard.toSorted(), [outer, living].toSorted());
  });

  test('add up the old days of end users in one order: of two that waited for each other, one would fail', async (t) => {
    const { store } = await pair(t, database);
    const figures = '1, 0, 0, 0, 0, 0, 1';
    await database.read('BEGIN');
    await database.read(
      `INSERT INTO inf_gw.usage_months VALUES ('2026-11', 'key_x', 'm', 'reported', ${figures}, $1)`,
      [NOON],
    );
    await database.read(`INSERT INTO inf_gw.budgets (key_id, period, limit_nanos) VALUES ('key_x/', 'total', 1)`);
    await database.read(`INSERT INTO inf_gw.level_days
      SELECT 'key_x/' || md5(i::text), '2026-08-0' || (i % 9 + 1), ${figures} FROM generate_series(1, 300) i`);
    await database.read('SELECT inf_gw.drop_idle_users(1000)');
    const written = await database.read('SELECT level_id FROM inf_gw.level_months ORDER BY ctid');
    await database.read('ROLLBACK');
    const ids = written.map(({ level_id: id }) => id);
    assert.equal(ids.length, 300);
    assert.deepEqual(ids, ids.toSorted());
    assert.equal(await store.count('level_months'), 0);
  });

  test('one whose signs of life do not get through says so at once, admits nothing until they do, and ends what it has in flight', async (t) => {
    const { bench, other, key } = await pair(t, database);
    const id = await admitOn(bench, other, bench.request(key, { holdNanos: 40n }));
    const { opened } = other.link;
    await database.read(`CREATE FUNCTION stage.mute() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'no room' USING ERRCODE = 'disk_full';
      END $$;
      CREATE TRIGGER mute BEFORE UPDATE OF alive_us ON inf_gw.nodes FOR EACH ROW WHEN (NEW.name = 'second')
        EXECUTE FUNCTION stage.mute()`);
    const { engine } = other;
    const isFull = (error: unknown) => /the disk .* is full/.test(engine.faultOf(error)?.message ?? '');
    const admission = { kind: 'admit', request: bench.request(key) } as const;
    try {
      await until(() => other.faults.length > 0);
      assert.match(other.faults[0] ?? '', /the disk .* is full/);
      assert.equal(engine.fault?.message, other.faults[0]);
      await assert.rejects(bench.process([admission], engine), isFull);
      await assert.rejects(engine.probe(), isFull);
      await bench.process([{ kind: 'settle', settlement: bench.settlement(id, { costNanos: 5n }) }], engine);
    } finally {
      await database.read('DROP FUNCTION stage.mute CASCADE');
    }
    await engine.probe();
    assert.equal(engine.fault, undefined);
    await admitOn(bench, other, bench.request(key, { holdNanos: 7n }));
    assert.deepEqual(await bench.balance(), [USD - 5n, 7n]);
    assert.equal(other.link.opened, opened);
  });

  test('one that cannot settle what a dead one has left is heard of all the same, and goes on', async (t) => {
    const { bench, store, other, key } = await pair(t, database);
    const left = await admitOn(bench, other, bench.request(key, { holdNanos: 40n }));
    await other.engine.write();
    await database.read(`CREATE FUNCTION stage.keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'no room' USING ERRCODE = 'disk_full';
      END $$;
      CREATE TRIGGER keep BEFORE DELETE ON inf_gw.holds FOR EACH ROW EXECUTE FUNCTION stage.keep()`);
    try {
      await other.kill();
      await store.advanceInSilence(9_000);
      // It looks for dead ones once it has listened for a while.
      const now = performance.now.bind(performance);
      t.mock.method(performance, 'now', () => now() + 11_000);
      await store.engine.probe();
      assert.equal(store.engine.fault, undefined);
      await bench.admit(key);
    } finally {
      await database.read('DROP FUNCTION stage.keep CASCADE');
    }
    await until(async () => (await store.rows('journal')).length > 0);
    assert.equal((await store.rows('journal'))[0]?.request_id, left);
    assert.deepEqual(store.process.faults, []);
  });

  test('one that cannot write what it has decided says so, although nobody waits for that', async (t) => {
    const { bench, store, other, key } = await pair(t, database);
    await store.whileBroken(async () => {
      await admitOn(bench, other, bench.request(key));
      await until(() => /the disk .* is full/.test(other.faults.join()));
    });
    await other.engine.probe();
    assert.equal((await store.rows('holds')).length, 1);
  });

  describe('a gateway that is taken for dead', () => {
    test('gets no decision until it has joined again, and its late settlement corrects the row', async (t) => {
      const { bench, store, other, key } = await pair(t, database);
      const mine = await bench.admit(key, { holdNanos: 40n });
      const theirs = await admitOn(bench, other, bench.request(key, { user: 'zoe', holdNanos: 460n }));
      assert.equal(await takeForDead(store), 1n);
      assert.deepEqual(await bench.balance(), [USD - 460n, 40n]);
      assert.deepEqual(await costsOf(store, 'user'), [['zoe', 1, 460n]]);
      await assert.rejects(bench.process([{ kind: 'identify', keyHash: key.hash }], other.engine), (error) => {
        return other.engine.faultOf(error) !== undefined;
      });
      assert.equal((await bench.refuse(key)).reason, 'money_spoken_for');
      const settlement = bench.settlement(theirs, {
        costNanos: 90n,
        completionId: 'late',
        spentBy: { ...LATE, user: 'zoe' },
        ...tokens(700, 20),
      });
      await store.advance(40_000);
      await onceBack(bench, other, [{ kind: 'settle', settlement }]);
      await onceBack(bench, other, [{ kind: 'settle', settlement }]).catch(() => {});
      const [row, ...more] = await store.rows('journal');
      assert.deepEqual(more, []);
      assert.equal(row?.admitted_at_ms, BigInt(NOON));
      assert.deepEqual(
        [row?.outcome, row?.source, row?.cost_nanos, row?.hold_nanos, row?.completion_id, row?.by_app],
        ['ok', 'reported', 90n, 460n, 'late', 'curl'],
      );
      assert.deepEqual(await bench.balance(), [USD - 90n, 40n]);
      assert.deepEqual(await costsOf(store, 'source'), [['reported', 1, 90n]]);
      assert.deepEqual(await costsOf(store, 'user'), [['zoe', 1, 90n]]);
      assert.deepEqual(await costsOf(store, 'app'), [['curl', 1, 90n]]);
      // A sliding budget has what was charged now, and no more of what was held before.
      const steps = await store.database.read('SELECT at_ms, cost_nanos FROM inf_gw.budget_steps WHERE cost_nanos > 0');
      assert.deepEqual(steps, [{ at_ms: BigInt(NOON + 36_000), cost_nanos: 90n }]);
      // In the window, too, what it used stands for what was held, dated now.
      const { figures } = await bench.identify(key);
      assert.deepEqual([figures.remainingTokens, figures.resetTokensS], [10_000 - 10 - 720, 60]);
      await bench.settle(mine, { costNanos: 0n });
      await bench.admit(key, { holdNanos: 1n });
    });

    test('lets no admission out that the others have given up, and takes its charge back', async (t) => {
      const { bench, store, other, key } = await pair(t, database);
      await bench.process([{ kind: 'identify', keyHash: key.hash }], other.engine);
      const entries = async () => (await database.read('SELECT seq FROM inf_gw.account'))[0]?.seq as bigint;
      const before = await entries();
      other.link.hold(['toClient']);
      const admission = { kind: 'admit', request: bench.request(key, { user: 'zoe', holdNanos: 70n }) } as const;
      const answer = other.engine.process([admission]);
      await until(async () => (await entries()) > before);
      await store.advance(2_500);
      await store.engine.probe();
      await store.engine.beat();
      assert.equal(await takeForDead(store), 1n);
      assert.deepEqual(await bench.balance(), [USD - 70n, 0n]);
      other.link.pass();
      // It is admitted as of its entry, and nobody was told: a flush comes before, since what came with the answer is old.
      assert.equal(((await answer)[0] as Admission).admitted, true);
      await assert.rejects(other.engine.flush(), (error) =>
        /for dead/.test(other.engine.faultOf(error)?.message ?? ''),
      );
      assert.ok(other.engine.isLostWithFlush([admission]));
      await onceBack(bench, other, [{ kind: 'identify', keyHash: key.hash }]);
      assert.deepEqual(await bench.balance(), [USD, 0n]);
      assert.deepEqual(
        (await store.rows('journal')).map((row) => [row.outcome, row.cost_nanos]),
        [['internal_error', 0n]],
      );
      assert.deepEqual(await costsOf(store, 'user'), [['zoe', 1, 0n]]);
    });

    test('corrects the month of the admission, also in the next one', async (t) => {
      const { bench, store, other, key } = await pair(t, database);
      await store.advance(Date.UTC(2026, 10, 30, 23, 59, 59) - NOON);
      const id = await admitOn(bench, other, bench.request(key, { holdNanos: 400n }));
      await store.advance(10_000);
      await bench.settle(await bench.admit(key, { holdNanos: 7n }), { costNanos: 7n });
      await takeForDead(store);
      await onceBack(bench, other, [{ kind: 'settle', settlement: bench.settlement(id, { costNanos: 90n }) }]);
      const { usage } = store.operator;
      assert.equal((await usage.monthOf(key.id, '2026-11')).costNanos, 90n);
      assert.equal((await usage.monthOf(key.id, '2026-12')).costNanos, 7n);
    });

    test('corrects what its end users were booked more than a month ago where that is still known', async (t) => {
      const { bench, store, other } = await pair(t, database);
      const key = await bench.newKey({ userLimits: { ...NO_USER_LIMITS, rpm: 100 } });
      const total = { ...NO_USER_LIMITS, budgets: [{ period: 'total', limitNanos: USD }] };
      const kim = { ...total, ownerId: key.id, name: 'kim', state: 'enabled' } as const;
      await store.operator.groups.setUser(kim, bench.clock.wallMs());
      const late: string[] = [];
      // Each has another request of that day; none is left of alice's.
      for (const user of ['kim', 'alice']) {
        await bench.settle(await bench.admit(key, { user, holdNanos: 10n }), { costNanos: 10n });
        late.push(await admitOn(bench, other, bench.request(key, { user, holdNanos: 70n })));
      }
      // He has nothing but that one.
      await store.operator.groups.setUser({ ...kim, name: 'lee' }, bench.clock.wallMs());
      late.push(await admitOn(bench, other, bench.request(key, { user: 'lee', holdNanos: 70n })));
      assert.equal(await takeForDead(store), 3n);
      await store.advance(70 * DAY_MS);
      await bench.settle(await bench.admit(key, { holdNanos: 1n }), { costNanos: 1n });
      while (await store.engine.dropOldRows());
      const settle = (id: string) => bench.settlement(id, { costNanos: 30n });
      await onceBack(
        bench,
        other,
        late.map((id) => ({ kind: 'settle', settlement: settle(id) })),
      );
      await store.assertBooks();
      while (await store.engine.dropOldRows());
      const sums = `SELECT level_id, month, requests, cost_nanos FROM inf_gw.level_months ORDER BY level_id`;
      assert.deepEqual(await store.database.read(sums), [
        { level_id: `${key.id}/kim`, month: '2026-11', requests: 2n, cost_nanos: 40n },
        { level_id: `${key.id}/lee`, month: '2026-11', requests: 1n, cost_nanos: 30n },
      ]);
      assert.equal(await store.count('level_days'), 0);
    });

    test('corrects them also before they have been added to their month', async (t) => {
      const { bench, store, other } = await pair(t, database);
      const key = await bench.newKey({ userLimits: { ...NO_USER_LIMITS, rpm: 100 } });
      const id = await admitOn(bench, other, bench.request(key, { user: 'alice', holdNanos: 70n }));
      await takeForDead(store);
      await store.advance(70 * DAY_MS);
      await bench.settle(await bench.admit(key, { user: 'alice', holdNanos: 1n }), { costNanos: 1n });
      await onceBack(bench, other, [{ kind: 'settle', settlement: bench.settlement(id, { costNanos: 30n }) }]);
      await store.assertBooks();
      while (await store.engine.dropOldRows());
      const sums = 'SELECT month, requests, cost_nanos FROM inf_gw.level_months';
      assert.deepEqual(await store.database.read(sums), [{ month: '2026-11', requests: 1n, cost_nanos: 30n }]);
    });

    test('corrects them also where a request of that day that was lost has come back since', async (t) => {
      const { bench, store, other } = await pair(t, database);
      const limits = { ...NO_USER_LIMITS, budgets: [{ period: 'total', limitNanos: USD }] };
      const key = await bench.newKey({ userLimits: limits });
      const id = await admitOn(bench, other, bench.request(key, { user: 'alice', holdNanos: 70n }));
      await takeForDead(store);
      const [old] = await store.rows('journal');
      await store.advance(70 * DAY_MS);
      await bench.settle(await bench.admit(key, { holdNanos: 1n }), { costNanos: 1n });
      while (await store.engine.dropOldRows());
      const lost = SETTLEMENT.values(bench.settlement('req_lost', { costNanos: 20n }));
      await database.read(
        `SELECT inf_gw.settle_late((SELECT id FROM inf_gw.nodes WHERE name = 'first'), true, ${lost.concat(0, 0, 0, 0, 0).map((_, at) => `$${at + 1}`)})`,
        [key.id, 'mock/echo', (old?.admitted_at_ms as bigint) * 1_000n, 20n, `["${key.id}/alice"]`, ...lost],
      );
      await onceBack(bench, other, [{ kind: 'settle', settlement: bench.settlement(id, { costNanos: 30n }) }]);
      while (await store.engine.dropOldRows());
      await store.assertBooks();
      const sums = 'SELECT month, requests, cost_nanos FROM inf_gw.level_months';
      assert.deepEqual(await store.database.read(sums), [{ month: '2026-11', requests: 2n, cost_nanos: 50n }]);
    });

    test('does not undo what an operator has corrected', async (t) => {
      const { bench, store, other, key } = await pair(t, database);
      const id = await admitOn(bench, other, bench.request(key, { holdNanos: 400n }));
      await takeForDead(store);
      assert.equal((await store.operator.requests.correct(id, 33n, NOON)).kind, 'done');
      await onceBack(bench, other, [{ kind: 'settle', settlement: bench.settlement(id, { costNanos: 90n }) }]);
      assert.deepEqual(await bench.balance(), [USD - 33n, 0n]);
    });

    test('cannot let a stream grow whose hold was charged', async (t) => {
      const { bench, store, other, key } = await pair(t, database);
      const requestId = await admitOn(bench, other, bench.request(key, { holdNanos: 40n }));
      await takeForDead(store);
      const growth = { requestId, outputTokens: 40, holdNanos: 60n };
      const [answer] = await onceBack(bench, other, [
        { kind: 'grow', growth },
        { kind: 'free_slot', requestId },
      ]);
      assert.match((answer as { unavailable: string }).unavailable, /taken for dead/);
      assert.deepEqual(await bench.balance(), [USD - 40n, 0n]);
    });
  });
}
