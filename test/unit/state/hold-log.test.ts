/** The holds of a state file: batches that nothing deletes from, and the view of the open ones. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Database from 'better-sqlite3';
import type { HoldRow } from '../../../src/state/journal.ts';
import { openDatabase, openEmptyDatabase } from '../../../src/state/sqlite/database.ts';
import { HoldLog } from '../../../src/state/sqlite/hold-log.ts';
import { MIGRATIONS } from '../../../src/state/sqlite/migrations.ts';
import { dropOldRows } from '../../../src/state/sqlite/retention.ts';
import { NOON, openBench, USD } from '../ledger/bench.ts';

const LARGE = 2n ** 62n + 1n;

const holdOf = (number: number, more: Partial<HoldRow> = {}): HoldRow => ({
  ...{ requestId: `req_${number}`, keyId: 'key_1', model: 'host/m', admittedAtMs: NOON },
  ...{ inputTokens: 1, outputTokens: 2, holdNanos: 3n },
  ...more,
});

function openLog(t: TestContext) {
  const database = openEmptyDatabase();
  t.after(() => database.close());
  return {
    database,
    log: new HoldLog(database),
    open: () => database.prepare('SELECT request_id FROM holds ORDER BY request_id').pluck().all(),
    batches: () => database.prepare('SELECT count(*) FROM hold_batches').pluck().get() as number,
  };
}

test('a hold is read as it was written last, with all of its columns', (t) => {
  const { database, log } = openLog(t);
  const before = holdOf(1, { price: '1/2/3', levels: ['grp_1', 'key_1/ann "\u{1F600}"'], user: 'ann' });
  log.add(before);
  log.add(holdOf(2));
  log.write(2, () => [before, holdOf(2)]);
  log.add({ ...before, outputTokens: 7, holdNanos: LARGE });
  log.write(2, assert.fail);
  const rows = database.prepare('SELECT * FROM holds ORDER BY request_id').safeIntegers().raw().all();
  assert.deepEqual(rows, [
    ...[
      [
        'req_1',
        'key_1',
        'host/m',
        BigInt(NOON),
        1n,
        7n,
        LARGE,
        '1/2/3',
        '["grp_1","key_1/ann \\"\u{1F600}\\""]',
        'ann',
      ],
    ],
    ...[['req_2', 'key_1', 'host/m', BigInt(NOON), 1n, 2n, 3n, null, null, null]],
  ]);
});

test('once 512 more holds are stored than are open, the open ones replace all batches', (t) => {
  const { log, open, batches } = openLog(t);
  const still = holdOf(0);
  let number = 1;
  const writeOne = () => {
    const next = holdOf(number++);
    log.add(next);
    // All others have ended.
    log.write(2, () => [still, next]);
  };
  writeOne();
  assert.deepEqual([open(), batches()], [['req_0', 'req_1'], 1]);
  for (let more = 0; more < 513; more++) writeOne();
  assert.equal(batches(), 514);
  writeOne();
  assert.deepEqual([open(), batches()], [['req_0', `req_${number - 1}`], 1]);
});

test('after a rollback the next batch has the open holds alone', (t) => {
  const { database, log, open } = openLog(t);
  log.add(holdOf(1));
  log.write(1, () => [holdOf(1)]);
  database.exec('BEGIN');
  log.add(holdOf(2));
  log.write(2, assert.fail);
  log.add(holdOf(3));
  database.exec('ROLLBACK');
  log.forget();
  assert.deepEqual(open(), ['req_1']);
  log.add(holdOf(4));
  log.write(1, () => [holdOf(4)]);
  assert.deepEqual(open(), ['req_4']);
});

test('an ended request stays ended when its row is dropped from the journal', (t) => {
  const bench = openBench(t);
  bench.addCredit(USD);
  const key = bench.newKey();
  const [ended, open] = [bench.admit(key), bench.admit(key)];
  bench.settle(ended);
  dropOldRows(bench.database, NOON + 1_000);
  assert.deepEqual(bench.rows('journal'), []);
  assert.deepEqual(
    bench.rows('holds').map(({ request_id: id }) => id),
    [open],
  );
  bench.settle(open);
  assert.deepEqual(bench.rows('holds'), []);
});

test('the holds of an earlier version are kept', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-holds-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'state.db');
  openDatabase(path).database.close();
  const earlier = new Database(path);
  const tables = earlier.prepare("SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'").raw().all();
  for (const [type, name] of tables as [string, string][])
    if (type !== 'index') earlier.exec(`DROP ${type} IF EXISTS ${name}`);
  for (const step of MIGRATIONS.slice(0, 2)) earlier.exec(step);
  earlier.exec(`PRAGMA user_version = 2;
    INSERT INTO holds VALUES ('req_1', 'key_1', 'host/m', 1, 2, 3, ${LARGE}, '1/2/3', '["grp_1"]', 'ann'),
      ('req_2', 'key_1', 'host/m', 1, 2, 3, 4, NULL, NULL, NULL)`);
  const query = 'SELECT * FROM holds ORDER BY request_id';
  const before = earlier.prepare(query).safeIntegers().all();
  earlier.close();
  const { database } = openDatabase(path);
  t.after(() => database.close());
  assert.deepEqual(database.prepare(query).safeIntegers().all(), before);
});
