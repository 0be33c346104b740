/** The auditor finds no differences in a valid file, and reports each kind of corrupted row. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { audit, type Check } from '../../src/audit/audit.ts';
import { openDatabase } from '../../src/state/sqlite/database.ts';
import { answering, completion } from '../support/answers.ts';
import { auditElsewhere } from '../support/auditor.ts';
import { Workplace } from '../support/cli.ts';
import { withGateway } from '../support/gateway.ts';

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

/** A corruption, the check that must find it, and what it must report. Each is made in a copy of the same valid file. */
const CORRUPTIONS: readonly (readonly [what: string, sql: string, check: string, report: RegExp])[] = [
  [
    'a changed balance',
    'UPDATE account SET balance_nanos = balance_nanos + 1',
    'balance',
    /the balance is 9\.\d+ USD, but/,
  ],
  ['a lost credit entry', 'DELETE FROM credit_entries', 'balance', /credit less costs/],
  ['a lost account', 'DELETE FROM account', 'balance', /0 accounts/],
  ['a credit entry of zero', 'INSERT INTO credit_entries VALUES (99, 0, 0, 0, "")', 'credit entries', /entry 99/],
  ['a lost journal row', 'DELETE FROM journal WHERE id = 1', 'sums by day', /requests is 2, but the journal has 1/],
  ['a changed cost', 'UPDATE journal SET cost_nanos = cost_nanos + 5 WHERE id = 1', 'sums by month', /cost_nanos/],
  [
    'a duplicated row',
    `INSERT INTO journal (request_id, ${COPIED}) SELECT 'req_twice', ${COPIED} FROM journal WHERE id = 1`,
    'sums by day',
    /requests is 2, but the journal has 3/,
  ],
  ['an unknown outcome', "UPDATE journal SET outcome = 'fine' WHERE id = 1", 'journal rows', /an unknown outcome/],
  [
    'an interrupted request that is not charged as held',
    "UPDATE journal SET outcome = 'interrupted' WHERE id = 1",
    'journal rows',
    /not charged as held/,
  ],
  [
    'a hold that was charged with a different amount',
    "UPDATE journal SET outcome = 'interrupted', source = 'held', hold_nanos = cost_nanos + 1 WHERE id = 1",
    'journal rows',
    /not with the amount of its hold/,
  ],
  [
    'a reason for a failure of a request that did not fail',
    "UPDATE journal SET failure_reason = 'broken', failure_message = 'x' WHERE id = 1",
    'journal rows',
    /did not fail, but/,
  ],
  [
    'a correction of a request that was not charged as held',
    'UPDATE journal SET corrected_at_ms = 1 WHERE id = 1',
    'journal rows',
    /was corrected, but/,
  ],
  [
    'a changed source',
    "UPDATE journal SET source = 'counted' WHERE id = 1",
    'sums by day',
    /reported: requests is 2, but the journal has 1/,
  ],
  ['a changed day', 'UPDATE usage_days SET errors = errors + 1', 'sums by day', /errors is 1, but the journal has 0/],
  ['a lost day', 'DELETE FROM usage_days', 'sums by day', /the sums are missing/],
  [
    'a day without requests',
    "INSERT INTO usage_days VALUES ('2020-01-01', 'key_x', 'mock/echo', 'held', 1, 0, 1, 0, 0, 1, 1)",
    'sums by day',
    /2020-01-01/,
  ],
  ['a changed month', 'UPDATE usage_months SET errors = errors - 1', 'sums by month', /errors is -1/],
  [
    'a month without requests',
    "INSERT INTO usage_months VALUES ('2020-01', 'key_x', 'mock/echo', 'held', 1, 0, 1, 0, 0, 1, 1, 0)",
    'sums by month',
    /2020-01 key_x/,
  ],
  [
    'a changed name',
    "UPDATE journal SET by_app = 'curl' WHERE id = 1",
    'sums by name',
    /app other .*requests is 0, but/,
  ],
  [
    'a changed sum of a name',
    'UPDATE usage_name_days SET cost_nanos = cost_nanos + 1',
    'sums by name',
    /cost_nanos is/,
  ],
  ['a lost sum of a name', 'DELETE FROM usage_name_days', 'sums by name', /requests is 0, but the journal has 2/],
  [
    'a place for a name without sums of its own',
    "INSERT INTO usage_name_keys VALUES ('2020-01', 'user', 'key_x', 'x')",
    'sums by name',
    /2020-01 user x: the key key_x has a place for it, but/,
  ],
  [
    'a name with more requests than there were',
    "INSERT INTO usage_name_days VALUES ('2020-01-01', 'user', 'x', 'key_x', 'mock/echo', 1, 0, 1, 0, 0, 1, 0)",
    'sums by name',
    /2020-01-01 key_x mock\/echo: the sums by user are more/,
  ],
  [
    'sealed sums of rows that still exist',
    `INSERT INTO sealed_days SELECT *, 0 FROM usage_days`,
    'sums by day',
    /requests is 2, but the journal has 4/,
  ],
  [
    'a refusal of an unknown key',
    "INSERT INTO refusals VALUES ('2026-11', 'key_x', 'rate_limited', 'concurrency', 1, 1)",
    'keys',
    /key_x has requests/,
  ],
  ['a lost month', 'DELETE FROM usage_months', 'sums by month', /the sums are missing/],
  [
    'a hold of a request that has ended',
    `INSERT INTO holds SELECT request_id, key_id, model, admitted_at_ms, 1, 1, 1, NULL, NULL FROM journal WHERE id = 1`,
    'holds',
    /has a hold, but it is in the journal/,
  ],
  [
    'a sliding budget that has not counted a request',
    "INSERT INTO budgets SELECT id, '24h', 5, 86400, 0 FROM keys",
    'sliding budgets',
    /window of 86400 s: its step of .+Z has 0, but the journal has \d+/,
  ],
  [
    'a step of a sliding budget in which nothing was spent',
    `INSERT INTO budgets SELECT id, '1h', 5, 3600, 0 FROM keys; INSERT INTO budget_steps SELECT id, 3600, 7200000, 9 FROM keys;
     DELETE FROM journal`,
    'sliding budgets',
    /window of 3600 s: its step of 1970-01-01T02:00:00.000Z has 9, but the journal has 0/,
  ],
  [
    'a budget of an unknown key',
    "INSERT INTO budgets VALUES ('key_x', 'day', 5, NULL, NULL)",
    'keys',
    /key_x has requests/,
  ],
  [
    'a lost sum of a group and of an end user',
    `UPDATE journal SET levels = '["grp_x","key_x/bob"]'`,
    'sums of levels',
    /key_x\/bob .*no sum|grp_x/,
  ],
  [
    'days of an end user that are in their month, too',
    `UPDATE journal SET levels = '["key_x/bob"]';
      INSERT INTO level_days SELECT 'key_x/bob', day, key_id, model, source, requests, errors, prompt_tokens,
        cached_tokens, cache_write_tokens, completion_tokens, cost_nanos FROM usage_days;
      INSERT INTO level_months SELECT level_id, substr(day, 1, 7), sum(requests), sum(errors), sum(prompt_tokens),
        sum(cached_tokens), sum(cache_write_tokens), sum(completion_tokens), sum(cost_nanos)
        FROM level_days GROUP BY 1, 2`,
    'sums of levels',
    /^key_x\/bob \d{4}-\d\d: requests is/,
  ],
  [
    'a sum of a group that nobody has spent',
    "INSERT INTO level_months VALUES ('grp_x', '2026-11', 1, 0, 0, 0, 0, 0, 7)",
    'sums of levels',
    /grp_x 2026-11/,
  ],
  ['a key that an unknown key has made', "UPDATE keys SET parent_id = 'key_x'", 'keys', /key_x has requests/],
  ['a lost key', 'DELETE FROM keys', 'keys', /has requests or budgets, but does not exist/],
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

  for (const [what, sql, name, report] of CORRUPTIONS) {
    test(`reports ${what}`, () => {
      const copy = join(directory, `${what.replaceAll(' ', '-')}.db`);
      new DatabaseSync(valid).exec(`VACUUM INTO '${copy}'`);
      new DatabaseSync(copy, { enableDoubleQuotedStringLiterals: true }).exec(sql);
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
  new DatabaseSync(place.statePath).exec('UPDATE account SET balance_nanos = 7');
  const broken = await place.run(['audit']);
  assert.equal(broken.status, 1);
  assert.match(
    broken.stderr,
    /^error: balance: the balance is 0\.000000007 USD, but credit less costs is 0\.00 USD\n$/,
  );
});
