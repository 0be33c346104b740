/** A new sliding window on a state file looks up the days of its own key, however many keys have sums on them. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { DAY_MS, utcDay } from '../../../src/core/clock.ts';
import { KeyBook } from '../../../src/state/key-book.ts';
import type { NewKey } from '../../../src/state/keys.ts';
import { type Operation, rows } from '../../../src/state/operation.ts';
import { carryOut, DIALECT } from '../../../src/state/sqlite/book.ts';
import { openDatabase, type Sqlite } from '../../../src/state/sqlite/database.ts';

const NOW = Date.UTC(2026, 10, 21, 12);
const BUDGETS = [{ period: '720h', limitNanos: 1_000n }];
const KEY: NewKey = {
  name: 'app',
  rpm: null,
  tpm: null,
  concurrency: null,
  spendLimitNanos: null,
  allowlist: null,
};

function openFile(t: TestContext): Sqlite {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-fill-'));
  const { database } = openDatabase(join(directory, 'state.db'), 'crash');
  t.after(() => {
    database.close();
    rmSync(directory, { recursive: true });
  });
  return database;
}

/** As the operation; keeps how SQLite finds the rows of each of its statements. */
function* explained<T>(operation: Operation<T>, plans: string[]): Operation<T> {
  let step = operation.next();
  while (step.done !== true) {
    const asked = step.value;
    if ('work' in asked) {
      step = operation.next(yield { work: explained(asked.work, plans) });
      continue;
    }
    plans.push(
      ...(yield* rows(`EXPLAIN QUERY PLAN ${asked.text}`, asked.values)).map(({ detail }) => detail as string),
    );
    step = operation.next(yield asked);
  }
  return step.value;
}

/** How the sums by day are read. */
function readsOfDays(database: Sqlite, operation: Operation<unknown>): readonly string[] {
  const plans: string[] = [];
  carryOut(database, explained(operation, plans));
  return plans.filter((plan) => /(usage|sealed)_days/.test(plan));
}

describe('a sliding window on a state file', () => {
  test('of a key that was used before names key and day of the sums it reads, but for days to come', (t) => {
    const database = openFile(t);
    const keys = new KeyBook(DIALECT);
    const created = carryOut(database, keys.create('sk-inf-app', KEY, NOW));
    assert.ok(created.kind === 'done');
    const { id } = created.key;
    // Rows of the journal were dropped, so the sums by day are taken.
    const days = [-31, -30, -1, 0, 1, 40].map((days) => utcDay(NOW + days * DAY_MS));
    for (const [at, day] of days.entries()) {
      const row = `'${day}', '${id}', 'mock/echo', 'reported', 1, 0, 1, 0, 0, 1, ${10 ** at}, '[]'`;
      database.exec(`INSERT INTO usage_days VALUES (${row})`);
      if (day < utcDay(NOW)) database.exec(`INSERT INTO sealed_days VALUES (${row}, ${Date.parse(day) + DAY_MS - 1})`);
    }
    assert.deepEqual(readsOfDays(database, keys.setLimits(id, { budgets: () => BUDGETS }, NOW)), [
      'SEARCH sealed_days USING PRIMARY KEY (day=? AND key_id=?)',
      'SEARCH usage_days USING PRIMARY KEY (day=? AND key_id=?)',
      'SEARCH usage_days USING PRIMARY KEY (day>?)',
    ]);
    const filled = database.prepare('SELECT sum(cost_nanos) FROM budget_steps WHERE key_id = ?').pluck().get(id);
    assert.equal(filled, 111_110);
  });

  test('of a new key reads no sums', (t) => {
    const database = openFile(t);
    const operation = new KeyBook(DIALECT).create('sk-inf-app', { ...KEY, budgets: BUDGETS }, NOW);
    assert.deepEqual(readsOfDays(database, operation), []);
  });
});
