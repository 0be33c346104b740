/** `state migrate` moves everything in both directions, into an empty state only, and not at all if anything fails. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, type TestContext, test } from 'node:test';
import { CONFIG, type Serving, Workplace } from '../support/cli.ts';
import { contentsOf, edit, fill, TABLES } from '../support/full-file.ts';
import { PostgresServer } from '../support/postgres.ts';

let server: PostgresServer;
before(async () => {
  server = await PostgresServer.shared();
});

/** A folder without a state yet, its config for a file, and `shared.yaml` for an empty database. */
async function open(t: TestContext) {
  const url = await server.createDatabase();
  const database = new URL(url).pathname.slice(1);
  const file = new Workplace(t);
  file.write('shared.yaml', `${CONFIG.replace('./state.db', url)}node: here\n`);
  return {
    file,
    url,
    database,
    /** Moves the file, or with `-c shared.yaml` the database. */
    migrate: (to: string, ...words: string[]) => file.run(['state', 'migrate', '--to', to, ...words]),
    serveShared: (): Promise<Serving> => file.serveHere('shared.yaml'),
    /** The number of rows in these tables of the database. */
    rowsIn: async (...tables: string[]) => {
      const counts = tables.map((table) => `(SELECT count(*) FROM inf_gw.${table})`).join(' + ');
      const [row] = await server.query(`SELECT (${counts})::int AS rows`, database);
      return row?.rows as number;
    },
  };
}

