/** The auditor finds no differences in a shared state, while gateways serve too, and reports each kind of corrupted row. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { auditDatabase, type Check } from '../../src/audit/audit.ts';
import type { PostgresAddress } from '../../src/core/postgres-address.ts';
import { LongSession, openReader } from '../../src/state/postgres/long-session.ts';
import { locationOf } from '../state/database-stage.ts';
import { CONFIG, Workplace } from '../support/cli.ts';
import { PostgresServer } from '../support/postgres.ts';
import { until } from '../support/wait.ts';
import { CORRUPTIONS, type Corruption, ONE } from './corruptions.ts';

const QUIET = { onProgress: () => {} };
const CHECKS = [
  'partitions',
  'journal rows',
  'balance',
  'credit entries',
  'sums by day',
  'sums by month',
  'sums of levels',
  'sums by name',
  'sliding budgets',
  'holds',
  'held',
  'keys',
  'log',
  'losses',
];

/** What only a database can have. Each corruption is rolled back. */
const OF_DATABASES: readonly Corruption[] = [
  [
    'a request that has two rows',
    `INSERT INTO inf_gw.journal (id, request_id, key_id, model, admitted_at_ms, settled_at_ms, outcome, source,
         prompt_tokens, cached_tokens, completion_tokens, cost_nanos, cache_write_tokens, hold_nanos)
       SELECT 0, request_id, key_id, model, admitted_at_ms - 1, settled_at_ms, outcome, source, 0, 0, 0, 0, 0, 0
       FROM inf_gw.journal ${ONE}`,
    'journal rows',
    /is in the journal 2 times/,
  ],
  [
    'an id that the next row may get as well',
    `UPDATE inf_gw.journal SET id = 1000 ${ONE}`,
    'journal rows',
    /the id 1000, but journal_ids is at 4/,
  ],
  [
    'many rows with a fault, of which it lists some',
    `INSERT INTO inf_gw.journal (id, request_id, key_id, model, admitted_at_ms, settled_at_ms, outcome, source,
         prompt_tokens, cached_tokens, completion_tokens, cost_nanos, cache_write_tokens, hold_nanos)
       SELECT 0, 'req_' || n, 'key_x', 'm', 0, 0, 'fine', 'held', 0, 0, 0, 0, 0, 0 FROM generate_series(1, 500) n`,
    'journal rows',
    /and \d{3} more$/,
  ],
  [
    'sums of something that is no month',
    "UPDATE inf_gw.usage_months SET month = 'x'",
    'sums by month',
    /x key_\w+ mock\/paid \w+: requests is 4, but the journal has 0/,
  ],
  ['a listing of an unknown key', "INSERT INTO inf_gw.listings VALUES ('key_x', 1, 1)", 'keys', /key_x has requests/],
  [
    'a hold of a request that has ended',
    `UPDATE inf_gw.holds SET request_id = (SELECT request_id FROM inf_gw.journal ${ONE})`,
    'holds',
    /has a hold, but it is in the journal/,
  ],
  [
    'a hold of a gateway that nobody knows, and so nobody settles',
    'UPDATE inf_gw.holds SET node_id = 99',
    'holds',
    /is of the gateway 99/,
  ],
  ['a lost hold', 'DELETE FROM inf_gw.holds', 'held', /the account holds 0\.\d+ USD, but the holds come to 0\.00 USD/],
  [
    'a lost entry of the log',
    'DELETE FROM inf_gw.log WHERE seq = (SELECT max(seq) FROM inf_gw.log)',
    'log',
    /but the account is at \d/,
  ],
  [
    'a gap in the log',
    'INSERT INTO inf_gw.log (seq, at_us, node_id) SELECT max(seq) - 1000000, 0, 0 FROM inf_gw.log',
    'log',
    /the log has \d+ entries for \d+ numbers/,
  ],
  [
    'decisions that nobody can write any more',
    'UPDATE inf_gw.positions SET asked_seq = -1, written_seq = -2',
    'log',
    /entry -1 of the gateway \S+ is gone/,
  ],
  [
    'a partition that has the rows of another month',
    "CREATE TABLE inf_gw.journal_2031_01 PARTITION OF inf_gw.journal FOR VALUES FROM ('1922918400000') TO ('1922918400001')",
    'partitions',
    /journal_2031_01 does not have the rows of its month/,
  ],
  [
    'rows that keep a month from getting its partition',
    `INSERT INTO inf_gw.journal (id, request_id, key_id, model, admitted_at_ms, settled_at_ms, outcome, source,
         prompt_tokens, cached_tokens, completion_tokens, cost_nanos, cache_write_tokens, hold_nanos)
       VALUES (0, 'req_x', 'key_x', 'm', 4102444800000, 1, 'ok', 'held', 0, 0, 0, 0, 0, 0)`,
    'partitions',
    /journal_other has 1 row of this month or later/,
  ],
];

