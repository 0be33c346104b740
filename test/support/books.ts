/** The invariant of the state file: what holds of its figures whenever no request is under way. */
import assert from 'node:assert/strict';
import type { Sqlite } from '../../src/ledger/sqlite.ts';

export function countHolds(database: Sqlite, keyId?: string): number {
  return database
    .prepare('SELECT count(*) FROM holds WHERE key_id = coalesce(?, key_id)')
    .pluck()
    .get(keyId ?? null) as number;
}

const SUMS_OF_DAYS = `SELECT day, key_id, model, source, requests, errors, prompt_tokens, completion_tokens, cost_nanos FROM usage_days
  ORDER BY day, key_id, model, source`;
const JOURNAL_BY_DAY = `SELECT strftime('%Y-%m-%d', admitted_at_ms / 1000, 'unixepoch') AS day, key_id, model, source, count(*) AS requests,
    sum(outcome NOT IN ('ok', 'cancelled')) AS errors, sum(prompt_tokens) AS prompt_tokens,
    sum(completion_tokens) AS completion_tokens, sum(cost_nanos) AS cost_nanos
  FROM journal GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`;
const SUMS_OF_MONTHS = `SELECT month, key_id, model, source, requests, errors, prompt_tokens, completion_tokens, cost_nanos
  FROM usage_months ORDER BY month, key_id, model, source`;
const JOURNAL_BY_MONTH = JOURNAL_BY_DAY.replace("'%Y-%m-%d'", "'%Y-%m'").replace('AS day', 'AS month');

/** The balance is credit less costs, and days and months are what the journal adds up to. */
export function assertBooksBalance(database: Sqlite): void {
  const read = (sql: string) => database.prepare(sql).safeIntegers().all();
  // One transaction, so that all figures are of one moment.
  database.transaction(() => {
    const [account] = read(
      `SELECT balance_nanos AS balance, (SELECT coalesce(sum(amount_nanos), 0) FROM credit_entries)
         - (SELECT coalesce(sum(cost_nanos), 0) FROM journal) AS expected FROM account`,
    ) as { balance: bigint; expected: bigint }[];
    assert.equal(account?.balance, account?.expected, 'the balance is not credit less costs');
    assert.deepEqual(read(SUMS_OF_DAYS), read(JOURNAL_BY_DAY), 'the days are not what the journal adds up to');
    assert.deepEqual(read(SUMS_OF_MONTHS), read(JOURNAL_BY_MONTH), 'the months are not what the journal adds up to');
  })();
}
