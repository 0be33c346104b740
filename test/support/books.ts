/** The invariants of the state file while no request is in flight. */
import assert from 'node:assert/strict';
import type { Sqlite } from '../../src/state/sqlite/database.ts';

export function countHolds(database: Sqlite, keyId?: string): number {
  return database
    .prepare('SELECT count(*) FROM holds WHERE key_id = coalesce(?, key_id)')
    .pluck()
    .get(keyId ?? null) as number;
}

const COLUMNS = 'key_id, model, source, requests, errors, prompt_tokens, completion_tokens, cost_nanos';
const SUMS = `sum(requests) AS requests, sum(errors) AS errors, sum(prompt_tokens) AS prompt_tokens,
  sum(completion_tokens) AS completion_tokens, sum(cost_nanos) AS cost_nanos`;
/** The sums of all requests by day: those in the journal, and those that were dropped from it. */
const ENDED_BY_DAY = `SELECT strftime('%Y-%m-%d', admitted_at_ms / 1000, 'unixepoch') AS day, key_id, model, source, 1 AS requests,
    outcome NOT IN ('ok', 'cancelled') AS errors, prompt_tokens, completion_tokens, cost_nanos FROM journal
  UNION ALL SELECT day, ${COLUMNS} FROM sealed_days`;

function stored(table: string, period: string): string {
  return `SELECT ${period}, key_id, model, source, ${SUMS} FROM ${table} GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`;
}

function expected(period: string, value: string): string {
  return `SELECT ${value} AS ${period}, key_id, model, source, ${SUMS}
    FROM (${ENDED_BY_DAY}) GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`;
}

/** What groups were booked by day: as it is stored, and as the days of keys tell. */
const BOOKED = `SELECT level_id, day, requests, errors, prompt_tokens, completion_tokens, cost_nanos FROM level_days
  WHERE level_id LIKE 'grp%' AND level_id NOT LIKE '%/%' ORDER BY 1, 2`;
const TOLD = `SELECT l.value AS level_id, day, ${SUMS} FROM usage_days, json_each(group_ids) AS l GROUP BY 1, 2 ORDER BY 1, 2`;

/**
 * Asserts that the balance is credit minus costs, and that the sums of days and months match the
 * requests.
 */
export function assertBooksBalance(database: Sqlite): void {
  const read = (sql: string) => database.prepare(sql).safeIntegers().all();
  // One transaction, so that all figures are of the same moment.
  database.transaction(() => {
    const [account] = read(
      `SELECT balance_nanos AS balance, (SELECT coalesce(sum(amount_nanos), 0) FROM credit_entries)
         - (SELECT coalesce(sum(cost_nanos), 0) FROM (${ENDED_BY_DAY})) AS expected FROM account`,
    ) as { balance: bigint; expected: bigint }[];
    assert.equal(account?.balance, account?.expected, 'the balance is not credit minus costs');
    const [days, months] = [stored('usage_days', 'day'), stored('usage_months', 'month')];
    assert.deepEqual(read(days), read(expected('day', 'day')), 'the sums of days do not match the requests');
    const ofMonths = expected('month', 'substr(day, 1, 7)');
    assert.deepEqual(read(months), read(ofMonths), 'the sums of months do not match the requests');
    assert.deepEqual(read(BOOKED), read(TOLD), 'the sums of groups do not match those of their keys');
  })();
}