const withDifferences = (checks: readonly Check[]) => checks.filter(({ differences }) => differences.length > 0);

interface AuditJson {
  readonly ok: boolean;
  readonly path: string;
  readonly checks: readonly { readonly check: string; readonly rows: number }[];
}

describe('the auditor of a shared state', () => {
  let server: PostgresServer;
  let address: PostgresAddress;
  let place: Workplace;
  let session: LongSession;
  /** Kept, because a response that nobody refers to is closed. */
  let inFlight: Response | undefined;
  const cleanUps: (() => unknown)[] = [];

  /** Four requests have ended, on two gateways, and one is in flight. */
  before(async () => {
    server = await PostgresServer.shared();
    const url = await server.createDatabase();
    const config = CONFIG.replace('./state.db', url);
    place = new Workplace({ after: (cleanUp) => cleanUps.push(cleanUp) }, `${config}node: one\n`);
    place.write('two.yaml', `${config}node: two\n`);
    const { key } = await place.createKey('app');
    await place.json('credit', 'add', '10');
    const gateways = [await place.serveHere(), await place.serveHere('two.yaml')];
    const paid = { model: 'mock/paid', max_tokens: 10 };
    const outcomes = [...gateways, ...gateways].map((gateway) => gateway.chatOutcome(key, paid));
    assert.deepEqual(await Promise.all(outcomes), ['200', '200', '200', '200']);
    const messages = [{ role: 'user', content: '/stall 1' }];
    inFlight = await gateways[0]?.chat(key, { ...paid, stream: true, messages });
    // It is in the tables once its gateway has written what it has decided.
    await until(async () => Number((await place.json<{ held_usd: string }>('credit', 'show')).held_usd) > 0);
    const location = locationOf(url);
    assert.equal(location.kind, 'postgres');
    address = (location as Extract<typeof location, { kind: 'postgres' }>).address;
    session = await LongSession.open(address);
  });
  after(async () => {
    await inFlight?.body?.cancel();
    await session.close();
    for (const cleanUp of cleanUps.toReversed()) await cleanUp();
  });

  test('finds no differences while two gateways serve, and reports what it checked', async () => {
    const { ok, path, checks } = await place.json<AuditJson>('audit');
    assert.ok(ok);
    assert.match(path, /^postgres:\/\/gateway:\*\*\*@127\.0\.0\.1:\d+\/gateway_\d+$/);
    assert.deepEqual(
      checks.map(({ check }) => check),
      CHECKS,
    );
    const rows = Object.fromEntries(checks.map(({ check, rows }) => [check, rows]));
    assert.deepEqual([rows['journal rows'], rows.holds, rows.keys], [4, 1, 1]);
  });

  test('sees one moment, whatever gateways and commands do meanwhile', async () => {
    const reader = await openReader(address);
    let isFirst = true;
    const checks = await auditDatabase(async (text, values) => {
      const rows = await reader.run(text, values);
      if (isFirst) await place.json('credit', 'add', '1');
      isFirst = false;
      return rows;
    }, QUIET).finally(() => reader.close());
    assert.deepEqual(withDifferences(checks), []);
    assert.equal(checks.find(({ name }) => name === 'credit entries')?.rows, 1);
    await place.json('credit', 'remove', '1');
  });

  test('changes nothing: its transaction cannot', async () => {
    const reader = await openReader(address);
    await assert.rejects(reader.run('DELETE FROM inf_gw.holds'), /read-only/);
    await reader.close();
  });

  for (const [what, sql, name, report] of [...CORRUPTIONS, ...OF_DATABASES]) {
    test(`reports ${what}`, async () => {
      await session.run('BEGIN');
      try {
        await session.run(sql);
        const found = (await auditDatabase(session.run, QUIET)).find((check) => check.name === name);
        assert.match(found?.differences.join('\n') ?? '', report);
      } finally {
        await session.run('ROLLBACK');
      }
    });
  }

  test('finds no differences once rows were dropped and their sums sealed', async () => {
    await session.run(
      'BEGIN; INSERT INTO inf_gw.sealed_days SELECT *, 0 FROM inf_gw.usage_days; DELETE FROM inf_gw.journal',
    );
    try {
      assert.deepEqual(withDifferences(await auditDatabase(session.run, QUIET)), []);
    } finally {
      await session.run('ROLLBACK');
    }
  });

  test('refuses tables of another version, and a database without any', async () => {
    await session.run('BEGIN; INSERT INTO inf_gw.migrations (version) VALUES (1000)');
    await assert.rejects(
      auditDatabase(session.run, QUIET),
      /the tables have version 1000; this inf-gw audits version \d/,
    );
    await session.run('DROP SCHEMA inf_gw CASCADE');
    await assert.rejects(auditDatabase(session.run, QUIET), /no tables of inf-gw yet/);
    await session.run('ROLLBACK');
  });

  test('says what the database has lost of the log until an operator takes note, and then as a note', async () => {
    const at = "extract(epoch FROM timestamptz '2026-11-24T10:00:00Z')::bigint * 1000000";
    await session.run(`INSERT INTO inf_gw.losses
      SELECT 'one', 8, ${at} + 2000000, 5, ${at}, ${at} + 9000000, 1, 2, CASE WHEN false THEN 0 END`);
    const said =
      /the database has lost entries 6 to 8 of the log, from between 2026-11-24T10:00:00\.000Z and 2026-11-24T10:00:02\.000Z, as one found at 2026-11-24T10:00:09\.000Z: it charges 1 request as held that had ended, and 2 in flight as they end/;
    const found = await place.run(['audit']);
    assert.equal(found.status, 1);
    assert.match(found.stderr, new RegExp(`^error: losses: ${said.source}.*audit --accept-losses`));
    const status = await place.run(['status']);
    assert.match(status.stdout, new RegExp(`lost +${said.source}`));
    const { losses } = await place.json<{ losses: unknown }>('status');
    assert.deepEqual(losses, [
      {
        node: 'one',
        found_at: '2026-11-24T10:00:09.000Z',
        first_entry: 6,
        last_entry: 8,
        from: '2026-11-24T10:00:00.000Z',
        to: '2026-11-24T10:00:02.000Z',
        requests_held: 1,
        requests_late: 2,
      },
    ]);
    for (const words of [['audit', '--accept-losses'], ['audit']]) {
      const known = await place.run(words);
      assert.equal(known.status, 0);
      assert.match(known.stderr, new RegExp(`^note: losses: ${said.source}.*; an operator took note at 20`));
    }
    assert.deepEqual((await place.json<{ losses: unknown }>('status')).losses, []);
    await session.run('DELETE FROM inf_gw.losses');
  });

  test('lists what differs, and exits with 1', async () => {
    await session.run('UPDATE inf_gw.account SET balance_nanos = balance_nanos + 7');
    const { status, stdout, stderr } = await place.run(['audit']);
    assert.equal(status, 1);
    assert.match(stdout, /balance +\d+ +DIFFERS[\s\S]*gateway_\d+: not everything agrees\.\n$/);
    assert.match(stderr, /^error: balance: the balance is 9\.\d+ USD, but credit less costs is 9\.\d+ USD\n$/);
  });
});
