/** A state in a database, where that differs from one in a file: its tables, its locks, its rights, its outages. */
import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import fc from 'fast-check';
import pg from 'pg';
import { UserError } from '../../src/core/errors.ts';
import { Layout } from '../../src/core/layout.ts';
import { examineDatabase, openState } from '../../src/state/open.ts';
import { arraysFor } from '../../src/state/postgres/batch.ts';
import { Database } from '../../src/state/postgres/database.ts';
import { grantsFor } from '../../src/state/postgres/rights.ts';
import { MIGRATIONS } from '../../src/state/postgres/schema.ts';
import type { OpenState } from '../../src/state/state.ts';
import { addStep } from '../support/made-up-step.ts';
import { PostgresServer } from '../support/postgres.ts';
import { until } from '../support/wait.ts';
import { addressOf, locationOf } from './database-stage.ts';
import { done, makeKey, NOON, USD } from './stage.ts';

/** How often several commands meet at an empty database: in one of five times a mistake has shown. */
const ROUNDS = 8;

let server: PostgresServer;
before(async () => {
  server = await PostgresServer.start();
});
after(() => server.stop());

async function opened(t: TestContext, url: string): Promise<OpenState> {
  const state = await openState(locationOf(url), 'full');
  t.after(() => state.close());
  return state;
}

async function fresh(t: TestContext) {
  const url = await server.createDatabase();
  const database = new URL(url).pathname.slice(1);
  return { url, database, state: await opened(t, url) };
}

/** Another program that works on the database. */
async function stranger(t: TestContext, url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  t.after(() => client.end());
  return client;
}

/** What an operation says that must fail for a reason that the operator can do something about. */
async function linesOf(state: OpenState, work: () => Promise<unknown>): Promise<readonly string[]> {
  const error: unknown = await state.run(work).then(
    () => assert.fail('it did not fail'),
    (reason) => reason,
  );
  assert.ok(error instanceof UserError, String(error));
  return error.lines;
}

describe('looking at a database', () => {
  const addressOf = (url: string) => {
    const location = locationOf(url);
    assert.ok(location.kind === 'postgres');
    return location.address;
  };

  test('makes nothing, and tells what the user may do', async (t) => {
    const url = await server.createDatabase();
    const before = await examineDatabase(addressOf(url));
    assert.deepEqual([before.version, before.isAllowed], [0, true]);
    assert.equal((await examineDatabase(addressOf(url))).version, 0);
    await opened(t, url);
    const after = await examineDatabase(addressOf(url));
    assert.equal(after.mayLose, undefined);
    assert.deepEqual([after.version, after.newest, after.isAllowed], [before.newest, before.newest, true]);
    assert.match(after.server, /^\d+\./);
    const visitor = new URL(url);
    const database = visitor.pathname.slice(1);
    await server.query("CREATE ROLE visitor LOGIN PASSWORD 'visits'", database);
    Object.assign(visitor, { username: 'visitor', password: 'visits' });
    await server.query(
      'GRANT USAGE ON SCHEMA inf_gw TO visitor; GRANT SELECT ON inf_gw.migrations TO visitor',
      database,
    );
    assert.equal((await examineDatabase(addressOf(visitor.href))).isAllowed, false);
    for (const statement of grantsFor('visitor')) await server.query(statement, database);
    assert.equal((await examineDatabase(addressOf(visitor.href))).isAllowed, true);
  });

  test('tells where nobody waits for the disk', async () => {
    const url = await server.createDatabase();
    await server.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`);
    assert.equal((await examineDatabase(addressOf(url))).mayLose, 'disk');
  });

  test('fails with a line on what is wrong, and one on what to do', async () => {
    const closed = addressOf('postgres://gateway:secret@127.0.0.1:9/gateway');
    await assert.rejects(examineDatabase(closed), (error: UserError) => {
      assert.match(error.lines.join('\n'), /nothing listens there \(.*\)\nstart the database server/);
      assert.ok(!error.message.includes('secret'));
      return true;
    });
  });
});

describe('opening a database', () => {
  test('makes its tables, once, and says so without the password', async (t) => {
    const { url, state } = await fresh(t);
    const { host, pathname } = new URL(url);
    assert.equal(state.created, `the tables in postgres://gateway:***@${host}${pathname}`);
    assert.equal((await opened(t, url)).created, undefined);
  });

  test('makes them once if several commands are the first', async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      const url = await server.createDatabase();
      const states = await Promise.all([1, 2, 3, 4].map(() => opened(t, url)));
      assert.equal(states.filter(({ created }) => created !== undefined).length, 1);
      await makeKey(states[0] as OpenState, { name: 'app' });
      for (const { keys } of states) assert.equal((await keys.find('app'))?.name, 'app');
    }
  });

  test('takes the steps that its tables have not had, once, and keeps what is in them and the rights of roles', async (t) => {
    const { url, database, state } = await fresh(t);
    const key = await makeKey(state, { name: 'app' });
    await server.query("CREATE ROLE earlier LOGIN PASSWORD 'reads'");
    for (const statement of grantsFor('earlier')) await server.query(statement, database);
    addStep(t, MIGRATIONS, 'CREATE TABLE inf_gw.made_up AS SELECT id FROM inf_gw.keys');
    const { version, newest } = await examineDatabase(addressOf(url));
    assert.equal(version + 1, newest);
    const states = await Promise.all([1, 2, 3, 4].map(() => opened(t, url)));
    for (const { created, keys } of states) assert.deepEqual([created, await keys.find('app')], [undefined, key]);
    assert.equal((await examineDatabase(addressOf(url))).version, newest);
    const role = await stranger(t, Object.assign(new URL(url), { username: 'earlier', password: 'reads' }).href);
    assert.deepEqual((await role.query('SELECT id FROM inf_gw.made_up')).rows, [{ id: key.id }]);
  });

  test('of which a step fails leaves its tables as they were', async (t) => {
    const { url } = await fresh(t);
    const { version } = await examineDatabase(addressOf(url));
    addStep(t, MIGRATIONS, 'DROP TABLE inf_gw.refusals; SELECT FROM inf_gw.nowhere');
    await assert.rejects(opened(t, url), /nowhere/);
    assert.equal((await examineDatabase(addressOf(url))).version, version);
    await (await stranger(t, url)).query('SELECT FROM inf_gw.refusals');
  });

  test('fails if a newer version has changed its tables, and leaves them alone', async (t) => {
    const { url, database } = await fresh(t);
    await server.query('INSERT INTO inf_gw.migrations (version) VALUES (1000)', database);
    await assert.rejects(opened(t, url), (error) => error instanceof UserError && /version 1000/.test(error.message));
  });
});

