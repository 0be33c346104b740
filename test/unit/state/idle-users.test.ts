/** What end users were booked long ago is added up and dropped in short steps, however many there are. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openDatabase, type Sqlite } from '../../../src/state/sqlite/database.ts';
import { IdleUsers } from '../../../src/state/sqlite/idle-users.ts';

const NOW_MS = Date.UTC(2026, 10, 15);
const USERS = 2_500;
const FIGURES = '1, 0, 0, 0, 0, 0, 7';

/** A file in which a group and its users have requests on a day of September, and a key one of today. */
function opened(t: TestContext): Sqlite {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-idle-users-'));
  const { database } = openDatabase(join(directory, 'state.db'));
  t.after(() => {
    database.close();
    rmSync(directory, { recursive: true });
  });
  database.exec(`
    INSERT INTO usage_months VALUES ('2026-08', 'key_1', 'm', 'reported', ${FIGURES}, 0);
    INSERT INTO usage_months VALUES ('2026-11', 'key_1', 'm', 'reported', ${FIGURES}, ${NOW_MS});
    INSERT INTO level_months VALUES ('grp_1', '2026-09', ${FIGURES});
    INSERT INTO level_days VALUES ('grp_1', '2026-09-01', ${FIGURES});
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${USERS})
      INSERT INTO level_days SELECT 'grp_1/' || i, '2026-09-01', ${FIGURES} FROM n`);
  return database;
}

function rowsOf(database: Sqlite): { readonly days: number; readonly months: number } {
  const count = (table: string) => database.prepare(`SELECT count(*) FROM ${table}`).pluck().get() as number;
  return { days: count('level_days'), months: count('level_months') };
}

function addDay(database: Sqlite, user: string, day: string): void {
  database.exec(`INSERT INTO level_days VALUES ('grp_1/${user}', '${day}', ${FIGURES})`);
}

test('thousands are dropped a thousand rows at a time, and their group keeps its own', (t) => {
  const database = opened(t);
  const idle = new IdleUsers(database);
  for (let isMore = true; isMore; ) {
    const before = rowsOf(database).days;
    isMore = idle.drop(NOW_MS);
    assert.ok(before - rowsOf(database).days <= 1_000);
  }
  assert.deepEqual(rowsOf(database), { days: 1, months: 1 });
});

test('the old days of who was there since, or has a total, are added to their months', (t) => {
  const database = opened(t);
  const idle = new IdleUsers(database);
  for (const day of ['2026-08-31', '2026-09-02', '2026-09-03']) addDay(database, '7', day);
  addDay(database, '8', '2026-10-01');
  database.exec("INSERT INTO budgets VALUES ('grp_1/7', 'total', 1, NULL, NULL)");
  while (idle.drop(NOW_MS));
  const months = database.prepare(
    "SELECT level_id || ' ' || month || ' ' || requests || ' ' || cost_nanos FROM level_months WHERE level_id LIKE '%/%'",
  );
  assert.deepEqual(months.pluck().all(), ['grp_1/7 2026-08 1 7', 'grp_1/7 2026-09 3 21', 'grp_1/8 2026-09 1 7']);
  assert.equal(rowsOf(database).days, 2);
});

test('a step that was not committed is taken again', (t) => {
  const database = opened(t);
  const idle = new IdleUsers(database);
  database.exec(`CREATE TABLE parents (id PRIMARY KEY);
    CREATE TABLE children (id REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
    CREATE TRIGGER broken AFTER DELETE ON level_days BEGIN INSERT INTO children VALUES (1); END;
    PRAGMA foreign_keys = ON`);
  assert.throws(() => idle.drop(NOW_MS), /FOREIGN KEY/);
  assert.deepEqual(rowsOf(database), { days: USERS + 1, months: 1 });
  database.exec('DROP TRIGGER broken');
  while (idle.drop(NOW_MS));
  assert.deepEqual(rowsOf(database), { days: 1, months: 1 });
});

test('what becomes old with a later month is dropped then', (t) => {
  const database = opened(t);
  const idle = new IdleUsers(database);
  while (idle.drop(NOW_MS));
  addDay(database, 'late', '2026-10-31');
  assert.equal(idle.drop(NOW_MS), false);
  assert.equal(rowsOf(database).days, 2);
  const laterMs = Date.UTC(2027, 0, 15);
  database.prepare("UPDATE usage_months SET month = '2027-01', last_at_ms = ? WHERE month = '2026-11'").run(laterMs);
  while (idle.drop(laterMs));
  assert.equal(rowsOf(database).days, 1);
});

test('of a file in which nothing is old no end user is looked at', (t) => {
  const database = opened(t);
  database.exec("DELETE FROM usage_months WHERE month < '2026-11'; DELETE FROM level_days; DELETE FROM level_months");
  addDay(database, 'new', '2026-11-15');
  const prepare = t.mock.method(database, 'prepare');
  assert.equal(new IdleUsers(database).drop(NOW_MS), false);
  const statements = prepare.mock.calls.map(({ arguments: [sql] }) => sql);
  assert.ok(!statements.some((sql) => sql.includes('min(level_id)')), statements.join('\n'));
});
