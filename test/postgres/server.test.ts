/** The PostgreSQL server of the tests: real, private, and gone with the process that started it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import pg from 'pg';
import { PostgresServer } from '../support/postgres.ts';
import { until } from '../support/wait.ts';

const MODULE = new URL('../support/postgres.ts', import.meta.url).href;

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

test('it is PostgreSQL 17, and a gateway owns its database and nothing else', async (t) => {
  const server = await PostgresServer.start({ settings: { max_connections: '20' } });
  t.after(() => server.stop());
  const [first, second] = [await server.createDatabase(), await server.createDatabase()];
  assert.notEqual(first, second);
  const client = new pg.Client({ connectionString: first });
  await client.connect();
  const { rows } = await client.query(
    `SELECT current_setting('server_version_num')::int / 10000 AS version, current_setting('max_connections') AS settings,
       rolsuper OR rolcreatedb OR rolcreaterole AS is_mighty, has_schema_privilege('public', 'CREATE') AS owns
     FROM pg_roles WHERE rolname = current_user`,
  );
  assert.deepEqual(rows, [{ version: 17, settings: '20', is_mighty: false, owns: true }]);
  await client.end();
});

test('a crash is one: what was committed is kept, and unlogged tables are emptied', async (t) => {
  const server = await PostgresServer.start();
  t.after(() => server.stop());
  await server.query('CREATE TABLE notes (text text); CREATE UNLOGGED TABLE unlogged (text text)');
  await server.query("INSERT INTO notes VALUES ('kept'); INSERT INTO unlogged VALUES ('lost'); CHECKPOINT");
  await server.crash();
  assert.equal(await isListening(server.port), false);
  await server.restart();
  assert.deepEqual(await server.query('SELECT text FROM notes'), [{ text: 'kept' }]);
  assert.deepEqual(await server.query('SELECT text FROM unlogged'), []);
});

test('nothing is left of a stopped server', async () => {
  const server = await PostgresServer.start();
  await server.stop();
  assert.deepEqual([await isListening(server.port), existsSync(server.folder)], [false, false]);
  await server.stop();
});

test('nothing is left of a server whose test was killed', async () => {
  const script = `
    import { PostgresServer } from '${MODULE}';
    const { port, folder } = await PostgresServer.start();
    console.log(JSON.stringify({ port, folder }));
    setInterval(() => {}, 1_000);`;
  const killed = spawn(process.execPath, ['--input-type=module-typescript', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(killed.stdout), 'line')) as [string];
  const { port, folder } = JSON.parse(line) as { port: number; folder: string };
  assert.deepEqual([await isListening(port), existsSync(folder)], [true, true]);
  killed.kill('SIGKILL');
  await until(async () => !existsSync(folder) && !(await isListening(port)));
});