describe('a lock', () => {
  test('on the account holds up edits of keys, which are in one order with all decisions, and nothing else', async (t) => {
    const { url, state } = await fresh(t);
    await makeKey(state, { name: 'app' });
    const other = await stranger(t, url);
    await other.query('BEGIN; SELECT FROM inf_gw.account FOR UPDATE');
    await makeKey(state);
    assert.deepEqual(await state.account.balance(), { balanceNanos: 0n, heldNanos: 0n });
    const lines = await linesOf(state, () => state.keys.setState('app', 'disabled'));
    assert.match(lines.join(' '), /another transaction holds a lock.*pg_stat_activity/);
    const edit = state.keys.setLimits('app', { rpm: 1 });
    await other.query('ROLLBACK');
    assert.equal(done(await edit).rpm, 1);
    assert.equal((await state.keys.find('app'))?.state, 'enabled');
  });

  test('that is never given back ends an entry with an error that says what to do, and nothing is entered', async (t) => {
    const { url, state } = await fresh(t);
    const other = await stranger(t, url);
    await other.query('BEGIN; SELECT FROM inf_gw.account FOR UPDATE');
    const lines = await linesOf(state, () => state.account.enter(USD, '', NOON));
    assert.match(lines.join(' '), /another transaction holds a lock.*pg_stat_activity/);
    await other.query('ROLLBACK');
    assert.deepEqual(await state.account.history(), []);
    assert.equal((await state.account.enter(USD, '', NOON))?.balanceNanos, USD);
  });

  test('of a command that has stopped halfway ends by itself, and nothing of the command is done', async (t) => {
    const { url, state } = await fresh(t);
    const { database: halfway } = await Database.open(addressOf(url));
    t.after(() => halfway.close());
    const [locked, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const command = halfway.transaction(async (run) => {
      await run('UPDATE inf_gw.account SET balance_nanos = 7');
      locked.resolve();
      await stopped.promise;
      await run('UPDATE inf_gw.account SET balance_nanos = 8');
    });
    const failure = assert.rejects(command);
    await locked.promise;
    await (await stranger(t, url)).query('SELECT FROM inf_gw.account FOR UPDATE');
    stopped.resolve();
    await failure;
    assert.deepEqual(await state.account.balance(), { balanceNanos: 0n, heldNanos: 0n });
  });
});

test('a list of requests reads only months in which there are such requests', async (t) => {
  const { url, state } = await fresh(t);
  const { id } = await makeKey(state);
  const client = await stranger(t, url);
  const figures = `'${id}', 'mock/echo', 'reported', 1, 1, 0, 0, 0, 0, 0`;
  await client.query(`INSERT INTO inf_gw.journal (id, request_id, key_id, model, admitted_at_ms, settled_at_ms, outcome, source,
      prompt_tokens, cached_tokens, completion_tokens, cost_nanos, cache_write_tokens, hold_nanos)
    VALUES (1, 'req_old', '${id}', 'mock/echo', ${Date.UTC(2020, 2, 31, 23)}, 0, 'upstream_error', 'reported', 0, 0, 0, 0, 0, 0);
    INSERT INTO inf_gw.usage_days VALUES ('2020-03-31', ${figures}, '[]');
    INSERT INTO inf_gw.usage_months VALUES ('2020-03', ${figures}, 0)`);
  await client.query(`BEGIN; DO $$ DECLARE v_month regclass; BEGIN
    FOR v_month IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'inf_gw.journal'::regclass LOOP
      IF v_month <> 'inf_gw.journal_other'::regclass THEN EXECUTE format('LOCK TABLE %s', v_month); END IF;
    END LOOP;
  END $$`);
  const query = { sinceMs: undefined, limit: 50 };
  for (const part of [
    { keyId: id, errors: false },
    { keyId: id, errors: true },
    { keyId: undefined, errors: true },
  ]) {
    const listed = await state.requests.list({ ...query, ...part });
    assert.deepEqual(
      listed.map((request) => request.id),
      ['req_old'],
    );
  }
  assert.deepEqual(await state.requests.list({ ...query, keyId: 'key_of_nobody', errors: false }), []);
});

test('what gateways send is what the database reads, whatever is in the texts', async (t) => {
  const { url } = await fresh(t);
  const client = await stranger(t, url);
  const fields = { name: 'text', tokens: 'number', nanos: 'nanos', free: 'flag' } as const;
  type Sent = { name: string; tokens: number; nanos: bigint | undefined; free: boolean };
  const layout = new Layout<Sent>(fields);
  // No text of PostgreSQL has a NUL.
  const text = fc.oneof(
    fc.string({ unit: 'binary' }).map((any) => any.replaceAll('\0', '')),
    fc.constantFrom('NULL', '', '\\', '"', '{}', ','),
  );
  const sent = fc.record({
    name: text,
    tokens: fc.maxSafeInteger(),
    nanos: fc.option(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), { nil: undefined }),
    free: fc.boolean(),
  });
  const read =
    'SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::boolean[]) AS s (name, tokens, nanos, free)';
  await fc.assert(
    fc.asyncProperty(fc.array(sent), async (records) => {
      const { rows } = await client.query(read, arraysFor(layout, records));
      const expected = records.map(({ tokens, nanos, ...same }) => ({
        ...same,
        tokens: `${tokens}`,
        nanos: nanos?.toString() ?? null,
      }));
      assert.deepEqual(
        rows.map((row) => ({ ...row })),
        expected,
      );
    }),
  );
});

