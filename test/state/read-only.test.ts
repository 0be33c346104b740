/** Opening a state: it loads the parts of one store, and one that is only looked at stays as it is. */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { StateLocation } from '../../src/core/state-location.ts';
import { openStateToRead } from '../../src/state/open.ts';
import { MIGRATIONS } from '../../src/state/sqlite/migrations.ts';
import { openStateToRead as openFileToRead, openState } from '../../src/state/sqlite/open-state.ts';
import { isUnwritable } from '../../src/state/sqlite/open-to-read.ts';
import type { OpenState } from '../../src/state/state.ts';
import { runNode } from '../support/cli.ts';
import { addStep } from '../support/made-up-step.ts';
import { PostgresServer } from '../support/postgres.ts';
import { locationOf } from './database-stage.ts';

const NAMES = { name: 'app', rpm: null, tpm: null, concurrency: null, spendLimitNanos: null, allowlist: null };
const SECRET = `sk-inf-${'a'.repeat(40)}`;
const OTHER_USER = 65_534;

/** A state file with one key, closed. */
async function written(t: TestContext): Promise<{ folder: string; path: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'read-only-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'state.db');
  const state = openState(path, 'crash');
  await state.keys.create(SECRET, NAMES, Date.now());
  await state.close();
  return { folder, path };
}

async function names(state: OpenState): Promise<string[]> {
  return (await state.keys.list({ withDeleted: false, afterId: '', limit: 10 })).map(({ name }) => name);
}

/** Runs this as a user whom the modes of files bind: root may write anything. */
function bound<T>(work: () => T): T {
  if (process.geteuid?.() !== 0) return work();
  process.seteuid?.(OTHER_USER);
  try {
    return work();
  } finally {
    process.seteuid?.(0);
  }
}

test('a file that is only looked at is not made, migrated or changed', async (t) => {
  const { folder, path } = await written(t);
  const before = readFileSync(path);
  const state = openFileToRead(path);
  assert.deepEqual(await names(state), ['app']);
  await assert.rejects(
    state.run(() => state.keys.create(SECRET.replaceAll('a', 'b'), NAMES, Date.now())),
    /written/,
  );
  await state.close();
  assert.deepEqual(readFileSync(path), before);
  assert.deepEqual(readdirSync(folder), ['state.db']);

  addStep(t, MIGRATIONS, 'SELECT 1');
  assert.throws(() => openFileToRead(path), /written by an older inf-gw/);
  assert.deepEqual(readFileSync(path), before);

  const missing = { kind: 'file', path: join(folder, 'missing.db') } as const;
  await assert.rejects(openStateToRead(missing, 'full'), /no state file at .*missing\.db; `serve`/);
  assert.equal(isUnwritable(missing.path), false);
});

test('a file that cannot be written is shown, beside a gateway that writes it and without one', async (t) => {
  const { folder, path } = await written(t);
  chmodSync(folder, 0o755);
  chmodSync(path, 0o444);
  assert.equal(
    bound(() => isUnwritable(path)),
    true,
  );
  const copy = bound(() => openFileToRead(path));
  assert.deepEqual(await names(copy), ['app']);
  await copy.close();
  assert.deepEqual(readdirSync(folder), ['state.db']);

  chmodSync(path, 0o600);
  const writer = openState(path, 'crash');
  await writer.keys.create(SECRET.replaceAll('a', 'c'), { ...NAMES, name: 'second' }, Date.now());
  for (const file of readdirSync(folder)) chmodSync(join(folder, file), 0o444);
  const beside = bound(() => openFileToRead(path));
  assert.deepEqual(await names(beside), ['app', 'second']);
  await beside.close();
  await writer.close();
});

const OPENER = fileURLToPath(new URL('../../src/state/open.ts', import.meta.url));

/** Opens a state in a process of its own. Returns which of the stores' packages that has loaded. */
async function loadedFor(t: TestContext, location: StateLocation): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-open-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const script = `
    const { openState } = await import(${JSON.stringify(OPENER)});
    const state = await openState(${JSON.stringify(location)}, 'crash');
    await state.keys.list({ withDeleted: true });
    await state.close();
    const { Module } = await import('node:module');
    const paths = Object.keys(Module._cache).join('\\n');
    console.log(['better-sqlite3', 'pg'].filter((name) => paths.includes('/node_modules/' + name + '/')).join());`;
  const { status, stdout, stderr } = await runNode(['--input-type=module', '--eval', script], { directory });
  assert.equal(status, 0, stderr);
  return stdout.trim().split(',');
}

test('a state file is opened without the packages for a database', async (t) => {
  assert.deepEqual(await loadedFor(t, { kind: 'file', path: 'state.db' }), ['better-sqlite3']);
});

test('a database is opened without the packages for a state file', async (t) => {
  const server = await PostgresServer.shared();
  assert.deepEqual(await loadedFor(t, locationOf(await server.createDatabase())), ['pg']);
});
