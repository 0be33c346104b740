/** The auditor finds no differences in a valid file, and reports each kind of corrupted row. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import Database from 'better-sqlite3';
import { audit, type Check } from '../../src/audit/audit.ts';
import type { Row } from '../../src/audit/checks.ts';
import { levelQueries } from '../../src/audit/levels.ts';
import { auditFile, FILE_DIALECT } from '../../src/audit/sqlite/auditor.ts';
import { openDatabase } from '../../src/state/sqlite/database.ts';
import { answering, completion } from '../support/answers.ts';
import { auditElsewhere } from '../support/auditor.ts';
import { Workplace } from '../support/cli.ts';
import { withGateway } from '../support/gateway.ts';
import { CORRUPTIONS, type Corruption } from './corruptions.ts';

const QUIET = { onProgress: () => {} };
const CHECKS = [
  'file',
  'journal rows',
  'balance',
  'credit entries',
  'sums by day',
  'sums by month',
  'sums of levels',
  'sums by name',
  'sliding budgets',
  'holds',
  'keys',
];

const withDifferences = (checks: readonly Check[]) => checks.filter(({ differences }) => differences.length > 0);

/** The columns of a journal row that need not be unique. */
const COPIED = `key_id, model, admitted_at_ms, settled_at_ms, outcome, source, prompt_tokens, cached_tokens,
  cache_write_tokens, completion_tokens, cost_nanos, hold_nanos`;

/** What only a file can have. Each corruption is made in a copy of the same valid file. */
const OF_FILES: readonly Corruption[] = [
  [
    'a duplicated row',
    `INSERT INTO inf_gw.journal (request_id, ${COPIED}) SELECT 'req_twice', ${COPIED} FROM inf_gw.journal WHERE id = 1`,
    'sums by day',
    /requests is 2, but the journal has 3/,
  ],
];

describe('the auditor', () => {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-audit-'));
  const valid = join(directory, 'valid.db');

  before(async () => {
    await withGateway({ credit: '10' }, async (gateway) => {
      const key = gateway.key();
      gateway.upstream.follow(answering(completion('hi')));
      for (let i = 0; i < 2; i++) assert.equal((await gateway.complete(key)).status, 200);
      assert.deepEqual(withDifferences(await auditElsewhere(gateway.statePath)), [], 'while it runs');
      const { database } = openDatabase(gateway.statePath);
      database.exec(`VACUUM INTO '${valid}'`);
      database.close();
    });
  });
  after(() => rmSync(directory, { recursive: true }));

  test('finds no differences in a valid file, and reports what it checked', () => {
    const checks = audit(valid, QUIET);
    assert.deepEqual(
      checks.map(({ name }) => name),
      CHECKS,
    );
    assert.deepEqual(withDifferences(checks), []);
    assert.equal(checks[1]?.rows, 2);
  });

  test('joins no two sets of rows without an index, which would take quadratic time', (t) => {
    const database = new Database(valid).defaultSafeIntegers();
    t.after(() => database.close());
    const prepare = t.mock.method(database, 'prepare');
    auditFile(database, QUIET);
    const queries = prepare.mock.calls.map(({ arguments: [sql] }) => sql).filter((sql) => /^(SELECT|WITH)/.test(sql));
    const steps = queries.flatMap((sql) => {
      const parameters = sql
        .split('?')
        .slice(1)
        .map(() => '');
      return database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(parameters) as { detail: string }[];
    });
    assert.ok(steps.length > 100);
    const slow = steps.map(({ detail }) => detail).filter((detail) => /^SCAN .*JOIN/.test(detail));
    assert.deepEqual(slow, []);
  });

  test('finds the same differences of levels however few sums a query sorts', () => {
    const copy = join(directory, 'ranges.db');
    new Database(valid).exec(`VACUUM INTO '${copy}'`);
    const database = new Database(copy).defaultSafeIntegers();
    const insert = database.prepare("INSERT INTO level_days VALUES (?, '2026-11-24', 1, 0, 0, 0, 0, 0, 7)");
    const users = ['ann', "o'hara", '\u{1F600}', 'zo\\e'];
    for (const user of users) insert.run(`key_x/${user}`);
    const found = [1, 2, 3, 500].map((sumsAtOnce) => {
      const queries = levelQueries({ ...FILE_DIALECT, sumsAtOnce });
      let step = queries.next();
      while (step.done !== true) step = queries.next(database.prepare(step.value).all() as Row[]);
      return step.value.differences.filter((line) => line.includes('cost_nanos')).toSorted();
    });
    database.close();
    for (const each of found) assert.deepEqual(each, found[0]);
    assert.deepEqual(
      found[0]?.map((line) => line.split(' ', 1)[0]),
      users.map((user) => `key_x/${user}`).toSorted(),
    );
  });

  for (const [what, sql, name, report] of [...CORRUPTIONS, ...OF_FILES]) {
    test(`reports ${what}`, () => {
      const copy = join(directory, `${what.replaceAll(' ', '-')}.db`);
      new Database(valid).exec(`VACUUM INTO '${copy}'`);
      new Database(copy).exec(sql.replaceAll('inf_gw.', ''));
      const found = audit(copy, QUIET).find((check) => check.name === name);
      assert.match(found?.differences.join('\n') ?? '', report);
    });
  }
});

test('`audit` exits with 1 and lists the differences, and with 0 if there are none', async (t) => {
  const place = new Workplace(t);
  await place.run(['keys', 'create', 'app']);
  const valid = await place.run(['audit', '--json']);
  assert.equal(valid.status, 0);
  assert.deepEqual(
    (JSON.parse(valid.stdout) as { checks: { check: string }[] }).checks.map(({ check }) => check),
    CHECKS,
  );
  const nothingToLose = await place.run(['audit', '--accept-losses']);
  assert.equal(nothingToLose.status, 1);
  assert.match(nothingToLose.stderr, /^error: --accept-losses is for a state in PostgreSQL/);
  new Database(place.statePath).exec('UPDATE account SET balance_nanos = 7');
  const broken = await place.run(['audit']);
  assert.equal(broken.status, 1);
  assert.match(
    broken.stderr,
    /^error: balance: the balance is 0\.000000007 USD, but credit less costs is 0\.00 USD\n$/,
  );
});
