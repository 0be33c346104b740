/** What else may be in a database: other defaults, a role with few rights, and commands at the same moment. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PostgresAddress, parsePostgresAddress } from '../../src/core/postgres-address.ts';
import type { Admission, LedgerSnapshot } from '../../src/ledger/ledger.ts';
import { SETTLEMENT } from '../../src/state/journal.ts';
import { BATCH_COLUMNS } from '../../src/state/postgres/batch.ts';
import { Link } from '../../src/state/postgres/link.ts';
import { grantsFor } from '../../src/state/postgres/rights.ts';
import { until } from '../support/wait.ts';
import { LedgerBench, NOON, tokens, USD } from './bench.ts';
import type { SharedDatabase, SharedStore } from './shared-store.ts';

const DAY_MS = 86_400_000;
const PASSWORD = 'few-rights';

export function testDatabase(database: SharedDatabase): void {
  const { server } = database;

  test('a database whose transactions are serializable by default makes no difference', async (t) => {
    const bench = await LedgerBench.of(t, database.openStore);
    const name = new URL(database.url).pathname.slice(1);
    await server.query(`ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`);
    t.after(() => server.query(`ALTER DATABASE ${name} RESET default_transaction_isolation`));
    const store = bench.store as SharedStore;
    const key = await bench.newKey({ rpm: 30 });
    const engines = [(await store.startOther('a')).engine, (await store.startOther('b')).engine];
    const batches = await Promise.all(
      engines.map(async (engine) => {
        const answers: Admission[] = [];
        for (let i = 0; i < 20; i++) {
          answers.push(...((await bench.process([{ kind: 'admit', request: bench.request(key) }], engine)) as []));
        }
        return answers;
      }),
    );
    assert.equal(batches.flat().filter(({ admitted }) => admitted).length, 30);
  });

  test('a role with the rights of a gateway can do all that a gateway does', async (t) => {
    const bench = await LedgerBench.of(t, database.openStore, { journalRetentionMs: DAY_MS });
    const store = bench.store as SharedStore;
    const name = new URL(database.url).pathname.slice(1);
    await server.query(`CREATE ROLE few_rights LOGIN PASSWORD '${PASSWORD}'`);
    for (const text of grantsFor('few_rights')) await database.read(text);
    const user = new URL(database.url);
    [user.username, user.password] = ['few_rights', PASSWORD];
    const { engine } = await store.startOther('second', { user: user.href });
    await bench.addCredit(USD);
    const key = await bench.newKey();
    await engine.recover();
    const request = bench.request(key, { holdNanos: 30n });
    await bench.process([{ kind: 'admit', request }], engine);
    const [, , snapshot] = await bench.process(
      [
        { kind: 'grow', growth: { requestId: request.requestId, outputTokens: 30, holdNanos: 40n } },
        { kind: 'admit_listing', keyHash: key.hash },
        { kind: 'snapshot', keyIds: [key.id] },
        { kind: 'count_refusal', refusal: { keyId: key.id, code: 'rate_limited', reason: 'concurrency' } },
      ],
      engine,
    );
    assert.equal((snapshot as LedgerSnapshot).heldNanos, 40n);
    const settlement = bench.settlement(request.requestId, { costNanos: 20n, ...tokens(5) });
    await bench.process([{ kind: 'settle', settlement }], engine);
    await bench.process([{ kind: 'settle', settlement }], engine).catch(() => {});
    await store.step(-DAY_MS);
    await assert.rejects(bench.process([{ kind: 'identify', keyHash: key.hash }], engine), (error) =>
      /stepped/.test(engine.faultOf(error)?.message ?? ''),
    );
    await store.advance(60_000);
    await bench.process([{ kind: 'identify', keyHash: key.hash }], engine);
    await engine.writeRefusals();
    await engine.maintain();
    await engine.dropOldRows();
    await engine.probe();
    assert.deepEqual(await bench.balance(), [USD - 20n, 0n]);
    for (const table of ['keys', 'account', 'credit_entries', 'journal']) {
      const forbidden = database.read(`SET ROLE few_rights; DELETE FROM inf_gw.${table}`);
      await assert.rejects(forbidden, { code: '42501' });
      await database.read('RESET ROLE').catch(() => {});
    }
    await store.close();
    await server.query('DROP OWNED BY few_rights', name);
    await server.query('DROP ROLE few_rights');
  });

  test('the end and the growth of a request read its hold alone, also when there were no others when they were planned', async (t) => {
    const parsed = parsePostgresAddress(database.url, '/') as { readonly address: PostgresAddress };
    const link = await Link.open(parsed.address, 'reader');
    t.after(() => link.close());
    const run = (text: string) => link.decide<Record<string, string>>('', text, []);
    const NODE = 7_000_000;
    const hold = (from: number, to: number) =>
      run(`INSERT INTO inf_gw.holds (request_id, node_id, key_id, model, admitted_us, input_tokens, output_tokens,
        reserved_tokens, hold_nanos) SELECT 'plan-' || n, ${NODE}, 'key_none', 'm', n, 1, 1, 1, 1 FROM generate_series(${from}, ${to}) n`);
    const ids = (from: number, to: number) => `ARRAY(SELECT 'plan-' || n FROM generate_series(${from}, ${to}) n)`;
    const ended = { outcome: `'ok'`, source: `'counted'` } as Record<string, string>;
    const amounts = SETTLEMENT.columns.slice(1).map(({ name, type }) => {
      const value = ended[name] ?? (/tokens$|nanos$/.test(name) ? '0' : 'NULL');
      return `array_fill(${value}::${type === 'text' ? 'text' : 'bigint'}, ARRAY[30])`;
    });
    const end = (from: number) =>
      run(`SELECT (inf_gw.end_holds(${NODE}, 1, ${ids(from, from + 29)}, ${amounts})).ended AS done`);
    const grow = (from: number) =>
      run(
        `SELECT inf_gw.write_decisions(${NODE}, ${BATCH_COLUMNS.map(({ name }) =>
          name === 'g_request_id'
            ? ids(from, from + 29)
            : /^g_/.test(name)
              ? 'array_fill(5::bigint, ARRAY[30])'
              : `'{}'`,
        )}) AS done`,
      );
    const fetched = async () => {
      const [row] = await run(
        `SELECT idx_tup_fetch AS n FROM pg_stat_xact_user_tables WHERE relid = 'inf_gw.holds'::regclass`,
      );
      return Number(row?.n);
    };
    await run('BEGIN');
    await run('TRUNCATE inf_gw.holds');
    await run('ANALYZE inf_gw.holds');
    await hold(1, 30);
    await grow(1);
    await end(1);
    await hold(31, 3_000);
    const before = await fetched();
    assert.deepEqual([await grow(31), await end(61)], [[{ done: '120' }], [{ done: '30' }]]);
    assert.ok((await fetched()) - before <= 120, `${(await fetched()) - before} rows were read`);
    await run('ROLLBACK');
  });

  test('to cut the log reads each entry once, also when there were none when it was planned', async (t) => {
    const parsed = parsePostgresAddress(database.url, '/') as { readonly address: PostgresAddress };
    const link = await Link.open(parsed.address, 'reader');
    t.after(() => link.close());
    const run = async (text: string) => (await link.decide<Record<string, unknown>>('', text, []))[0];
    await run('BEGIN');
    await run('TRUNCATE inf_gw.log');
    await run('ANALYZE inf_gw.log');
    await run('SELECT inf_gw.cut_log()');
    await run(`SELECT inf_gw.log_edit('{}') FROM generate_series(1, 1000)`);
    await run('UPDATE inf_gw.nodes SET seen_seq = (SELECT seq FROM inf_gw.account)');
    assert.deepEqual(await run('SELECT inf_gw.cut_log() AS is_more'), { is_more: false });
    const read = `SELECT seq_tup_read + idx_tup_fetch AS n FROM pg_stat_xact_user_tables WHERE relid = 'inf_gw.log'::regclass`;
    const rows = Number((await run(read))?.n);
    assert.ok(rows <= 1_000, `${rows} entries were read`);
    await run('ROLLBACK');
  });

  test('months and days are part of the statements that ask for them, and no calls', async () => {
    const plan = await database.read(
      'EXPLAIN (VERBOSE, COSTS OFF) SELECT inf_gw.utc_month(n), inf_gw.utc_day(n) FROM generate_series(1, 2) n',
    );
    const output = plan.map((row) => row['QUERY PLAN']).join();
    assert.match(output, /to_char.*to_char/);
    assert.doesNotMatch(output, /utc_/);
  });

  test('a correction of a row that is being dropped changes nothing', async (t) => {
    const bench = await LedgerBench.of(t, database.openStore);
    const store = bench.store as SharedStore;
    await bench.addCredit(USD);
    const id = await bench.admit(await bench.newKey(), { holdNanos: 70n });
    await store.crash(9_000);
    await store.advance(10 * DAY_MS);
    await bench.identify(await bench.newKey());
    await database.read('BEGIN');
    await database.read('SELECT inf_gw.drop_old_rows($1, 10)', [NOON + DAY_MS]);
    const correction = store.operator.requests.correct(id, 10n, NOON);
    await until(async () => {
      const waiting = await server.query('SELECT FROM pg_locks WHERE NOT granted');
      return waiting.length > 0;
    });
    await database.read('COMMIT');
    assert.deepEqual(await correction, { kind: 'no_such_request' });
    assert.deepEqual(await bench.balance(), [USD - 70n, 0n]);
  });
}
