/** A move to a file on a full disk says so, and leaves nothing behind. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { moveState } from '../../src/state/move.ts';
import { FileSource, FileTarget } from '../../src/state/sqlite/move.ts';
import { fill } from '../support/full-file.ts';

const OPTIONS = { verify: () => Promise.resolve(), onProgress: () => {} };

test('a move says that the disk is full, and leaves nothing behind, at whatever step it fills up', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'inf-gw-move-'));
  t.after(() => rmSync(folder, { recursive: true }));
  fill(join(folder, 'state.db'));
  for (const step of ['synchronous = OFF', 'INSERT INTO keys', 'UPDATE account', 'COMMIT']) {
    const { exec, prepare } = Database.prototype;
    const refuse = (sql: string) => {
      if (sql.includes(step)) throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL');
    };
    const mocks = [
      t.mock.method(Database.prototype, 'exec', function (this: Database.Database, sql: string) {
        refuse(sql);
        return exec.call(this, sql);
      }),
      t.mock.method(Database.prototype, 'prepare', function (this: Database.Database, sql: string) {
        const statement = prepare.call(this, sql);
        if (sql.includes(step)) statement.run = () => refuse(sql) as never;
        return statement;
      }),
    ];
    await assert.rejects(move(folder), { name: 'UserError', message: /the disk is full; free some space/ }, step);
    for (const mock of mocks) mock.mock.restore();
    assert.deepEqual(
      readdirSync(folder).filter((name) => /^moved\.db(?!-lock)/.test(name)),
      [],
      step,
    );
  }
  await move(folder);
});

async function move(folder: string): Promise<void> {
  const source = FileSource.open(join(folder, 'state.db'));
  try {
    const target = FileTarget.open(join(folder, 'moved.db'));
    try {
      await moveState(source, target, OPTIONS);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}
