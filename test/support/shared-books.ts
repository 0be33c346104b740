/** The invariants of a shared state: whatever gateways do, they hold after every transaction. */
import pg from 'pg';
import { IDLE_USER_MS } from '../../src/state/levels.ts';
import type { Run } from '../../src/state/postgres/database.ts';

const FIGURES = [
  'requests',
  'errors',
  'prompt_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'completion_tokens',
  'cost_nanos',
] as const;
const SUM_COLUMNS = `key_id, model, source, ${FIGURES.join(', ')}`;

/** What can be read from rows, each as one row of sums. Money is numeric: sums of it may be large. */
const READINGS = `
  ended AS (
    SELECT to_char(to_timestamp(admitted_at_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, key_id, model, source,
      1::bigint AS requests, (outcome NOT IN ('ok', 'cancelled'))::int::bigint AS errors, prompt_tokens, cached_tokens,
      coalesce(cache_write_tokens, 0) AS cache_write_tokens, completion_tokens, cost_nanos
    FROM inf_gw.journal
    UNION ALL SELECT day, ${SUM_COLUMNS} FROM inf_gw.sealed_days
  ),
  booked AS (
    SELECT level_id, day, ${summed()} FROM (
      SELECT l.level_id, to_char(to_timestamp(admitted_at_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, 1::bigint AS requests, (outcome NOT IN ('ok', 'cancelled'))::int::bigint AS errors, prompt_tokens, cached_tokens,
        coalesce(cache_write_tokens, 0) AS cache_write_tokens, completion_tokens, cost_nanos
      FROM inf_gw.journal, jsonb_array_elements_text(levels::jsonb) AS l (level_id)
      UNION ALL SELECT level_id, day, ${FIGURES.join(', ')} FROM inf_gw.sealed_levels
    ) r GROUP BY 1, 2
  ),
  shares AS (
    SELECT l.level_id, day, ${summed()} FROM inf_gw.usage_days, jsonb_array_elements_text(group_ids::jsonb) AS l (level_id) GROUP BY 1, 2
  ),
  summed_days AS (SELECT day, key_id, model, source, ${summed()} FROM inf_gw.usage_days GROUP BY 1, 2, 3, 4),
  days AS (SELECT day AS period, key_id, model, source, ${summed()} FROM ended GROUP BY 1, 2, 3, 4),
  names AS (
    SELECT to_char(to_timestamp(admitted_at_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, k.kind,
      coalesce((SELECT n.name FROM inf_gw.usage_name_keys n WHERE n.kind = k.kind AND n.name = k.name
        AND n.key_id = journal.key_id AND n.month = to_char(to_timestamp(admitted_at_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM')), 'other') AS name, key_id, model,
      count(*) AS requests, sum(cost_nanos) AS cost_nanos, sum(prompt_tokens + completion_tokens) AS tokens
    FROM inf_gw.journal, LATERAL (VALUES ('user', by_user), ('tag', by_tag), ('app', by_app)) AS k (kind, name)
    WHERE k.name IS NOT NULL GROUP BY 1, 2, 3, 4, 5
  ),
  months AS (SELECT substr(day, 1, 7) AS period, key_id, model, source, ${summed()} FROM ended GROUP BY 1, 2, 3, 4)`;

/** The columns of each table that are never negative. */
const NOT_NEGATIVE = {
  account: ['held_nanos', 'last_us'],
  listings: ['listings'],
  holds: ['input_tokens', 'output_tokens', 'reserved_tokens', 'hold_nanos'],
  journal: ['prompt_tokens', 'cached_tokens', 'completion_tokens', 'cost_nanos', 'hold_nanos'],
  usage_days: FIGURES,
  usage_months: FIGURES,
  sealed_days: FIGURES,
  level_days: FIGURES,
  level_months: FIGURES,
  usage_name_days: FIGURES,
  refusals: ['requests'],
} as const;

