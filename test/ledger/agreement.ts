/** One log, decided by every gateway: how they notice that they agree, follow, and write for each other. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import type { Engine } from '../../src/ledger/engine.ts';
import type { Admission, EnabledKey } from '../../src/ledger/ledger.ts';
import { until } from '../support/wait.ts';
import { LedgerBench, USD } from './bench.ts';
import { NEVER_MS, type SharedDatabase, type SharedStore } from './shared-store.ts';

const OTHER_TIER = '"t":[9,9,9,9,1]';
const RICH = Array.from({ length: 10 }, (_, each) => `[0,"req_${each}","m",0,1,1,"${'9'.repeat(18)}"]`);
/** What is wrong with it, and what it says of `KEY` and of a `LONG` name. */
type Nonsense = readonly (readonly [what: string, commands: string])[];

/** No entry at all, and one whose holds are only known to be too many when they are written. */
export const NONSENSE: Nonsense = [
  ['is no object', '7'],
  ['holds more than the database can write', `{"t":[99,99,99,99,0],"k":["KEY"],"a":[${RICH}]}`],
];

/** The other entries that no gateway asks. */
export const MORE_NONSENSE: Nonsense = [
  ['has no settings', '{"t":[]}'],
  ['has lists that are none', `{${OTHER_TIER},"s":7,"k":{},"b":"x","a":null}`],
  ['ends a request for no amount', `{${OTHER_TIER},"s":[["req_1",1,1,"x",1,1]]}`],
  ['asks for a key that it does not name', `{${OTHER_TIER},"a":[[3,"req_1","mock/echo",1,1,1,"1"]]}`],
  ['asks for less than nothing', `{${OTHER_TIER},"k":["key"],"a":[[0,"req_1","mock/echo",-1,1,1,"1"]]}`],
  ['asks for a request by a name that no index takes', `{${OTHER_TIER},"k":["KEY"],"a":[[0,"LONG","m",1,1,1,"1"]]}`],
  ['asks for a request twice', `{${OTHER_TIER},"k":["key"],"a":[[0,"r","m",1,1,1,"1"],[0,"r","m",1,1,1,"1"]]}`],
];

async function pair(t: { after(work: () => Promise<void>): void }, database: SharedDatabase) {
  const bench = await LedgerBench.of(t, database.openStore, { rpm: 3 });
  const store = bench.store as SharedStore;
  await bench.addCredit(USD);
  return { bench, store, other: await store.startOther('second'), key: await bench.newKey() };
}