describe('an outage', () => {
  test('fails what is asked meanwhile, naming host, database and user; afterwards all is as before', async (t) => {
    const url = await server.createDatabase();
    const state = await opened(t, url);
    await state.account.enter(USD, '', NOON);
    await server.crash();
    const { host, pathname, password } = new URL(url);
    for (const work of [
      () => state.account.balance(),
      () => state.account.enter(USD, '', NOON),
      () => state.hasChanged(),
    ]) {
      const lines = await linesOf(state, work);
      const [first = ''] = lines;
      assert.ok(lines.length > 1 && first.includes(host) && first.includes(pathname.slice(1)), lines.join('\n'));
      assert.ok(first.includes('gateway') && !lines.join('\n').includes(password));
    }
    await server.restart();
    await until(async () => (await state.account.balance()).balanceNanos === USD);
    assert.equal((await state.account.history()).length, 1);
  });

  test('of the connection alone undoes what runs on it; the next question has another', async (t) => {
    const { url, database, state } = await fresh(t);
    await makeKey(state, { name: 'app' });
    const other = await stranger(t, url);
    await other.query('BEGIN; SELECT FROM inf_gw.keys FOR UPDATE');
    const said = linesOf(state, () => state.keys.setState('app', 'disabled'));
    const waiting = `FROM pg_stat_activity WHERE datname = '${database}' AND wait_event_type = 'Lock'`;
    await until(async () => (await server.query(`SELECT ${waiting}`)).length === 1);
    await server.query(`SELECT pg_terminate_backend(pid) ${waiting}`);
    assert.match((await said).join(' '), /ended the query or the connection/);
    await other.query('ROLLBACK');
    await until(() =>
      state.hasChanged().then(
        () => true,
        () => false,
      ),
    );
    assert.equal((await state.keys.find('app'))?.state, 'enabled');
    assert.equal(done(await state.keys.setState('app', 'disabled')).state, 'disabled');
  });
});

test('a role with the rights of a gateway can look at everything, and is told why it can change nothing', async (t) => {
  const { url, database, state } = await fresh(t);
  const key = await makeKey(state, { name: 'app' });
  await server.query("CREATE ROLE looker LOGIN PASSWORD 'looks'");
  for (const statement of grantsFor('looker')) await server.query(statement, database);
  const asLooker = Object.assign(new URL(url), { username: 'looker', password: 'looks' }).href;
  const looker = await opened(t, asLooker);
  assert.deepEqual(await looker.keys.find('app'), key);
  const everything = { by: 'day', keyId: undefined, model: undefined, sinceMs: NOON, untilMs: NOON + 1 } as const;
  assert.deepEqual((await looker.usage.report(everything)).rows, []);
  assert.deepEqual(await looker.account.history(), []);
  assert.deepEqual([await looker.hasChanged(), await looker.hasChanged()], [true, false]);
  const lines = await linesOf(looker, () => looker.keys.setState('app', 'disabled'));
  assert.match(lines.join('\n'), /lacks a privilege/);
  assert.deepEqual(await state.keys.find('app'), key);
});