/** One statement, and so one moment. Each row is a fault, in words. */
const FAULTS = `WITH ${READINGS}
  SELECT format('there are %s accounts', count(*)) AS fault FROM inf_gw.account HAVING count(*) <> 1
  UNION ALL SELECT format('the balance is %s, but credit less costs is %s', a.balance_nanos, x.due) FROM inf_gw.account a,
    (SELECT (SELECT coalesce(sum(amount_nanos), 0) FROM inf_gw.credit_entries)
      - (SELECT coalesce(sum(cost_nanos), 0) FROM ended) AS due) x WHERE a.balance_nanos <> x.due
  UNION ALL SELECT format('the account holds %s, but the holds come to %s', a.held_nanos, x.held) FROM inf_gw.account a,
    (SELECT coalesce(sum(hold_nanos), 0) AS held FROM inf_gw.holds) x WHERE a.held_nanos <> x.held
  UNION ALL ${sumFaults('days', 'summed_days', 'day')}
  UNION ALL ${sumFaults('months', 'inf_gw.usage_months', 'month')}
  UNION ALL SELECT format('usage_days: %s of %s has %s in %s requests by its keys, but its requests come to %s in %s',
      coalesce(u.day, x.day), coalesce(u.level_id, x.level_id), u.cost_nanos, u.requests, x.cost_nanos, x.requests)
    FROM shares u FULL JOIN (SELECT * FROM booked WHERE level_id LIKE 'grp%' AND level_id NOT LIKE '%/%') x ON (u.level_id, u.day) = (x.level_id, x.day)
    WHERE (${FIGURES.map((name) => `u.${name}`).join(', ')}) IS DISTINCT FROM (${FIGURES.map((name) => `x.${name}`).join(', ')})
  UNION ALL SELECT format('level_days: %s of %s is %s in %s requests, but its requests come to %s in %s',
      coalesce(u.day, x.day), coalesce(u.level_id, x.level_id), u.cost_nanos, u.requests, x.cost_nanos, x.requests)
    FROM inf_gw.level_days u FULL JOIN booked x ON (u.level_id, u.day) = (x.level_id, x.day)
    WHERE (${FIGURES.map((name) => `u.${name}`).join(', ')}) IS DISTINCT FROM (${FIGURES.map((name) => `x.${name}`).join(', ')})
      -- What end users were booked before that is dropped.
      AND (coalesce(u.level_id, x.level_id) NOT LIKE '%/%' OR coalesce(u.day, x.day) >= (
        SELECT ${monthOf(`(max(last_at_ms) - ${IDLE_USER_MS}) * 1000`)} FROM inf_gw.usage_months))
  UNION ALL SELECT format('usage_name_days: %s of %s, %s is %s, but its requests come to %s', coalesce(u.kind, x.kind),
      coalesce(u.day, x.day), coalesce(u.name, x.name), u.requests, x.requests)
    FROM inf_gw.usage_name_days u FULL JOIN names x
      ON (u.day, u.kind, u.name, u.key_id, u.model) = (x.day, x.kind, x.name, x.key_id, x.model)
    WHERE (u.requests, u.cost_nanos, u.prompt_tokens + u.completion_tokens) IS DISTINCT FROM (x.requests, x.cost_nanos, x.tokens)
      AND NOT EXISTS (SELECT FROM inf_gw.sealed_days s WHERE s.day = coalesce(u.day, x.day))
  UNION ALL SELECT format('month %s of key %s was last used at %s, but a request was admitted at %s', u.month, u.key_id,
      max(u.last_at_ms), max(j.admitted_at_ms))
    FROM inf_gw.usage_months u JOIN inf_gw.journal j ON j.key_id = u.key_id
      AND u.month = ${monthOf('j.admitted_at_ms * 1000')}
    GROUP BY u.month, u.key_id HAVING max(u.last_at_ms) < max(j.admitted_at_ms)
  UNION ALL SELECT format('the account is at entry %s, but the log ends at %s', a.seq, max(l.seq)) FROM inf_gw.account a, inf_gw.log l
    GROUP BY a.seq HAVING a.seq <> max(l.seq)
  UNION ALL SELECT format('the log has %s entries from %s to %s', count(*), min(seq), max(seq)) FROM inf_gw.log
    HAVING count(*) <> max(seq) - min(seq) + 1
  UNION ALL SELECT format('request %s has %s holds and journal rows', request_id, count(*))
    FROM (SELECT request_id FROM inf_gw.journal UNION ALL SELECT request_id FROM inf_gw.holds) r
    GROUP BY request_id HAVING count(*) > 1
  UNION ALL SELECT format('key %s: the step %s of the window of %s s has %s, but its requests come to %s', key_id, at_ms,
      window_s, cost_nanos, due)
    FROM (SELECT s.*, (SELECT coalesce(sum(j.cost_nanos), 0) FROM inf_gw.journal j
        WHERE (j.key_id = s.key_id OR j.levels IS NOT NULL AND j.levels::jsonb ? s.key_id)
        AND j.settled_at_ms >= s.at_ms AND j.settled_at_ms < s.at_ms + s.window_s * 10) AS due
      FROM inf_gw.budget_steps s JOIN inf_gw.budgets b ON b.key_id = s.key_id AND b.window_s = s.window_s
      WHERE s.at_ms >= b.exact_from_ms AND NOT EXISTS (SELECT FROM inf_gw.sealed_days d WHERE d.key_id = s.key_id)) s
    WHERE cost_nanos <> due
  UNION ALL SELECT format('request %s is held by node %s, which does not exist', request_id, node_id) FROM inf_gw.holds
    WHERE node_id NOT IN (SELECT id FROM inf_gw.nodes)
  UNION ALL ${Object.entries(NOT_NEGATIVE).map(negativeFault).join(' UNION ALL ')}`;

function summed(): string {
  return FIGURES.map((name) => `sum(${name}) AS ${name}`).join(', ');
}

/** Not the database's own function for it, which is under test, too. */
function monthOf(us: string): string {
  return `to_char(to_timestamp(${us} / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM')`;
}

function sumFaults(from: string, table: string, period: string): string {
  const differs = FIGURES.map((name) => `u.${name} IS DISTINCT FROM x.${name}`).join(' OR ');
  const shown = (alias: string) => `json_build_array(${FIGURES.map((name) => `${alias}.${name}`).join(', ')})`;
  return `SELECT format('${table}: %s of %s, %s, %s is %s, but its requests come to %s', coalesce(u.${period}, x.period),
      coalesce(u.key_id, x.key_id), coalesce(u.model, x.model), coalesce(u.source, x.source), ${shown('u')}, ${shown('x')})
    FROM ${table} u FULL JOIN ${from} x
      ON (u.${period}, u.key_id, u.model, u.source) = (x.period, x.key_id, x.model, x.source) WHERE ${differs}`;
}

function negativeFault([table, columns]: [string, readonly string[]]): string {
  return `SELECT format('${table}: negative: %s', to_json(t)) FROM inf_gw.${table} t
    WHERE least(${columns.join(', ')}) < 0`;
}

/** What is wrong in the books, in words; nothing if they are right. Any role that may read the tables will do. */
export async function sharedBookFaults(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return await readBookFaults(async (text) => (await client.query(text)).rows);
  } finally {
    await client.end();
  }
}

/** The same on a connection that is there. */
export async function readBookFaults(run: Run): Promise<string[]> {
  return (await run(`${FAULTS} LIMIT 20`)).map(({ fault }) => fault as string);
}
