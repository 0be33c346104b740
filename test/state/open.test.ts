/** Opening a state loads the parts of the one store that keeps it, and of no other. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { StateLocation } from '../../src/core/state-location.ts';
import { runNode } from '../support/cli.ts';
import { PostgresServer } from '../support/postgres.ts';
import { locationOf } from './database-stage.ts';

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
