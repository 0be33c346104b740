/** Connections to a database that goes away, falls silent or comes back, and what is made of their errors. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type pg from 'pg';
import { UserError } from '../../src/core/errors.ts';
import { type PostgresAddress, parsePostgresAddress } from '../../src/core/postgres-address.ts';
import { connect, disconnect, query, queryRows, SilentDatabaseError } from '../../src/state/postgres/connect.ts';
import { explained, faultOf } from '../../src/state/postgres/faults.ts';
import { openServer, refusePooler } from '../../src/state/postgres/server.ts';
import { Link } from '../support/link.ts';
import { PostgresServer } from '../support/postgres.ts';
import { bounded, until } from '../support/wait.ts';

const NAME = 'inf-gw test';
/** Longer than any answer takes here. */
const PATIENT_MS = 40_000;

let server: PostgresServer;
let url: string;
before(async () => {
  server = await PostgresServer.start();
  url = await server.createDatabase();
});
after(() => server.stop());

function addressOf(text: string): PostgresAddress {
  const parsed = parsePostgresAddress(text, '/');
  assert.ok(parsed.kind === 'address');
  return parsed.address;
}

/** A link to the server, and a connection through it. */
async function linked(scope: {
  after(cleanUp: () => Promise<void>): void;
}): Promise<{ link: Link; client: pg.Client }> {
  const link = await Link.open(server.port);
  const client = await connect(addressOf(link.through(url)), NAME);
  scope.after(async () => {
    await disconnect(client);
    await link.close();
  });
  return { link, client };
}

function endOf(client: pg.Client): Promise<void> {
  return new Promise((resolve) => client.on('end', resolve));
}

/** The error of a query. */
async function errorOf(work: Promise<unknown>): Promise<Error> {
  const error: unknown = await bounded(work, 'the query ends').then(
    () => assert.fail('it must not succeed'),
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof Error);
  return error;
}

function kindOf(error: Error): string {
  return faultOf(error, addressOf(url))?.kind ?? 'internal';
}

describe('a connection', () => {
  test('says what it is for, and reads what it has written', async (t) => {
    const { client } = await linked(t);
    const { rows } = await query(
      client,
      { text: 'SELECT $1::int AS n, application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()', values: [7] },
      PATIENT_MS,
    );
    assert.deepEqual(rows, [{ n: 7, application_name: NAME }]);
  });

  test('gives an answer row by row, and can be used after one that failed in the middle, also in its reader', async (t) => {
    const { client } = await linked(t);
    const read = async (text: string, onRow: (n: number) => void) =>
      queryRows<{ n: number }>(client, { text }, PATIENT_MS, ({ n }) => onRow(n));
    const seen: number[] = [];
    await read('SELECT n FROM generate_series(1, 5000) n', (n) => seen.push(n));
    assert.deepEqual([seen.length, seen.at(-1)], [5_000, 5_000]);
    seen.length = 0;
    const failing = 'SELECT 10 / (3000 - n) AS n FROM generate_series(1, 5000) n';
    assert.match((await errorOf(read(failing, (n) => seen.push(n)))).message, /division by zero/);
    assert.ok(seen.length < 3_000);
    const stumble = () => assert.fail('the reader stumbles');
    assert.match((await errorOf(read('SELECT 1 AS n', stumble))).message, /stumbles/);
    await read('SELECT 7 AS n', (n) => seen.push(n));
    assert.equal(seen.at(-1), 7);
  });

  test('is closed when an answer does not come in time, and its query fails', async (t) => {
    const { link, client } = await linked(t);
    const ended = endOf(client);
    link.silence();
    const error = await errorOf(query(client, 'SELECT 1', 50));
    assert.ok(error instanceof SilentDatabaseError);
    assert.equal(kindOf(error), 'other');
    await bounded(ended, 'the connection ends');
    assert.equal(kindOf(await errorOf(query(client, 'SELECT 1', PATIENT_MS))), 'other');
  });

  test('stays open when the answer is there, but this process was too busy to read it', async (t) => {
    // Without a link, which would be as busy.
    const client = await connect(addressOf(url), NAME);
    t.after(() => disconnect(client));
    const answer = query(client, 'SELECT 1 AS n', 50);
    // The request goes out in this turn of the event loop, and the answer waits in the kernel.
    const endMs = performance.now() + 500;
    while (performance.now() < endMs);
    assert.deepEqual((await answer).rows, [{ n: 1 }]);
  });

  test('that is cut fails its query and ends, and the database is out of reach', async (t) => {
    const { link, client } = await linked(t);
    const ended = endOf(client);
    const failure = errorOf(query(client, 'SELECT pg_sleep(60)', PATIENT_MS));
    link.cut();
    assert.equal(kindOf(await failure), 'other');
    await bounded(ended, 'the connection ends');
    assert.equal(kindOf(await errorOf(query(client, 'SELECT 1', PATIENT_MS))), 'other');
  });

  test('is left in bounded time on a link that is silent', async (t) => {
    const { link, client } = await linked(t);
    link.silence();
    await bounded(disconnect(client), 'the goodbye ends');
  });
});

