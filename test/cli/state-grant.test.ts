/** `state grant` gives a role what a gateway needs: it serves with that, and can change nothing by itself. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { SETTLEMENT } from '../../src/state/journal.ts';
import { ARGUMENTS } from '../../src/state/postgres/batch.ts';
import { CONFIG, Workplace } from '../support/cli.ts';
import { PostgresServer } from '../support/postgres.ts';

/** As hostile to quoting as a name can be. */
const ROLE = `Gate"way $$ $r$; 'é%I`;
const PASSWORD = 'secret';
const ROLES = [ROLE, 'bare', 'member'].map((role) => pg.escapeIdentifier(role));

describe('`state grant`', () => {
  let server: PostgresServer;
  let url: string;
  let database: string;
  let place: Workplace;
  const cleanUps: (() => unknown)[] = [];
  /** The superuser's connection. */
  let owner: pg.Client;
  const inDatabase = async (sql: string) => (await owner.query(sql)).rows;
  const asRole = (user: string) =>
    Object.assign(new URL(url), { username: encodeURIComponent(user), password: PASSWORD });

  before(async () => {
    server = await PostgresServer.shared();
    url = await server.createDatabase();
    database = new URL(url).pathname.slice(1);
    for (const role of ROLES) await server.query(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
    await server.query(`GRANT gateway TO member; REVOKE CONNECT ON DATABASE ${database} FROM PUBLIC`);
    owner = new pg.Client({ connectionString: server.adminUrl(database) });
    await owner.connect();
    place = new Workplace({ after: (cleanUp) => cleanUps.push(cleanUp) }, CONFIG.replace('./state.db', url));
    place.write('role.yaml', CONFIG.replace('./state.db', asRole(ROLE).href));
    place.write('file.yaml', CONFIG);
  });
  after(async () => {
    for (const cleanUp of cleanUps) await cleanUp();
    await owner.end();
    for (const role of ROLES) await server.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`, database);
  });

  test('says who got what, and can be repeated; whatever else the role had is gone', async () => {
    const first = await place.run(['state', 'grant', ROLE]);
    assert.deepEqual(
      [first.status, first.stderr.replace(/:\d+\//, '/')],
      [0, `created the tables in postgres://gateway:***@127.0.0.1/${database}\n`],
    );
    assert.match(first.stdout, /can run gateways on postgres:\/\/gateway:\*\*\*@/);
    const quoted = pg.escapeIdentifier(ROLE);
    await inDatabase(`GRANT ALL ON ALL TABLES IN SCHEMA inf_gw TO ${quoted}; GRANT ALL ON SCHEMA inf_gw TO ${quoted};
      GRANT ALL ON ALL FUNCTIONS IN SCHEMA inf_gw TO ${quoted}; GRANT ALL ON ALL SEQUENCES IN SCHEMA inf_gw TO ${quoted}`);
    const { role, state } = await place.json<{ role: string; state: string }>('state', 'grant', ROLE);
    assert.equal(role, ROLE);
    assert.match(state, /^postgres:\/\/gateway:\*\*\*@/);
  });

  test('lets a gateway serve: keys, limits, money, refusals, and its own end', async () => {
    const { key } = await place.createKey('app', '--rpm', '3');
    await place.json('credit', 'add', '5');
    const gateway = await place.serveHere('role.yaml');
    const paid = { model: 'mock/paid', max_tokens: 5 };
    assert.equal(await gateway.chatOutcome(key, paid), '200');
    const stream = await gateway.chat(key, {
      model: 'mock/paid',
      stream: true,
      messages: [{ role: 'user', content: '/words 900' }],
    });
    assert.match(await stream.text(), /\[DONE\]/);
    assert.equal(
      (await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status,
      200,
    );
    await place.json('keys', 'disable', 'app');
    assert.equal(await gateway.chatOutcome(key), '403 api_key_disabled');
    await place.json('keys', 'enable', 'app');
    assert.equal(await gateway.chatOutcome(key), '200');
    assert.equal(await gateway.chatOutcome(key), '429 rate_limited');
    await place.json('status', '-c', 'role.yaml');
    assert.equal(await gateway.stop(), 0);
    assert.doesNotMatch(gateway.text, /permission denied|"level":"(?:error|fatal)"/);
    const [rows] = await inDatabase(`SELECT (SELECT count(*) FROM inf_gw.journal)::int AS journal,
      (SELECT sum(requests) FROM inf_gw.refusals WHERE code = 'rate_limited')::int AS refused,
      (SELECT count(*) FROM inf_gw.nodes WHERE alive_us = 0)::int AS left`);
    assert.deepEqual(rows, { journal: 3, refused: 1, left: 1 });
    const audit = await place.json<{ ok: boolean }>('audit', '-c', 'role.yaml');
    assert.equal(audit.ok, true, 'and it may audit');
  });

  test('lets the role change nothing by itself', async () => {
    const tables = (await inDatabase(`SELECT t.tablename AS name, c.column_name AS "column" FROM pg_tables t
      JOIN information_schema.columns c ON c.table_schema = t.schemaname AND c.table_name = t.tablename
      WHERE t.schemaname = 'inf_gw' AND c.ordinal_position = 2`)) as { name: string; column: string }[];
    assert.ok(tables.length > 15, String(tables));
    const allowed =
      /^(?:append|write_for|shut_out|cut_log|rebuild|settle_late|join_node|beat|leave_node|reap|follow_clock|count_refusals|make_partitions|drop_old_rows|drop_idle_users|change_alert|claim_alert|settle_alert|release_alerts|keep_response|drop_kept_response|record_loss)$/;
    const functions = (await inDatabase(`SELECT p.proname AS name, p.oid::regprocedure::text AS signature,
      'SELECT ' || p.oid::regproc || '(' || (SELECT coalesce(string_agg('NULL::' || t::regtype, ', '), '') FROM unnest(p.proargtypes) t) || ')' AS call
      FROM pg_proc p WHERE p.pronamespace = 'inf_gw'::regnamespace AND p.prorettype <> 'trigger'::regtype`)) as {
      name: string;
      call: string;
    }[];
    const calls = functions.filter(({ name }) => !allowed.test(name)).map(({ call }) => call);
    assert.ok(calls.length > 5, String(calls));
    const client = new pg.Client({ connectionString: asRole(ROLE).href });
    await client.connect();
    const statements = [
      ...tables.flatMap(({ name, column }) => [
        `UPDATE inf_gw.${name} SET ${column} = ${column}`,
        `INSERT INTO inf_gw.${name} DEFAULT VALUES`,
        `DELETE FROM inf_gw.${name}`,
        `TRUNCATE inf_gw.${name}`,
        `ALTER TABLE inf_gw.${name} ADD COLUMN x int`,
        `CREATE INDEX x ON inf_gw.${name} ((1))`,
      ]),
      ...calls,
      "SELECT nextval('inf_gw.journal_ids')",
      'SELECT FROM inf_gw.account FOR UPDATE',
      'CREATE TABLE inf_gw.x (a int)',
      'CREATE FUNCTION inf_gw.x() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
      'CREATE OR REPLACE FUNCTION inf_gw.now_us() RETURNS bigint LANGUAGE sql AS $$ SELECT 0 $$',
      'CREATE TABLE public.x (a int)',
      'CREATE SCHEMA x',
      'DROP SCHEMA inf_gw CASCADE',
      'SET ROLE gateway',
    ];
    for (const statement of statements) {
      await assert.rejects(client.query(statement), { code: '42501' }, statement);
    }
    await client.end();
  });

  describe('lets the role not use what a gateway calls', () => {
    const sums = () =>
      inDatabase(`SELECT (SELECT count(*) FROM inf_gw.journal)::int AS journal, balance_nanos, held_nanos,
        (SELECT sum(requests) FROM inf_gw.refusals)::int AS refused,
        (SELECT count(*) FROM inf_gw.nodes)::int AS nodes,
        (SELECT count(*) FROM inf_gw.losses)::int AS losses FROM inf_gw.account`);
    let client: pg.Client;
    before(async () => {
      client = new pg.Client({ connectionString: asRole(ROLE).href });
      await client.connect();
    });
    after(() => client.end());
    /** Calls a function as the role, with what it would take from the state as it is. */
    const call = async (statement: string, setUp = 'SELECT'): Promise<unknown> => {
      await inDatabase(setUp);
      try {
        return (await client.query(statement)).rows[0];
      } catch (error) {
        return (error as { code?: string }).code;
      }
    };
    const late = (fields: Readonly<Record<string, string>>) => {
      const all = {
        ...Object.fromEntries(SETTLEMENT.columns.map(({ name }) => [`p_${name}`, 'NULL'])),
        p_node: '1',
        p_writes: 'true',
        p_request_id: `'req_forged'`,
        p_key_id: '(SELECT min(id) FROM inf_gw.keys)',
        p_requested_model: `'mock/paid'`,
        p_admitted_us: 'extract(epoch FROM now())::bigint * 1000000',
        p_hold_nanos: '0',
        p_levels: 'NULL',
        p_outcome: `'ok'`,
        p_source: `'reported'`,
        p_model: `'mock/paid'`,
        p_prompt_tokens: '0',
        p_cached_tokens: '0',
        p_cache_write_tokens: '0',
        p_completion_tokens: '0',
        p_cost_nanos: '0',
        ...fields,
      };
      return `SELECT inf_gw.settle_late(${Object.entries(all).map(([name, value]) => `${name} => ${value}`)})`;
    };
    /** All but what is changed is as a gateway says it. */
    const lossOf = (node: string, fields: Readonly<Record<string, string>>) => {
      const all = {
        p_node: `(SELECT id FROM inf_gw.nodes WHERE name = '${node}')`,
        p_epoch: '1',
        p_seen: '8000000',
        p_seen_us: 'extract(epoch FROM clock_timestamp())::bigint * 1000000 + 1000000',
        p_flushed: '8000000',
        p_held: '0',
        p_late_us: `'{}'`,
        ...fields,
      };
      return `SELECT inf_gw.record_loss(${Object.entries(all).map(([name, value]) => `${name} => ${value}`)})`;
    };
    const JOURNAL_OF_NOW = 'SELECT inf_gw.drop_old_rows(9000000000000000, 1000000)';
    const ATTACKS: readonly (readonly [what: string, statement: string])[] = [
      ['to drop the journal', JOURNAL_OF_NOW],
      ['to make money of a charge', late({ p_cost_nanos: '-1000000000' })],
      ['to charge a key that is not there', late({ p_key_id: `'nobody'` })],
      ['to write a request of the future', late({ p_admitted_us: '9000000000000000' })],
      ['to write a request of no gateway', late({ p_node: '999' })],
      [
        'to take refusals back',
        `SELECT inf_gw.count_refusals('{2026-01}', ARRAY(SELECT id FROM inf_gw.keys LIMIT 1), '{rate_limited}', '{rpm}', '{-5}', '{0}')`,
      ],
      [
        'to count refusals of nobody',
        `SELECT inf_gw.count_refusals('{2026-01}', '{nobody}', '{rate_limited}', '{rpm}', '{5}', '{0}')`,
      ],
      ['to have lost what is of the future', lossOf('alive', { p_seen_us: '9000000000000000' })],
      ['to have lost less than nothing', lossOf('alive', { p_held: '-1' })],
      ['to have lost what was not there', lossOf('alive', { p_flushed: '8000001' })],
      ['to have lost something as a gateway that is shut out', lossOf('alive', { p_epoch: '7' })],
      ['to have lost what is there', lossOf('alive', { p_flushed: '(SELECT seq FROM inf_gw.account)' })],
      [
        'to have a gateway that lives leave, and take its name',
        `SELECT inf_gw.leave_node(n.id, n.epoch), inf_gw.join_node('alive', 'x', '1', '127.0.0.1:1', 0, 1)
          FROM inf_gw.nodes n WHERE n.name = 'alive'`,
      ],
      [
        'to take the name of a gateway that lives',
        `SELECT inf_gw.join_node('alive', 'x', '1', '127.0.0.1:1', (SELECT alive_us FROM inf_gw.nodes WHERE name = 'alive'), 1)`,
      ],
    ];
    for (const [what, statement] of ATTACKS) {
      test(what, async () => {
        await inDatabase(`INSERT INTO inf_gw.nodes (name, instance, version, address, epoch, started_at_ms, alive_us)
          VALUES ('alive', 'a', '1', '127.0.0.1:1', 1, 0, inf_gw.now_us())
          ON CONFLICT (name) DO UPDATE SET alive_us = inf_gw.now_us(), epoch = 1, instance = 'a'`);
        const before = await sums();
        const found = await call(statement);
        assert.notEqual(found, '42883', 'there is such a function');
        assert.deepEqual(await sums(), before, JSON.stringify(found));
        const [alive] = await inDatabase(`SELECT instance FROM inf_gw.nodes WHERE name = 'alive'`);
        assert.deepEqual(alive, { instance: 'a' });
      });
    }

    test('to admit or settle for less than nothing', async () => {
      const names = (await inDatabase(`SELECT unnest(proargnames) AS name, unnest(proargmodes) AS mode FROM pg_proc
        WHERE pronamespace = 'inf_gw'::regnamespace AND proname = 'append'`)) as { name: string; mode: string }[];
      const inputs = names.filter(({ mode }) => mode === 'i').map(({ name }) => name);
      assert.equal(inputs.length, ARGUMENTS);
      const amounts = ['prompt_tokens', 'cached_tokens', 'cache_write_tokens', 'completion_tokens', 'cost_nanos'].map(
        (name) => `s_${name}`,
      );
      const tokens = ['output_tokens', 'reserved_tokens', 'hold_nanos'];
      const held = ['input_tokens', ...tokens].map((name) => `h_${name}`);
      const grown = tokens.map((name) => `g_${name}`);
      for (const name of [...amounts, ...held, ...grown, 'l_listings']) {
        assert.ok(inputs.includes(name), name);
        const value = (each: string) =>
          each === name
            ? `'{-1}'`
            : each === 'p_node' || each === 'p_epoch'
              ? `(SELECT ${each === 'p_node' ? 'id' : 'epoch'} FROM inf_gw.nodes WHERE name = 'alive')`
              : /^p_|^w_/.test(each)
                ? 'NULL'
                : `'{}'`;
        const statement = `SELECT FROM inf_gw.append(${inputs.map((each) => `${each} => ${value(each)}`)})`;
        assert.equal(await call(statement), 'IG901', name);
      }
    });

    test('to have lost more than the owner will read', async () => {
      await inDatabase(`INSERT INTO inf_gw.losses SELECT 'alive', n, 0, 0, 0, 0, 0, 0, CASE WHEN n = 1 THEN 0 END
        FROM generate_series(1, 1000) n`);
      const losses = async () => (await inDatabase('SELECT count(*)::int AS rows FROM inf_gw.losses'))[0]?.rows;
      // In the place of what is known.
      for (const seen of [8_000_000, 8_000_001]) {
        await call(lossOf('alive', { p_seen: String(seen) }));
        assert.equal(await losses(), 1_000);
      }
      const [last] = await inDatabase('SELECT max(seen_seq)::int AS seq FROM inf_gw.losses');
      assert.equal(last?.seq, 8_000_000);
      await inDatabase('DELETE FROM inf_gw.losses');
    });

    test('to count the end user of a request twice', async () => {
      const again = late({
        p_request_id: `'req_again'`,
        p_outcome: `'interrupted'`,
        p_source: `'held'`,
        p_by_user: `'ann'`,
      });
      for (const _ of [1, 2]) assert.deepEqual(await call(again), { settle_late: true });
      const counted = await inDatabase(
        `SELECT sum(requests)::int AS requests FROM inf_gw.usage_name_days WHERE name = 'ann'`,
      );
      assert.deepEqual(counted, [{ requests: 1 }]);
    });

    test('to drop what the owner keeps, and lets it drop what the owner does not', async () => {
      place.write('retaining.yaml', `${CONFIG.replace('./state.db', url)}\njournal_retention: 30d\n`);
      const retaining = `${CONFIG.replace('./state.db', asRole(ROLE).href)}\njournal_retention: 29d\n`;
      place.write('retaining-role.yaml', retaining);
      const doctor = async () => (await place.run(['doctor', '-c', 'retaining-role.yaml'])).stdout;
      assert.match(await doctor(), /drops fewer requests than `journal_retention` says/);
      await place.json('state', 'grant', ROLE, '-c', 'retaining.yaml');
      assert.match(await doctor(), /drops fewer requests than `journal_retention` says/);
      place.write('retaining-role.yaml', retaining.replace('29d', '30d'));
      assert.doesNotMatch(await doctor(), /drops fewer requests/);
      const [before] = await sums();
      const day = 86_400_000;
      const age = (days: number) =>
        `UPDATE inf_gw.journal SET admitted_at_ms = admitted_at_ms - ${days * day}, settled_at_ms = settled_at_ms - ${days * day} WHERE id = (SELECT min(id) FROM inf_gw.journal)`;
      await call(JOURNAL_OF_NOW, age(29));
      assert.deepEqual(await sums(), [before]);
      await call(JOURNAL_OF_NOW, age(2));
      assert.deepEqual(await sums(), [{ ...before, journal: (before as { journal: number }).journal - 1 }]);
      await place.json('state', 'grant', ROLE);
      await call(JOURNAL_OF_NOW, age(40));
      assert.deepEqual(await sums(), [{ ...before, journal: (before as { journal: number }).journal - 1 }]);
    });
  });

  test('leaves edits to the commands of the owner', async () => {
    const commands = [
      ['keys', 'create', 'other'],
      ['credit', 'add', '1'],
      ['limits', 'set', 'app', '--rpm', '9'],
    ];
    for (const words of commands) {
      const { status, stderr } = await place.run([...words, '-c', 'role.yaml']);
      assert.equal(status, 1, words.join(' '));
      assert.match(stderr, /^error: .*the user lacks a privilege/);
    }
    assert.equal((await place.run(['keys', 'list', '-c', 'role.yaml'])).status, 0);
  });

  test('says what is wrong with a role, a caller or a state', async () => {
    const errorOf = async (...words: string[]) => {
      const { status, stderr } = await place.run(['state', 'grant', ...words]);
      assert.equal(status, 1);
      return stderr;
    };
    assert.match(
      await errorOf('nobody'),
      /^error: there is no role nobody .*\nerror: make it there with CREATE ROLE "nobody"/,
    );
    assert.match(await errorOf('BARE'), /there is no role BARE/);
    for (const role of ['gateway', 'member', 'postgres']) {
      assert.match(await errorOf(role), /^error: the role \w+ can do everything already: it is gateway, who owns/);
    }
    assert.match(await errorOf('bare', '-c', 'role.yaml'), /^error: only gateway can grant rights: it owns the tables/);
    assert.match(await errorOf('bare', '-c', 'file.yaml'), /^error: \S+state\.db is a file, and a file has no roles/);
    assert.equal((await place.run(['state', 'grant'])).status, 2);
  });
});
