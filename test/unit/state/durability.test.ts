/** The durability of commits: the mode that SQLite reports after a write. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { UserError } from '../../../src/core/errors.ts';
import { assertDurability, openDatabase } from '../../../src/state/sqlite/database.ts';

for (const [durability, synchronous] of [
  ['full', 2],
  ['crash', 1],
] as const) {
  test(`durability ${durability} is synchronous = ${synchronous}, and a weaker mode is rejected`, (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'inf-gw-durability-'));
    const { database } = openDatabase(join(directory, 'state.db'), durability);
    t.after(() => {
      database.close();
      rmSync(directory, { recursive: true });
    });
    assertDurability(database, durability);
    assert.equal(database.pragma('synchronous', { simple: true }), synchronous);
    database.pragma('synchronous = OFF');
    assert.throws(() => assertDurability(database, durability), UserError);
  });
}
