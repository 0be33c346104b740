/** Files of the versions after the first one: they open, and what they did not record is unknown. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { utcMonth } from '../../../src/core/clock.ts';
import type { KeyRecord } from '../../../src/state/keys.ts';
import { bookOf } from '../../../src/state/sqlite/book.ts';
import { BudgetReader } from '../../../src/state/sqlite/budgets.ts';
import { openDatabase, type Sqlite } from '../../../src/state/sqlite/database.ts';
import { lockState } from '../../../src/state/sqlite/lock.ts';
import { MIGRATIONS } from '../../../src/state/sqlite/migrations.ts';
import { openState } from '../../../src/state/sqlite/open-state.ts';
import { auditElsewhere } from '../../support/auditor.ts';
import { assertBooksBalance } from '../../support/books.ts';
import { type OldRow, writeFirstVersion } from '../../support/first-version.ts';
import { NOON } from '../ledger/bench.ts';

/** A file as a version after the first one left it, opened by the current program. `work` is what that version did. */
function openedVersion(t: TestContext, version: number, work = '') {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-migrations-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'state.db');
  const { rows } = writeFirstVersion(path, NOON);
  const old = new DatabaseSync(path);
  const steps = MIGRATIONS.slice(1, version).join('\n');
  old.exec(`BEGIN; ${steps}; ${work}; PRAGMA user_version = ${version}; COMMIT`);
  old.close();
  const { database } = openDatabase(path);
  t.after(() => database.close());
  return { database, rows, path };
}

function assertTablesOfToday(t: TestContext, database: Sqlite, path: string): void {
  const fresh = openDatabase(join(path, '..', 'fresh.db')).database;
  t.after(() => fresh.close());
  const schema = (of: Sqlite) => of.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all();
  assert.deepEqual(schema(database), schema(fresh));
}

async function assertAgrees(database: Sqlite, path: string): Promise<void> {
  assert.deepEqual(
    (await auditElsewhere(path)).flatMap(({ differences }) => differences),
    [],
  );
  assertBooksBalance(database);
}

describe('a file of the third version', () => {
  test('has the same tables as a new file, agrees with itself, and does not know why requests failed', async (t) => {
    const { database, rows, path } = openedVersion(t, 3);
    assertTablesOfToday(t, database, path);
    const failed = rows.find(({ outcome }) => outcome === 'upstream_error') as OldRow;
    const { end } = bookOf(database).requests.find(failed.id) ?? {};
    assert.deepEqual([end?.outcome, end?.failure], ['upstream_error', undefined]);
    await assertAgrees(database, path);
  });
});

describe('a file of the second version', () => {
  test('has the time of the last admission in each month', (t) => {
    const { database, rows } = openedVersion(t, 2);
    const months = database.prepare('SELECT month, key_id, model, source, last_at_ms FROM usage_months').all() as {
      month: string;
      key_id: string;
      model: string;
      source: string;
      last_at_ms: number;
    }[];
    const groups = Map.groupBy(rows, (row) => [utcMonth(row.atMs), row.keyId, row.model, row.source].join(' '));
    assert.deepEqual(
      months.map(({ last_at_ms, ...group }) => `${Object.values(group).join(' ')}: ${last_at_ms}`).toSorted(),
      [...groups].map(([group, own]) => `${group}: ${Math.max(...own.map(({ atMs }) => atMs))}`).toSorted(),
    );
  });

  test('has the same tables as a new file, and does not know which upstream served', async (t) => {
    const { database, rows, path } = openedVersion(t, 2);
    assertTablesOfToday(t, database, path);
    const [row] = rows;
    const request = bookOf(database).requests.find(row?.id ?? '');
    assert.deepEqual([request?.model, request?.requestedModel], [row?.model, row?.model]);
    assert.deepEqual([request?.end?.upstream, request?.end?.attempts], [undefined, undefined]);
    await assertAgrees(database, path);
  });
});

/** All requests took an hour, and a sliding budget has counted them from their admission. */
const ADMITTED_STEPS = `UPDATE journal SET settled_at_ms = admitted_at_ms + 3600000;
  INSERT INTO budgets SELECT id, '10d', 5, 864000, 0 FROM keys WHERE state = 'enabled';
  INSERT INTO budget_steps SELECT key_id, 864000, admitted_at_ms / 8640000 * 8640000, sum(cost_nanos)
    FROM journal JOIN budgets USING (key_id) GROUP BY 1, 3`;

describe('a file whose sliding budgets count requests from their admission', () => {
  test('agrees with itself, and goes on with what was counted', async (t) => {
    const { database, rows, path } = openedVersion(t, 9, ADMITTED_STEPS);
    await assertAgrees(database, path);
    const key = bookOf(database).keys.find('old') as KeyRecord;
    const since = (Math.floor(NOON / 8_640_000) - 100) * 8_640_000;
    const counted = rows.filter(({ keyId, atMs }) => keyId === key.id && atMs >= since);
    const spent = new BudgetReader(database).spentBy([key], NOON).get(key.id);
    assert.equal(
      spent?.[0]?.chargedNanos,
      counted.reduce((sum, { costNanos }) => sum + costNanos, 0n),
    );
  });
});

const DAY = "strftime('%Y-%m-%d', admitted_at_ms / 1000, 'unixepoch')";
/** Every second request was for somebody who had sums of her own, and the others for somebody who came too late. */
const NAMED = `UPDATE journal SET by_user = CASE id % 2 WHEN 0 THEN 'alice' ELSE 'bob' END;
  INSERT INTO usage_names SELECT DISTINCT substr(${DAY}, 1, 7), 'user', 'alice', 1 FROM journal WHERE by_user = 'alice';
  INSERT INTO usage_name_days SELECT ${DAY}, 'user', CASE by_user WHEN 'alice' THEN 'alice' ELSE 'other' END, key_id, model,
    count(*), sum(outcome NOT IN ('ok', 'cancelled')), sum(prompt_tokens), sum(cached_tokens),
    sum(coalesce(cache_write_tokens, 0)), sum(completion_tokens), sum(cost_nanos) FROM journal GROUP BY 1, 2, 3, 4, 5`;

describe('a file whose names have places that no key is known to have', () => {
  test('agrees with itself: whoever sent a name has a place for it', async (t) => {
    const { database, rows, path } = openedVersion(t, 9, NAMED);
    await assertAgrees(database, path);
    const everything = { keyId: undefined, model: undefined, untilMs: undefined };
    const { rows: report } = bookOf(database).usage.report({ ...everything, by: 'user', sinceMs: 1 });
    assert.deepEqual(
      new Map(report.map(({ user, requests }) => [user, requests])),
      new Map([
        ['alice', rows.length / 2],
        ['other', rows.length / 2],
      ]),
    );
  });
});

test('a file of an earlier version is not brought up to date beside a gateway that runs on it', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-migrations-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'state.db');
  writeFirstVersion(path, NOON);
  const lock = lockState(path);
  assert.throws(() => openState(path, 'crash'), /a gateway of an earlier inf-gw runs on .*state\.db: restart it/);
  lock.release();
  const state = openState(path, 'crash');
  return state.close();
});