describe('`state migrate`', () => {
  test('moves everything from a file to a database and back, and leaves the source as it is', async (t) => {
    const { file, url, database, migrate, rowsIn } = await open(t);
    fill(file.statePath);
    const original = contentsOf(file.statePath);
    for (const table of TABLES) assert.notEqual(original[table]?.length, 0, table);

    const there = await migrate(url);
    assert.equal(there.status, 0, there.stderr);
    assert.match(there.stderr, /^created the tables in postgres:\/\/gateway:\*\*\*@127\.0\.0\.1:\d+\/gateway_\d+\n$/);
    assert.match(there.stdout, /^TABLE +ROWS\nkeys +4\n/);
    assert.match(
      there.stdout,
      /Both sides agree\.\n1 request had been left open; the next start charges what was held\.\n/,
    );
    assert.match(
      there.stdout,
      /state\.db is as it was\. Now set in \S+config\.yaml, with the password in place of \*\*\*:\n {2}state: postgres:\/\/gateway:\*\*\*@127\.0\.0\.1:\d+\/gateway_\d+\n$/,
    );
    assert.deepEqual(contentsOf(file.statePath), original, 'the source');
    assert.equal((await file.json<{ ok: boolean }>('audit', '-c', 'shared.yaml')).ok, true);

    const back = await file.json<{ rows: Record<string, number>; to: string }>(
      ...['state', 'migrate', '-c', 'shared.yaml', '--to', './back/again.db'],
    );
    const path = join(file.directory, 'back/again.db');
    assert.deepEqual([back.to, back.rows.journal], [path, original.journal?.length]);
    assert.deepEqual(contentsOf(path), original);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(await rowsIn('holds', 'keys'), 5, 'the source');
    assert.equal(await rowsIn('journal_other'), 0, 'rows of months without a partition');
    await file.json('credit', 'add', '1', '-c', 'shared.yaml');
    const [next] = await server.query(
      `SELECT max(id)::int AS entry, (SELECT (nextval('inf_gw.journal_ids') - max(id))::int FROM inf_gw.journal) AS row
         FROM inf_gw.credit_entries`,
      database,
    );
    assert.deepEqual(next, { entry: 2, row: 1 }, 'the numbers after those that were moved');
  });

  test('takes the limits of the last minute along, in both directions, and is refused while gateways run', async (t) => {
    const { file, url, migrate, serveShared } = await open(t);
    const { key } = await file.createKey('app', '--rpm', '2');
    const local = await file.serveHere();
    for (const expected of ['200', '200', '429 rate_limited']) assert.equal(await local.chatOutcome(key), expected);
    for (const target of [url, './early.db']) {
      assert.match((await migrate(target)).stderr, /^error: a gateway is running on \S+state\.db; stop it first\n$/);
    }
    assert.deepEqual(
      readdirSync(file.directory).filter((name) => name.startsWith('early')),
      [],
    );
    await local.stop();
    assert.equal((await migrate(url)).status, 0);
    const shared = await serveShared();
    assert.equal(await shared.chatOutcome(key), '429 rate_limited');
    const running =
      /error: 1 gateway running on postgres:\S+: here \(heard of \d s ago\)\nerror: stop them first; one that was killed counts as running for 8 s\n$/;
    assert.match((await migrate(url)).stderr, running);
    assert.match((await migrate('./again.db', '-c', 'shared.yaml')).stderr, running);
    await shared.stop();
    assert.equal((await migrate('./again.db', '-c', 'shared.yaml')).status, 0);
    file.write('again.yaml', CONFIG.replace('state.db', 'again.db'));
    const again = await file.serveHere('again.yaml');
    assert.equal(await again.chatOutcome(key), '429 rate_limited');
    await again.stop();
  });

  test('moves a request that a killed gateway left open, which the next start charges as held', async (t) => {
    const { file, url, migrate, database } = await open(t);
    fill(file.statePath);
    assert.equal((await migrate(url)).status, 0);
    assert.equal((await migrate('./again.db', '-c', 'shared.yaml')).status, 0);
    const { available_usd: available } = await file.json<{ available_usd: string }>(
      'credit',
      'show',
      '-c',
      'shared.yaml',
    );
    const [reaped] = await server.query('SELECT settled::int FROM inf_gw.reap()', database);
    assert.equal(reaped?.settled, 1);
    const { balance_usd: balance } = await file.json<{ balance_usd: string }>('credit', 'show', '-c', 'shared.yaml');
    assert.equal(balance, available);
    const [row] = await file.json<{ id: string; outcome: string }[]>('requests', 'list', '-c', 'shared.yaml');
    assert.deepEqual([row?.id, row?.outcome], ['req_open', 'interrupted']);
    assert.equal((await file.json<{ ok: boolean }>('audit', '-c', 'shared.yaml')).ok, true);
    file.write('again.yaml', CONFIG.replace('state.db', 'again.db'));
    await (await file.serveHere('again.yaml')).stop();
    assert.deepEqual(await file.json('credit', 'show', '-c', 'again.yaml'), {
      balance_usd: available,
      held_usd: '0.00',
      available_usd: available,
    });
  });

  test('leaves behind what the database has lost of its log, once an operator has taken note of it', async (t) => {
    const { file, url, database, migrate } = await open(t);
    fill(file.statePath);
    assert.equal((await migrate(url)).status, 0);
    await server.query(`INSERT INTO inf_gw.losses VALUES ('here', 2, 0, 1, 0, 0, 0, 0)`, database);
    const refused = await migrate('./again.db', '-c', 'shared.yaml');
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /nothing was moved[\s\S]*losses: the database has lost entry 2 of the log/);
    await file.json('audit', '--accept-losses', '-c', 'shared.yaml');
    assert.equal((await migrate('./again.db', '-c', 'shared.yaml')).status, 0);
  });

  test('moves from file to file, and from database to database', async (t) => {
    const { file, url, migrate, database } = await open(t);
    fill(file.statePath);
    assert.equal((await migrate('copy.db')).status, 0);
    assert.deepEqual(contentsOf(join(file.directory, 'copy.db')), contentsOf(file.statePath));
    assert.equal((await migrate(url)).status, 0);
    const other = await server.createDatabase();
    const moved = await migrate(other, '-c', 'shared.yaml');
    assert.equal(moved.status, 0, moved.stderr);
    const all = `SELECT md5(string_agg(row_to_json(j)::text, ',' ORDER BY id)) AS sum FROM inf_gw.journal j`;
    assert.deepEqual(await server.query(all, new URL(other).pathname.slice(1)), await server.query(all, database));
  });

  test('goes only to an empty state, and never to its own', async (t) => {
    const { file, url, migrate } = await open(t);
    await file.createKey('app');
    assert.match(
      (await migrate('./state.db')).stderr,
      /^error: \S+state\.db is where the state is already; name another/,
    );
    assert.equal((await migrate('./other.db')).status, 0);
    assert.match((await migrate('./other.db')).stderr, /^error: \S+other\.db is not empty; name a file that does not/);
    assert.equal((await migrate(url)).status, 0);
    assert.match((await migrate(url)).stderr, /^error: postgres:\S+ is not empty: it has keys\nerror: move to another/);
    file.write('foreign', 'somebody else’s');
    const foreign = await migrate('./foreign');
    assert.equal(foreign.status, 1);
    assert.equal(file.read('foreign').toString(), 'somebody else’s');
    // Empty, but there.
    await file.json('keys', 'delete', 'app', '--yes');
    file.write('empty.yaml', CONFIG.replace('state.db', 'empty.db'));
    await file.json('credit', 'add', '1', '-c', 'empty.yaml');
    edit(join(file.directory, 'empty.db'), (database) =>
      database.exec('DELETE FROM credit_entries; UPDATE account SET balance_nanos = 0'),
    );
    assert.equal((await migrate('./empty.db')).status, 0);
    assert.deepEqual(contentsOf(join(file.directory, 'empty.db')), contentsOf(file.statePath));
  });

  test('needs a source that is there, that agrees with itself, and words that it understands', async (t) => {
    const { file, url, migrate, rowsIn } = await open(t);
    assert.match((await migrate(url)).stderr, /error: no state file at \S+state\.db: there is nothing to move/);
    const bare = await migrate('./x.db', '-c', 'shared.yaml');
    assert.equal(bare.status, 1, 'no tables: the move that failed has made none');
    await file.json('keys', 'list', '-c', 'shared.yaml');
    const empty = await migrate('./x.db', '-c', 'shared.yaml');
    assert.equal(empty.status, 0, 'tables without rows');
    await file.json('credit', 'add', '5');
    edit(file.statePath, (database) => database.exec('UPDATE account SET balance_nanos = 1'));
    const broken = await migrate(url);
    assert.equal(broken.status, 1);
    assert.match(
      broken.stderr,
      /^error: the state does not agree with itself, so nothing was moved;.*\nerror: balance: the/,
    );
    assert.equal(await rowsIn('credit_entries'), 0);
    assert.match((await migrate('mysql://x@y/z')).stderr, /^error: --to: expected the path of a file, or postgres:/);
    const wrong = await migrate('postgres://user:se%cret@/x');
    assert.equal(wrong.status, 1);
    assert.doesNotMatch(wrong.stderr, /cret/);
    assert.equal((await file.run(['state', 'migrate'])).status, 2);
  });

  test('takes variables for passwords, as the config does', async (t) => {
    const { file, url, migrate } = await open(t);
    await file.createKey('app');
    file.environment.DB_PASSWORD = new URL(url).password;
    const address = new URL(url);
    const to = `postgres://gateway:\${DB_PASSWORD}@${address.host}${address.pathname}`;
    assert.equal((await migrate(to)).status, 0);
    assert.match((await migrate(to.replace('DB_P', 'NO_P'))).stderr, /--to: the variable NO_PASSWORD is not set/);
  });

  test('leaves the target empty when it fails, and then can be repeated', async (t) => {
    const { file, url, migrate, rowsIn, database } = await open(t);
    fill(file.statePath);
    await file.json('keys', 'list', '-c', 'shared.yaml');
    const failing = {
      'journal: BEFORE INSERT': [
        "RAISE EXCEPTION 'no' USING ERRCODE = '53100'",
        /the disk of the database server is full/,
      ],
      'keys: BEFORE INSERT': [
        'NEW.rpm = NULL',
        /the copy of keys differs: rpm is 0, but the source has 2; nothing was moved/,
      ],
      'account: BEFORE UPDATE': [
        'NEW.held_nanos = 5',
        /the copy does not agree with itself, .*\nerror: held: the account holds/,
      ],
    } as const;
    for (const [when, [what, error]] of Object.entries(failing)) {
      const [table, event] = when.split(': ');
      await server.query(
        `CREATE FUNCTION public.wrong() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${what}; RETURN NEW; END $$;
         CREATE TRIGGER wrong ${event} ON inf_gw.${table} FOR EACH ROW EXECUTE FUNCTION public.wrong()`,
        database,
      );
      const failed = await migrate(url);
      assert.equal(failed.status, 1);
      assert.match(failed.stderr, error);
      assert.equal(await rowsIn('keys', 'holds', 'nodes', 'usage_months', 'journal', 'credit_entries'), 0);
      await server.query('DROP FUNCTION public.wrong CASCADE', database);
    }
    assert.equal((await migrate(url)).status, 0);

    // In the other direction a figure goes missing on the way.
    file.write('again.db.migrating', 'left by a process that was killed');
    await server.query('UPDATE inf_gw.usage_days SET requests = requests + 1', database);
    assert.equal((await migrate('./again.db', '-c', 'shared.yaml')).status, 1);
    assert.deepEqual(
      readdirSync(file.directory).filter((name) => /^again\.db(?!-lock)/.test(name)),
      [],
    );
    await server.query('UPDATE inf_gw.usage_days SET requests = requests - 1', database);
    assert.equal((await migrate('./again.db', '-c', 'shared.yaml')).status, 0);
    assert.ok(existsSync(join(file.directory, 'again.db')));
  });
});