describe('what an error of the database is taken for', () => {
  test('a lock that another one holds: busy', async (t) => {
    const [{ client: holder }, { client }] = [await linked(t), await linked(t)];
    await query(holder, 'CREATE TABLE locked (n int)', PATIENT_MS);
    await query(holder, 'BEGIN; LOCK TABLE locked', PATIENT_MS);
    await query(client, "SET lock_timeout = '10ms'", PATIENT_MS);
    assert.equal(kindOf(await errorOf(query(client, 'SELECT * FROM locked', PATIENT_MS))), 'busy');
  });

  test('a connection that an operator ends, and a query that one cancels: other', async (t) => {
    const { client } = await linked(t);
    for (const work of ['cancel', 'terminate']) {
      const { rows } = await query<{ pid: number }>(client, 'SELECT pg_backend_pid() AS pid', PATIENT_MS);
      const failure = errorOf(query(client, 'SELECT pg_sleep(60)', PATIENT_MS));
      const isBusy = `SELECT FROM pg_stat_activity WHERE pid = ${rows[0]?.pid} AND wait_event = 'PgSleep'`;
      await until(async () => (await server.query(isBusy)).length > 0);
      await server.query(`SELECT pg_${work}_backend(${rows[0]?.pid})`);
      assert.equal(kindOf(await failure), 'other', work);
    }
  });

  test('tables that are gone, as while a backup is restored, and an error of the server itself: other', async (t) => {
    const { client } = await linked(t);
    const own = `DO $$ BEGIN RAISE EXCEPTION 'cache lookup failed for function 1' USING ERRCODE = 'internal_error'; END $$`;
    for (const text of ['SELECT inf_gw.beat()', 'SELECT beat()', 'SELECT * FROM journal', own]) {
      assert.equal(kindOf(await errorOf(query(client, text, PATIENT_MS))), 'other', text);
    }
  });

  test('a mistake in a statement, or in this program: internal', async (t) => {
    const { client } = await linked(t);
    const mistakes = ['SELEC', 'SELECT 1 / 0', 'SELECT repeat(NULL, 1)::int + no_such_column'];
    for (const text of mistakes) {
      const error = await errorOf(query(client, text, PATIENT_MS));
      assert.equal(kindOf(error), 'internal', text);
      assert.equal(explained(error, addressOf(url)), error);
    }
    assert.equal(faultOf(new TypeError('undefined is not a function'), addressOf(url)), undefined);
    assert.equal(faultOf('a string', addressOf(url)), undefined);
  });

  test('a message names the database, and says what to do, on one line', async () => {
    const message = faultOf(new SilentDatabaseError(8_000), addressOf(url))?.message ?? '';
    const expected = `the database gateway_1 at 127.0.0.1:${server.port}, as user gateway: no answer within 8 s; if this does not pass, look at the log of the database server`;
    assert.equal(message, expected);
  });
});

test('a server that crashes is out of reach, and can be used again when it is back', async () => {
  const address = addressOf(url);
  const client = await openServer(address, NAME);
  const failure = errorOf(query(client, 'SELECT pg_sleep(60)', PATIENT_MS));
  await server.crash();
  assert.equal(kindOf(await failure), 'other');
  const refused = await errorOf(connect(address, NAME));
  assert.equal(kindOf(refused), 'other');
  assert.ok(explained(refused, address) instanceof UserError);
  await server.restart();
  const again = await openServer(address, NAME);
  await disconnect(again);
});

test('two connections with sessions of their own are let through, and one session for both is refused', async () => {
  const address = addressOf(url);
  const [first, second] = [await connect(address, NAME), await connect(address, NAME)];
  await refusePooler(first, second, address);
  await assert.rejects(refusePooler(first, first, address), (error: unknown) => {
    assert.ok(error instanceof UserError);
    assert.match(error.message, /127\.0\.0\.1.*a pooler in transaction mode\b.*\n.*pool_mode/);
    return true;
  });
  await Promise.all([first, second].map(disconnect));
});