/** What gateways read and write of an ordinary log. */
export function testAgreement(database: SharedDatabase): void {
  test('a gateway that comes to another state than one of the others decides nothing by it, says so and begins anew', async (t) => {
    const { bench, store, other, key } = await pair(t, database);
    await bench.process([{ kind: 'identify', keyHash: key.hash }], other.engine);
    await bench.admit(key, { holdNanos: 30n });
    await database.read(`UPDATE inf_gw.log SET digest = 'other' WHERE digest IS NOT NULL`);
    const admission = { kind: 'admit', request: bench.request(key, { holdNanos: 40n }) } as const;
    await assert.rejects(bench.process([admission], other.engine), (error) =>
      /another state/.test(other.engine.faultOf(error)?.message ?? ''),
    );
    assert.equal(other.differences.length, 1);
    await bench.process([{ ...admission, request: bench.request(key, { holdNanos: 50n }) }], other.engine);
    await bench.settle(await bench.admit(key));
    assert.equal((await bench.refuse(key)).reason, 'requests_per_minute');
    assert.deepEqual([store.process.differences, other.differences.length], [[], 1]);
  });

  test('a difference that nobody has asked for is found with the next sign of life, and all agree again', async (t) => {
    const { bench, store, other, key } = await pair(t, database);
    await bench.process([{ kind: 'identify', keyHash: key.hash }], other.engine);
    // Who begins now has another balance in memory than those who follow the log.
    await database.read('UPDATE inf_gw.account SET balance_nanos = balance_nanos - 1');
    const third = await store.startOther('third');
    await bench.process([{ kind: 'admit', request: bench.request(key, { holdNanos: 30n }) }], third.engine);
    const all = [store.process, other, third];
    for (const { engine } of all) await engine.beat();
    assert.deepEqual(
      all.map(({ differences }) => differences.length),
      [1, 1, 0],
    );
    for (const { engine } of all) {
      await bench.process([{ kind: 'admit', request: bench.request(key, { holdNanos: 1n }) }], engine);
    }
    for (const { engine } of all) await engine.beat();
    assert.deepEqual(
      all.map(({ differences }) => differences.length),
      [1, 1, 0],
    );
    await database.read('UPDATE inf_gw.account SET balance_nanos = balance_nanos + 1');
  });

  for (const count of [2, 3]) {
    test(`${count} gateways that begin at once, while another decides, come to the same state`, async (t) => {
      const { bench, store, other, key } = await pair(t, database);
      const processes = [store.process, other, await store.startOther('third')].slice(3 - count);
      const { engine: busy } = await store.startOther('busy');
      const asks = async (engine: Engine, times: number) => {
        for (let i = 0; i < times; i++) await engine.process([{ kind: 'admit', request: bench.request(key) }]);
      };
      const holds = async () => {
        for (const { engine } of [...processes, { engine: busy }]) await engine.write();
        return (await store.rows('holds')).length;
      };
      await store.operator.keys.setLimits(key.id, { rpm: 60 });
      for (const process of processes) await asks(process.engine, 1);
      for (const process of processes) process.renew(bench.settings, bench.clock);
      await Promise.all([asks(busy, 20), ...processes.map(({ engine }) => asks(engine, 10))]);
      // Those that begin give back what they have not told anybody of.
      assert.equal(await holds(), 20 + processes.length * 10);
      await asks(busy, 40);
      assert.equal(await holds(), 60);
      for (const { differences } of processes) assert.deepEqual(differences, []);
    });
  }

  describe('what a gateway has decided and not written before it was killed', () => {
    test('is written by another one, and charged as held', async (t) => {
      const { bench, store, other, key } = await pair(t, database);
      const request = bench.request(key, { holdNanos: 70n });
      await bench.process([{ kind: 'identify', keyHash: key.hash }]);
      other.renew(bench.settings, bench.clock, NEVER_MS);
      await other.engine.process([{ kind: 'admit', request }]);
      await other.engine.flush();
      await other.kill();
      await store.advanceInSilence(9_000);
      assert.deepEqual(await store.rows('holds'), []);
      // A beat right after another one asks nothing, so that it does not hear how late it is.
      await store.engine.probe();
      await store.engine.beat();
      // The first gateway's own sign of life may have done so just before.
      await database.read('SELECT * FROM inf_gw.reap()');
      assert.deepEqual(await bench.balance(), [USD - 70n, 0n]);
      // Its request still counts in the window.
      assert.equal((await bench.identify(key)).figures.remainingRequests, 2);
    });

    test('is decided again by the next process of its name, if there is no other', async (t) => {
      const bench = await LedgerBench.of(t, database.openStore, { rpm: 1 });
      const store = bench.store as SharedStore;
      await bench.addCredit(USD);
      const key = await bench.newKey();
      const requests = [bench.request(key, { holdNanos: 70n }), bench.request(key, { holdNanos: 80n })];
      await store.engine.process(requests.map((request) => ({ kind: 'admit', request })));
      await store.engine.flush();
      await store.crash(9_000);
      assert.equal(store.summary.recoveredHolds, 1);
      assert.deepEqual(
        (await store.rows('journal')).map((row) => [row.request_id, row.source, row.cost_nanos]),
        [[requests[0]?.requestId, 'held', 70n]],
      );
      assert.equal((await bench.refuse(key)).reason, 'requests_per_minute');
    });
  });

  test('a gateway that is far behind reads the log in steps, and then decides as the others', async (t) => {
    const { bench, other, key } = await pair(t, database);
    await bench.process([{ kind: 'identify', keyHash: key.hash }], other.engine);
    for (let i = 0; i < 3; i++) await bench.admit(key);
    await database.read(`SELECT inf_gw.log_edit('{}') FROM generate_series(1, 1200)`);
    const request = bench.request(key);
    const [answer] = await bench.process([{ kind: 'admit', request }], other.engine);
    assert.equal((answer as { refusal: { reason: string } }).refusal.reason, 'requests_per_minute');
    assert.equal(other.differences.length, 0);
  });

  test('one that is so far behind that the log would grow for ever is not waited for, and begins anew', async (t) => {
    const { bench, store, other, key } = await pair(t, database);
    await bench.process([{ kind: 'identify', keyHash: key.hash }], other.engine);
    for (let i = 0; i < 3; i++) await bench.admit(key);
    await store.advance(61_000);
    await database.read(`UPDATE inf_gw.account SET seq = seq + 300000, recorded_seq = recorded_seq + 300000;
      UPDATE inf_gw.log SET seq = seq + 300000, seen_seq = seen_seq + 300000;
      UPDATE inf_gw.positions SET asked_seq = asked_seq + 300000, written_seq = written_seq + 300000`);
    await bench.admit(key);
    await database.read(`UPDATE inf_gw.nodes SET seen_seq = (SELECT seq FROM inf_gw.account) WHERE name = 'first'`);
    await database.read('SELECT inf_gw.cut_log()');
    const old = 'SELECT seq FROM inf_gw.log WHERE at_us < (SELECT last_us FROM inf_gw.account) - 60000000';
    assert.deepEqual(await database.read(old), []);
    for (let i = 0; i < 2; i++) await bench.process([{ kind: 'admit', request: bench.request(key) }], other.engine);
    assert.equal((await bench.refuse(key)).reason, 'requests_per_minute');
  });

  test('a gateway that is frozen between its entry and the answer finds its decisions written, and goes on by them', async (t) => {
    const { bench, store, other, key } = await pair(t, database);
    await bench.process([{ kind: 'identify', keyHash: key.hash }], other.engine);
    const entries = async () => (await database.read('SELECT seq FROM inf_gw.account'))[0]?.seq as bigint;
    const before = await entries();
    other.link.hold(['toClient']);
    const request = bench.request(key, { holdNanos: 70n });
    const answer = bench.process([{ kind: 'admit', request }], other.engine);
    await until(async () => (await entries()) > before);
    // Nobody waits for it: the others decide its entry as it will, and write that after a second.
    for (let i = 0; i < 2; i++) await bench.admit(key, { holdNanos: 10n });
    assert.equal((await bench.refuse(key)).reason, 'requests_per_minute');
    await store.advance(1_500);
    await store.engine.probe();
    await store.engine.beat();
    assert.deepEqual((await store.rows('holds')).map((hold) => hold.hold_nanos).toSorted(), [10n, 10n, 70n]);
    other.link.pass();
    assert.equal(((await answer)[0] as Admission).admitted, true);
    const settlement = bench.settlement(request.requestId, { costNanos: 60n });
    await bench.process([{ kind: 'settle', settlement }], other.engine);
    assert.deepEqual(await bench.balance(), [USD - 60n, 20n]);
    assert.deepEqual([store.process.differences, other.differences], [[], []]);
  });

  test('a gateway that has missed what was dropped of the log begins anew, and so does one whose log has lost its end, and says so', async (t) => {
    const { bench, store, other, key } = await pair(t, database);
    await bench.process([{ kind: 'identify', keyHash: key.hash }], other.engine);
    for (let i = 0; i < 2; i++) await bench.admit(key);
    await database.read('DELETE FROM inf_gw.log WHERE seq < (SELECT seq FROM inf_gw.account)');
    await bench.process([{ kind: 'admit', request: bench.request(key) }], other.engine);
    assert.equal((await bench.refuse(key)).reason, 'requests_per_minute');
    assert.deepEqual([store.process.losses, other.losses], [[], []]);
    const [{ seq } = {}] = await database.read('SELECT seq FROM inf_gw.account');
    await database.read(
      `DELETE FROM inf_gw.log; UPDATE inf_gw.account SET seq = 0, recorded_seq = 0; UPDATE inf_gw.positions SET asked_seq = 0, written_seq = 0`,
    );
    assert.equal((await bench.refuse(key)).reason, 'requests_per_minute');
    assert.deepEqual([store.process.losses, other.losses], [[[seq, 0]], []]);
    await store.operator.nodes?.acceptLosses();
  });

  test('a request that the database has lost is charged, also by a clock that is behind the one it was admitted by', async (t) => {
    const { bench, store, key } = await pair(t, database);
    const requestId = await bench.admit(key, { holdNanos: 30n });
    await store.engine.write();
    await database.read(
      `DELETE FROM inf_gw.log; DELETE FROM inf_gw.holds; DELETE FROM inf_gw.positions;
        UPDATE inf_gw.account SET seq = 0, recorded_seq = 0, held_nanos = 0, last_us = last_us - 60000000`,
    );
    await store.step(-30_000);
    await bench.settle(requestId, { costNanos: 20n });
    assert.deepEqual(store.process.uncharged, []);
    assert.deepEqual(await bench.balance(), [USD - 20n, 0n]);
    const [row] = await store.rows('journal');
    assert.equal(row?.admitted_at_ms, row?.settled_at_ms);
    await store.operator.nodes?.acceptLosses();
  });

  describe('gateways that know newer rules than others', () => {
    const inForce = async () => (await database.read('SELECT rules FROM inf_gw.account'))[0]?.rules;
    /** By rules that this version has left behind, as the log has it. */
    const decideByEarlier = () =>
      database.read(
        `UPDATE inf_gw.account SET rules = 0; UPDATE inf_gw.nodes SET rules = 0;
          SELECT inf_gw.log_change(inf_gw.now_us(), '{"rules": 0}', '{}')`,
      );
    const firstKnowsNewer = () => database.read(`UPDATE inf_gw.nodes SET rules = 1 WHERE name = 'first'`);

    test('decide by those that all know, until the last of the others has gone, and pass no limit meanwhile', async (t) => {
      const bench = await LedgerBench.of(t, database.openStore, { rpm: 60 });
      const store = bench.store as SharedStore;
      await decideByEarlier();
      const key = await bench.newKey();
      const earlier = [await store.startOther('a', { rules: 0 }), await store.startOther('b', { rules: 0 })];
      await firstKnowsNewer();
      const serving = new Set([store.process, ...earlier]);
      let admitted = 0;
      const admit = async (engine: Engine) => {
        const [answer] = await bench.process([{ kind: 'admit', request: bench.request(key) }], engine);
        if ((answer as Admission).admitted) admitted++;
      };
      const serveWhile = async (work: () => Promise<void>) => {
        const done = work().then(() => true);
        do await Promise.all([...serving].map(({ engine }) => admit(engine)));
        while (!(await Promise.race([done, false])));
      };
      for (const [index, process] of earlier.entries()) {
        assert.equal(await inForce(), 0);
        serving.delete(process);
        await serveWhile(async () => {
          await process.close();
          serving.add(await store.startOther(index === 0 ? 'a' : 'b', { rules: 1 }));
        });
      }
      assert.equal(await inForce(), 1);
      for (let i = 0; i < 60; i++) await admit(store.engine);
      assert.equal(admitted, 60);
      for (const { differences } of [...earlier, ...serving]) assert.deepEqual(differences, []);
    });

    test('decide by newer ones as soon as one that did not know them is silent for long', async (t) => {
      const bench = await LedgerBench.of(t, database.openStore);
      const store = bench.store as SharedStore;
      await decideByEarlier();
      const old = await store.startOther('a', { rules: 0 });
      await firstKnowsNewer();
      await database.read(`UPDATE inf_gw.nodes SET alive_us = alive_us - 9000000 WHERE name = 'a'`);
      await database.read('SELECT inf_gw.reap()');
      assert.equal(await inForce(), 1);
      // It comes back too late: its epoch is over, and it cannot join again.
      const admission = { kind: 'admit', request: bench.request(await bench.newKey()) } as const;
      await assert.rejects(bench.process([admission], old.engine));
      await until(async () => {
        const error = await old.engine.probe().catch((thrown) => thrown);
        return /knows those up to 0/.test(old.engine.faultOf(error)?.message ?? '');
      });
      await bench.process([admission]);
    });

    test('shut out one that does not know the rules in force, and it does not start', async (t) => {
      const { store } = await pair(t, database);
      await database.read('UPDATE inf_gw.account SET rules = 3');
      const unknown = /decide by rules number 3, and this version of inf-gw knows those up to 2/;
      await assert.rejects(store.startOther('third', { rules: 2 }), unknown);
      await store.startOther('third', { rules: 3 });
    });
  });

  test('a request in flight from when the clock was ahead counts for a gateway that begins later as for the others', async (t) => {
    const { bench, store, key } = await pair(t, database);
    const stepBy = async (milliseconds: number) => {
      await store.step(milliseconds);
      await assert.rejects(bench.identify(key));
      await store.advance(60_000);
    };
    await bench.identify(key);
    await stepBy(3_600_000);
    await bench.admit(key);
    await stepBy(-3_600_000);
    const { engine } = await store.startOther('third');
    for (const each of [store.engine, engine]) {
      const [identity] = await bench.process([{ kind: 'identify', keyHash: key.hash }], each);
      assert.equal((identity as EnabledKey).figures.remainingRequests, 3);
    }
  });

  test('the log is cut once it is a minute old and all that live have followed, but for its last entry', async (t) => {
    const { bench, store, other, key } = await pair(t, database);
    for (let i = 0; i < 3; i++) await bench.admit(key);
    const entries = async () => (await database.read('SELECT seq FROM inf_gw.log')).length;
    const before = await entries();
    await database.read('SELECT inf_gw.cut_log()');
    assert.equal(await entries(), before);
    await store.advance(61_000);
    // Its signs of life say what it has followed.
    other.link.hold(['toServer']);
    await database.read(`UPDATE inf_gw.nodes SET seen_seq = 0 WHERE name = 'second'`);
    await database.read('SELECT inf_gw.cut_log()');
    assert.equal(await entries(), before);
    other.link.pass();
    await bench.process([{ kind: 'identify', keyHash: key.hash }], other.engine);
    await database.read('UPDATE inf_gw.nodes SET seen_seq = (SELECT seq FROM inf_gw.account)');
    await database.read('SELECT inf_gw.cut_log()');
    assert.equal(await entries(), 1);
    await bench.admit(key);
  });

  test('a log that grows by thousands of entries a second is cut with each sign of life', async (t) => {
    const { store, other } = await pair(t, database);
    await database.read(`SELECT inf_gw.log_edit('{}') FROM generate_series(1, 5000)`);
    await store.advance(61_000);
    // A sign of life says what was followed before it.
    for (const { engine } of [store, other, store, other]) await engine.probe();
    const entries = async () => (await database.read('SELECT seq FROM inf_gw.log')).length;
    const all = await entries();
    for (const cut of [2_000, 4_000]) {
      await store.engine.beat();
      assert.equal(await entries(), all - cut);
    }
    await store.engine.beat();
    assert.equal(await entries(), 1);
  });
}

