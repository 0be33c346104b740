/** A file of an earlier version is brought up to date once, as a whole, and not beside a gateway that runs on it. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Database from 'better-sqlite3';
import { openDatabase } from '../../../src/state/sqlite/database.ts';
import { LedgerStore } from '../../../src/state/sqlite/ledger-store.ts';
import { lockState } from '../../../src/state/sqlite/lock.ts';
import { MIGRATIONS } from '../../../src/state/sqlite/migrations.ts';
import { openState } from '../../../src/state/sqlite/open-state.ts';
import { contentsOf, fill } from '../../support/full-file.ts';
import { addStep } from '../../support/made-up-step.ts';

const VERSION = MIGRATIONS.length;
/** It fails if it is taken twice. */
const STEP = 'ALTER TABLE keys ADD COLUMN made_up INTEGER; UPDATE keys SET made_up = 7';

/** A file with something in every table, and what is in it. After that, this program has one step more. */
function outdated(t: TestContext, step = STEP) {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-migrations-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'state.db');
  fill(path);
  const contents = contentsOf(path);
  addStep(t, MIGRATIONS, step);
  return { path, contents };
}

function versionIn(path: string): unknown {
  const database = new Database(path);
  const version = database.pragma('user_version', { simple: true });
  database.close();
  return version;
}

test('opening takes the steps that a file has not had, each once, and keeps what is in it', (t) => {
  const { path, contents } = outdated(t);
  assert.equal(versionIn(path), VERSION);
  const { database, created } = openDatabase(path);
  database.close();
  assert.deepEqual([created, versionIn(path)], [false, VERSION + 1]);
  const keys = contents.keys?.map((row) => JSON.stringify({ ...JSON.parse(row), made_up: 7 }));
  assert.deepEqual(contentsOf(path), { ...contents, keys });
  // Opened once more by that.
  assert.equal(versionIn(path), VERSION + 1);
});

test('a new file takes all of them', (t) => {
  const { path } = outdated(t);
  const { database, created } = openDatabase(`${path}.new`);
  t.after(() => database.close());
  const columns = database.prepare("SELECT name FROM pragma_table_info('keys')").pluck().all();
  assert.deepEqual([created, versionIn(`${path}.new`), columns.includes('made_up')], [true, VERSION + 1, true]);
});

test('a step that fails changes nothing in the file', (t) => {
  const { path, contents } = outdated(t, `${STEP}; INSERT INTO nowhere VALUES (1)`);
  assert.throws(() => openDatabase(path), /nowhere/);
  assert.equal(versionIn(path), VERSION);
  (MIGRATIONS as string[]).splice(VERSION, 1, 'SELECT 1');
  assert.deepEqual(contentsOf(path), contents);
});

test('who is to take over from a running gateway refuses a file of an earlier version', (t) => {
  const { path } = outdated(t);
  assert.throws(() => LedgerStore.load(path), /has tables of version \d+, and this inf-gw needs version \d+/);
  assert.equal(versionIn(path), VERSION);
});

test('a file is not brought up to date beside a gateway that runs on it', (t) => {
  const { path } = outdated(t);
  const lock = lockState(path);
  assert.throws(() => openState(path, 'crash'), /a gateway of an earlier inf-gw runs on .*state\.db: restart it/);
  assert.equal(versionIn(path), VERSION);
  lock.release();
  return openState(path, 'crash').close();
});
