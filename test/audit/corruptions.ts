/** Corruptions of a state that its audit must find, in SQL that both stores understand: a file has its tables in no schema. */

/** What is wrong, what makes it so, the check that must find it, and what that must report. */
export type Corruption = readonly [what: string, sql: string, check: string, report: RegExp];

/** One request of those in the journal. */
export const ONE = 'WHERE id = (SELECT min(id) FROM inf_gw.journal)';

export const CORRUPTIONS: readonly Corruption[] = [
  [
    'a changed balance',
    'UPDATE inf_gw.account SET balance_nanos = balance_nanos + 1',
    'balance',
    /the balance is 9\.\d+ USD, but/,
  ],
  ['a lost credit entry', 'DELETE FROM inf_gw.credit_entries', 'balance', /credit less costs/],
  ['a lost account', 'DELETE FROM inf_gw.account', 'balance', /0 accounts/],
  ['a credit entry of zero', 'UPDATE inf_gw.credit_entries SET amount_nanos = 0', 'credit entries', /entry 1 has/],
  [
    'a lost journal row',
    `DELETE FROM inf_gw.journal ${ONE}`,
    'sums by day',
    /requests is (\d), but the journal has (?!\1)\d/,
  ],
  ['a changed cost', `UPDATE inf_gw.journal SET cost_nanos = cost_nanos + 5 ${ONE}`, 'sums by month', /cost_nanos/],
  ['an unknown outcome', `UPDATE inf_gw.journal SET outcome = 'fine' ${ONE}`, 'journal rows', /an unknown outcome/],
  [
    'an interrupted request that is not charged as held',
    `UPDATE inf_gw.journal SET outcome = 'interrupted' ${ONE}`,
    'journal rows',
    /not charged as held/,
  ],
  [
    'a hold that was charged with a different amount',
    `UPDATE inf_gw.journal SET outcome = 'interrupted', source = 'held', hold_nanos = cost_nanos + 1 ${ONE}`,
    'journal rows',
    /not charged with the amount of its hold/,
  ],
  [
    'a success that is charged as held',
    `UPDATE inf_gw.journal SET source = 'held' ${ONE}`,
    'journal rows',
    /has ended as it should, but is charged as held/,
  ],
  [
    'a reason for a failure of a request that did not fail',
    `UPDATE inf_gw.journal SET failure_reason = 'broken', failure_message = 'x' ${ONE}`,
    'journal rows',
    /did not fail, but/,
  ],
  [
    'a correction of a request that was not charged as held',
    `UPDATE inf_gw.journal SET corrected_at_ms = 1 ${ONE}`,
    'journal rows',
    /was corrected, but/,
  ],
  [
    'a changed source',
    `UPDATE inf_gw.journal SET source = 'counted' ${ONE}`,
    'sums by day',
    /requests is \d, but the journal has \d/,
  ],
  [
    'a changed day',
    'UPDATE inf_gw.usage_days SET errors = errors + 1',
    'sums by day',
    /errors is 1, but the journal has 0/,
  ],
  ['a lost day', 'DELETE FROM inf_gw.usage_days', 'sums by day', /the sums are missing/],
  [
    'a day without requests',
    "INSERT INTO inf_gw.usage_days VALUES ('2020-01-01', 'key_x', 'mock/echo', 'held', 1, 0, 1, 0, 0, 1, 1, '[]')",
    'sums by day',
    /2020-01-01/,
  ],
  ['a changed month', 'UPDATE inf_gw.usage_months SET errors = errors - 1', 'sums by month', /errors is -1/],
  [
    'a month without requests',
    "INSERT INTO inf_gw.usage_months VALUES ('2020-01', 'key_x', 'mock/echo', 'held', 1, 0, 1, 0, 0, 1, 1, 0)",
    'sums by month',
    /2020-01 key_x/,
  ],
  ['a lost month', 'DELETE FROM inf_gw.usage_months', 'sums by month', /the sums are missing/],
  [
    'a changed name',
    `UPDATE inf_gw.journal SET by_app = 'curl' ${ONE}`,
    'sums by name',
    /app other .*requests is 0, but/,
  ],
  [
    'a changed sum of a name',
    'UPDATE inf_gw.usage_name_days SET cost_nanos = cost_nanos + 1',
    'sums by name',
    /cost_nanos is/,
  ],
  [
    'a lost sum of a name',
    'DELETE FROM inf_gw.usage_name_days',
    'sums by name',
    /requests is 0, but the journal has \d/,
  ],
  [
    'a place for a name without sums of its own',
    "INSERT INTO inf_gw.usage_name_keys VALUES ('2020-01', 'user', 'key_x', 'x')",
    'sums by name',
    /2020-01 user x: the key key_x has a place for it, but/,
  ],
  [
    'a name with more requests than there were',
    "INSERT INTO inf_gw.usage_name_days VALUES ('2020-01-01', 'user', 'x', 'key_x', 'mock/echo', 1, 0, 1, 0, 0, 1, 0)",
    'sums by name',
    /2020-01-01 key_x mock\/echo: the sums by user are more/,
  ],
  [
    'sealed sums of rows that still exist',
    `INSERT INTO inf_gw.sealed_days SELECT *, 0 FROM inf_gw.usage_days`,
    'sums by day',
    /requests is \d, but the journal has \d/,
  ],
  [
    'a refusal of an unknown key',
    "INSERT INTO inf_gw.refusals VALUES ('2026-11', 'key_x', 'rate_limited', 'concurrency', 1, 1)",
    'keys',
    /key_x has requests/,
  ],
  [
    'a sliding budget that has not counted a request',
    "INSERT INTO inf_gw.budgets SELECT id, '24h', 5, 86400, 0 FROM inf_gw.keys",
    'sliding budgets',
    /window of 86400 s: its step of .+Z has 0, but the journal has \d+/,
  ],
  [
    'a step of a sliding budget in which nothing was spent',
    `INSERT INTO inf_gw.budgets SELECT id, '1h', 5, 3600, 0 FROM inf_gw.keys; INSERT INTO inf_gw.budget_steps SELECT id, 3600, 7200000, 9 FROM inf_gw.keys;
     DELETE FROM inf_gw.journal`,
    'sliding budgets',
    /window of 3600 s: its step of 1970-01-01T02:00:00.000Z has 9, but the journal has 0/,
  ],
  [
    'a budget of an unknown key',
    "INSERT INTO inf_gw.budgets VALUES ('key_x', 'day', 5, NULL, NULL)",
    'keys',
    /key_x has requests/,
  ],
  [
    'a day of a key that tells another group',
    `UPDATE inf_gw.usage_days SET group_ids = '["grp_x"]'`,
    'sums of levels',
    /^grp_x \d{4}-\d\d-\d\d key_/,
  ],
  [
    'groups of a day that no report finds',
    `UPDATE inf_gw.journal SET levels = '["grp_x"]';
      UPDATE inf_gw.usage_days SET group_ids = '[ "grp_x"]'`,
    'sums of levels',
    /^grp_x \d{4}-\d\d-\d\d key_.*: the sums are missing/m,
  ],
  [
    'a lost sum of a group and of an end user',
    `UPDATE inf_gw.journal SET levels = '["grp_x","key_x/bob"]'`,
    'sums of levels',
    /key_x\/bob .*no sum|grp_x/,
  ],
  [
    'days of an end user that are in their month, too',
    `UPDATE inf_gw.journal SET levels = '["key_x/bob"]';
      INSERT INTO inf_gw.level_days SELECT 'key_x/bob', day, sum(requests), sum(errors), sum(prompt_tokens),
        sum(cached_tokens), sum(cache_write_tokens), sum(completion_tokens), sum(cost_nanos) FROM inf_gw.usage_days GROUP BY day;
      INSERT INTO inf_gw.level_months SELECT level_id, substr(day, 1, 7), sum(requests), sum(errors), sum(prompt_tokens),
        sum(cached_tokens), sum(cache_write_tokens), sum(completion_tokens), sum(cost_nanos)
        FROM inf_gw.level_days GROUP BY 1, 2`,
    'sums of levels',
    /^key_x\/bob \d{4}-\d\d: requests is/,
  ],
  [
    'a month of an end user whose days are still there',
    "INSERT INTO inf_gw.level_months VALUES ('key_x/bob', '2999-01', 1, 0, 0, 0, 0, 0, 7)",
    'sums of levels',
    /key_x\/bob 2999-01: cost_nanos is 7, but the journal has 0/,
  ],
  [
    'an old month of an end user without requests',
    "INSERT INTO inf_gw.level_months VALUES ('key_x/bob', '2020-01', 1, 0, 0, 0, 0, 0, 7)",
    'sums of levels',
    /key_x\/bob 2020-01: cost_nanos is 7, but the journal has 0/,
  ],
  [
    'a sum of a group that nobody has spent',
    "INSERT INTO inf_gw.level_months VALUES ('grp_x', '2026-11', 1, 0, 0, 0, 0, 0, 7)",
    'sums of levels',
    /grp_x 2026-11/,
  ],
  ['a key that an unknown key has made', "UPDATE inf_gw.keys SET parent_id = 'key_x'", 'keys', /key_x has requests/],
  ['a lost key', 'DELETE FROM inf_gw.keys', 'keys', /has requests or budgets, but does not exist/],
];