export function testNonsense(database: SharedDatabase, entries: Nonsense): void {
  describe('an entry that no gateway asks', () => {
    for (const [what, commands] of entries) {
      test(`is passed over by all alike, said and counted, and who wrote it is shut out: it ${what}`, async (t) => {
        const { bench, store, other, key } = await pair(t, database);
        await bench.process([{ kind: 'identify', keyHash: key.hash }], other.engine);
        await bench.admit(key, { holdNanos: 30n });
        const [evil] =
          await database.read(`INSERT INTO inf_gw.nodes (name, instance, version, address, epoch, started_at_ms, alive_us)
          VALUES ('evil', '', '', '', 1, 0, (SELECT us FROM stage.world)) RETURNING id`);
        await database.read(
          `WITH a AS (UPDATE inf_gw.account SET seq = seq + 1 RETURNING seq, last_us),
            p AS (INSERT INTO inf_gw.positions SELECT $1, seq, 0 FROM a)
          INSERT INTO inf_gw.log (seq, at_us, node_id, commands, seen_seq) SELECT seq, last_us, $1, $2, 0 FROM a`,
          [evil?.id, commands.replace('KEY', key.id).replace('LONG', randomBytes(9_000).toString('hex'))],
        );
        await bench.process([{ kind: 'admit', request: bench.request(key, { holdNanos: 40n }) }], other.engine);
        await bench.admit(key, { holdNanos: 50n });
        assert.equal((await bench.refuse(key)).reason, 'requests_per_minute');
        for (const { engine } of [store.process, other]) await engine.beat();
        const [node] = await database.read('SELECT epoch FROM inf_gw.nodes WHERE id = $1', [evil?.id]);
        assert.equal(node?.epoch, 2n);
        for (const each of [store.process, other]) {
          assert.deepEqual([each.nonsense.map(([, nodeId]) => nodeId), each.differences], [[evil?.id], []]);
        }
        // Nor does it stop who begins then, or the end of what it has in flight.
        await store.advance(1_500);
        await store.engine.probe();
        await store.engine.beat();
        const { engine } = await store.startOther('third');
        const [identity] = await bench.process([{ kind: 'identify', keyHash: key.hash }], engine);
        assert.equal((identity as EnabledKey).figures.remainingRequests, 0);
        assert.deepEqual(await database.read('SELECT FROM inf_gw.positions WHERE asked_seq > written_seq'), []);
      });
    }
  });
}

