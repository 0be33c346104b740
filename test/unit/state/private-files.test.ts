/** A state file is closed to other users before SQLite opens it, whatever mode it was restored with. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Database from 'better-sqlite3';
import { openDatabase } from '../../../src/state/sqlite/database.ts';
import { lockState } from '../../../src/state/sqlite/lock.ts';

const READABLE = 0o644;

function openFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'inf-gw-modes-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

function modesOf(path: string): Record<string, string> {
  const parts = ['', '-wal', '-shm', '-lock'].filter((suffix) => existsSync(path + suffix));
  return Object.fromEntries(parts.map((suffix) => [suffix, (statSync(path + suffix).mode & 0o777).toString(8)]));
}

test('a restored state file that all can read is private once it is open, and so is what SQLite puts beside it', (t) => {
  const folder = openFolder(t);
  const path = join(folder, 'state.db');
  openDatabase(path).database.close();
  chmodSync(path, READABLE);
  symlinkSync(path, join(folder, 'link.db'));
  for (const name of ['state.db', 'link.db']) {
    const { database } = openDatabase(join(folder, name));
    assert.deepEqual(modesOf(path), { '': '600', '-wal': '600', '-shm': '600' });
    database.close();
  }
});

test('the log and the shared memory of a copy that was made while a gateway ran become private, too', (t) => {
  const folder = openFolder(t);
  const [path, copy] = [join(folder, 'state.db'), join(folder, 'copy.db')];
  const { database } = openDatabase(path);
  database.pragma('wal_checkpoint');
  for (const suffix of ['', '-wal', '-shm']) {
    copyFileSync(path + suffix, copy + suffix);
    chmodSync(copy + suffix, READABLE);
  }
  database.close();
  writeFileSync(`${copy}-lock`, '', { mode: READABLE });
  const lock = lockState(copy);
  const opened = openDatabase(copy).database;
  assert.deepEqual(modesOf(copy), { '': '600', '-wal': '600', '-shm': '600', '-lock': '600' });
  opened.close();
  lock.release();
});

test('a database of another program keeps its mode', (t) => {
  const path = join(openFolder(t), 'other.db');
  const other = new Database(path);
  other.exec('PRAGMA journal_mode = WAL; CREATE TABLE notes (text)');
  other.close();
  chmodSync(path, READABLE);
  assert.throws(() => openDatabase(path), /belongs to another program/);
  assert.equal(modesOf(path)[''], '644');
});
