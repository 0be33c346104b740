/** What the ledger reads of a state file again and again is prepared once. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { bookOf } from '../../../src/state/sqlite/book.ts';
import { openDatabase } from '../../../src/state/sqlite/database.ts';

test('end users of whom nothing is in memory cost no statement each', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'inf-gw-statements-'));
  const { database } = openDatabase(join(folder, 'state.db'));
  t.after(() => {
    database.close();
    rmSync(folder, { recursive: true });
  });
  const { groups } = bookOf(database);
  const prepare = t.mock.method(database, 'prepare');
  for (let i = 0; i < 50; i++) assert.equal(groups.findUser('key_1', `user ${i}`), undefined);
  assert.ok(prepare.mock.callCount() <= 1, `${prepare.mock.callCount()} statements`);
});