/** Logs of many entries, and of large ones. */
export function testLongLogs(database: SharedDatabase): void {
  test('a gateway that is more than 10,000 entries behind is not ready, and catches up in bounded turns', async (t) => {
    const { bench, other, key } = await pair(t, database);
    await bench.process([{ kind: 'identify', keyHash: key.hash }], other.engine);
    for (let i = 0; i < 3; i++) await bench.admit(key);
    await database.read(`INSERT INTO inf_gw.log (seq, at_us, node_id, commands)
      SELECT seq + i, last_us, 0, json_build_object('balance', balance_nanos::text)
      FROM inf_gw.account, generate_series(1, 30100) AS i`);
    await database.read('UPDATE inf_gw.account SET seq = seq + 30100');
    const isBehind = (error: unknown) => /behind the log/.test(other.engine.faultOf(error)?.message ?? '');
    const request = bench.request(key);
    await assert.rejects(bench.process([{ kind: 'admit', request }], other.engine), isBehind);
    // Also where nobody asks for anything.
    await until(async () => {
      await other.engine.beat();
      return /behind the log/.test(other.faults.join());
    });
    await assert.rejects(other.engine.probe(), isBehind);
    await other.engine.probe();
    const [answer] = await bench.process([{ kind: 'admit', request }], other.engine);
    assert.equal((answer as { refusal: { reason: string } }).refusal.reason, 'requests_per_minute');
    assert.equal(other.differences.length, 0);
  });

  test('what comes while a gateway waits in vain for a lock fails with that, and waits for no lock itself', async (t) => {
    const { bench, other, key } = await pair(t, database);
    await bench.process([{ kind: 'identify', keyHash: key.hash }], other.engine);
    const admission = () => ({ kind: 'admit', request: bench.request(key) }) as const;
    const failure = (work: Promise<unknown>) =>
      work.then(
        () => assert.fail(),
        (error: unknown) => error,
      );
    await database.read('BEGIN');
    await database.read('SELECT FROM inf_gw.account FOR UPDATE');
    const [first, second] = [1, 2].map(() => failure(bench.process([admission()], other.engine)));
    assert.equal(other.engine.faultOf(await first)?.kind, 'busy');
    assert.equal(await second, await first);
    await database.read('COMMIT');
    await bench.process([admission()], other.engine);
  });

  test('large entries are read one at a time, and one that is larger than others can read is not taken', async (t) => {
    const { bench, other, key } = await pair(t, database);
    await bench.process([{ kind: 'identify', keyHash: key.hash }], other.engine);
    await bench.admit(key);
    await database.read(`SELECT inf_gw.log_edit('{}') FROM generate_series(1, 4)`);
    await database.read(`UPDATE inf_gw.log SET commands = left(commands, -1) || ', "x": "' || repeat('x', 3000000) || '"}'
      WHERE node_id = 0`);
    const read = () => database.read('SELECT o_until, length(o_entries) FROM inf_gw.entries_after(0, 1000)');
    const [{ o_until: until, length } = {}] = await read();
    assert.ok((until as bigint) < 1000n && Number(length) < 4_500_000, `${until} ${length}`);
    await bench.process([{ kind: 'admit', request: bench.request(key) }], other.engine);
    await bench.admit(key);
    assert.equal((await bench.refuse(key)).reason, 'requests_per_minute');
    const model = 'x'.repeat(1_100_000);
    await assert.rejects(bench.process([{ kind: 'admit', request: bench.request(key, { model }) }]), /no gateway asks/);
    assert.equal(other.differences.length, 0);
  });
}
