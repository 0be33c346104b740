/** The invariants of a shared state: whatever gateways do, they hold after every transaction. */
import pg from 'pg';

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

/** Where the windows begin of a key `s`, in milliseconds, as journal rows have them. Older rows may have been dropped. */
const WINDOW_MS = 'greatest(s.expired_us, (SELECT last_us FROM inf_gw.account) - 60000000) / 1000';

/** What can be read from rows, each as one row of sums. Money is numeric: sums of it may be large. */
const READINGS = `
  ended AS (
    SELECT to_char(to_timestamp(admitted_at_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, key_id, model, source,
      1::bigint AS requests, (outcome NOT IN ('ok', 'cancelled'))::int::bigint AS errors, prompt_tokens, cached_tokens,
      coalesce(cache_write_tokens, 0) AS cache_write_tokens, completion_tokens, cost_nanos
    FROM inf_gw.journal
    UNION ALL SELECT day, ${SUM_COLUMNS} FROM inf_gw.sealed_days
  ),
  days AS (SELECT day AS period, key_id, model, source, ${summed()} FROM ended GROUP BY 1, 2, 3, 4),
  names AS (
    SELECT to_char(to_timestamp(admitted_at_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, k.kind,
      coalesce((SELECT n.name FROM inf_gw.usage_name_keys n WHERE n.kind = k.kind AND n.name = k.name
        AND n.key_id = journal.key_id AND n.month = to_char(to_timestamp(admitted_at_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM')), 'other') AS name, key_id, model,
      count(*) AS requests, sum(cost_nanos) AS cost_nanos, sum(prompt_tokens + completion_tokens) AS tokens
    FROM inf_gw.journal, LATERAL (VALUES ('user', by_user), ('tag', by_tag), ('app', by_app)) AS k (kind, name)
    WHERE k.name IS NOT NULL GROUP BY 1, 2, 3, 4, 5
  ),
  months AS (SELECT substr(day, 1, 7) AS period, key_id, model, source, ${summed()} FROM ended GROUP BY 1, 2, 3, 4),
  hold_sums AS (
    SELECT h.key_id, count(*) AS open_requests, count(*) FILTER (WHERE has_slot) AS slots,
      sum(h.reserved_tokens) AS reserved_tokens, max(h.admitted_us) AS newest_open_us,
      coalesce(sum(h.hold_nanos) FILTER (WHERE s.month = ${monthOf('h.admitted_us')}), 0) AS held_nanos
    FROM inf_gw.holds h JOIN inf_gw.key_state s USING (key_id) GROUP BY h.key_id
  ),
  charges AS (
    SELECT e.key_id, sum(e.cost_nanos) AS charged_nanos FROM ended e JOIN inf_gw.key_state s
      ON s.key_id = e.key_id AND s.month = substr(e.day, 1, 7) GROUP BY e.key_id
  ),
  entry_sums AS (
    SELECT w.key_id, sum(w.requests) AS window_requests, sum(w.tokens) AS window_tokens, sum(w.listings) AS window_listings,
      max(w.at_us) FILTER (WHERE w.requests > 0) AS last_request_us, max(w.at_us) FILTER (WHERE w.tokens > 0) AS last_tokens_us,
      max(w.at_us) FILTER (WHERE w.listings > 0) AS last_listing_us, min(w.at_us) AS oldest_us,
      coalesce(sum(w.requests) FILTER (WHERE w.at_us / 1000 > ${WINDOW_MS}), 0) AS requests_by_ms,
      coalesce(sum(w.tokens) FILTER (WHERE w.at_us / 1000 > ${WINDOW_MS}), 0) AS tokens_by_ms
    FROM inf_gw.window_entries w JOIN inf_gw.key_state s USING (key_id) GROUP BY w.key_id
  ),
  recent AS (
    SELECT r.key_id, count(*) FILTER (WHERE r.admitted_ms > ${WINDOW_MS}) AS requests,
      coalesce(sum(r.tokens) FILTER (WHERE r.settled_ms > ${WINDOW_MS}), 0) AS tokens
    FROM (
      SELECT key_id, admitted_at_ms AS admitted_ms, settled_at_ms AS settled_ms, prompt_tokens + completion_tokens AS tokens
        FROM inf_gw.journal
      UNION ALL SELECT key_id, admitted_us / 1000, NULL, 0 FROM inf_gw.holds
    ) r JOIN inf_gw.key_state s USING (key_id) GROUP BY r.key_id
  ),
  keys AS (
    SELECT s.*, coalesce(h.open_requests, 0) AS h_open_requests, coalesce(h.slots, 0) AS h_slots,
      coalesce(h.reserved_tokens, 0) AS h_reserved_tokens, h.newest_open_us AS h_newest_open_us,
      coalesce(h.held_nanos, 0) AS h_held_nanos, coalesce(c.charged_nanos, 0) AS c_charged_nanos,
      coalesce(e.window_requests, 0) AS e_window_requests, coalesce(e.window_tokens, 0) AS e_window_tokens,
      coalesce(e.window_listings, 0) AS e_window_listings, e.last_request_us AS e_last_request_us,
      e.last_tokens_us AS e_last_tokens_us, e.last_listing_us AS e_last_listing_us, e.oldest_us,
      coalesce(e.requests_by_ms, 0) AS requests_by_ms, coalesce(e.tokens_by_ms, 0) AS tokens_by_ms,
      coalesce(r.requests, 0) AS recent_requests, coalesce(r.tokens, 0) AS recent_tokens
    FROM inf_gw.key_state s LEFT JOIN hold_sums h USING (key_id) LEFT JOIN charges c USING (key_id)
      LEFT JOIN entry_sums e USING (key_id) LEFT JOIN recent r USING (key_id)
  )`;

type Figure = readonly [stored: string, expected: string, what: string, rows: string];

/** Figures of a key that must be the same in its state as in the rows that they add up. */
const SAME: readonly Figure[] = [
  ['open_requests', 'h_open_requests', 'requests in flight', 'holds'],
  ['slots', 'h_slots', 'slots', 'holds'],
  ['reserved_tokens', 'h_reserved_tokens', 'reserved tokens', 'holds'],
  ['held_nanos', 'h_held_nanos', 'nanos held in the month', 'holds'],
  ['charged_nanos', 'c_charged_nanos', 'nanos charged in the month', 'journal'],
  ['window_requests', 'e_window_requests', 'requests in the window', 'window entries'],
  ['window_tokens', 'e_window_tokens', 'tokens in the window', 'window entries'],
  ['window_listings', 'e_window_listings', 'listings in the window', 'window entries'],
  ['coalesce(h_newest_open_us, newest_open_us)', 'newest_open_us', 'the newest admission', 'holds'],
  ['coalesce(e_last_request_us, last_request_us)', 'last_request_us', 'the last request', 'window entries'],
  ['coalesce(e_last_tokens_us, last_tokens_us)', 'last_tokens_us', 'the last tokens', 'window entries'],
  ['coalesce(e_last_listing_us, last_listing_us)', 'last_listing_us', 'the last listing', 'window entries'],
];
/** After a clock that came back, entries have other times than their rows. */
const SAME_BY_TIME: readonly Figure[] = [
  ['requests_by_ms', 'recent_requests', 'requests in the window', 'holds and journal'],
  ['tokens_by_ms', 'recent_tokens', 'tokens in the window', 'journal'],
];

/** The columns of each table that are never negative. */
const NOT_NEGATIVE = {
  account: ['held_nanos', 'last_us'],
  key_state: [
    'window_requests',
    'window_tokens',
    'window_listings',
    'slots',
    'open_requests',
    'reserved_tokens',
    'charged_nanos',
    'held_nanos',
  ],
  window_entries: ['requests', 'tokens', 'listings'],
  holds: ['input_tokens', 'output_tokens', 'reserved_tokens', 'hold_nanos'],
  journal: ['prompt_tokens', 'cached_tokens', 'completion_tokens', 'cost_nanos', 'hold_nanos'],
  usage_days: FIGURES,
  usage_months: FIGURES,
  sealed_days: FIGURES,
  usage_name_days: FIGURES,
  refusals: ['requests'],
} as const;

/** One statement, and so one moment. Each row is a fault, in words. */
const faultsOf = (same: readonly Figure[]) => `WITH ${READINGS}
  SELECT format('there are %s accounts', count(*)) AS fault FROM inf_gw.account HAVING count(*) <> 1
  UNION ALL SELECT format('the balance is %s, but credit less costs is %s', a.balance_nanos, x.due) FROM inf_gw.account a,
    (SELECT (SELECT coalesce(sum(amount_nanos), 0) FROM inf_gw.credit_entries)
      - (SELECT coalesce(sum(cost_nanos), 0) FROM ended) AS due) x WHERE a.balance_nanos <> x.due
  UNION ALL SELECT format('the account holds %s, but the holds come to %s', a.held_nanos, x.held) FROM inf_gw.account a,
    (SELECT coalesce(sum(hold_nanos), 0) AS held FROM inf_gw.holds) x WHERE a.held_nanos <> x.held
  UNION ALL ${sumFaults('days', 'usage_days', 'day')}
  UNION ALL ${sumFaults('months', 'usage_months', 'month')}
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
  UNION ALL ${same.map(keyFault).join(' UNION ALL ')}
  UNION ALL SELECT format('key %s: an entry of %s is left, but those up to %s are gone', key_id, oldest_us, expired_us)
    FROM keys WHERE oldest_us <= expired_us
  UNION ALL SELECT format('key %s has no state', id) FROM inf_gw.keys
    WHERE NOT EXISTS (SELECT FROM inf_gw.key_state s WHERE s.key_id = id)
  UNION ALL SELECT format('request %s has %s holds and journal rows', request_id, count(*))
    FROM (SELECT request_id FROM inf_gw.journal UNION ALL SELECT request_id FROM inf_gw.holds) r
    GROUP BY request_id HAVING count(*) > 1
  UNION ALL SELECT format('key %s: the step %s of the window of %s s has %s, but its requests come to %s', key_id, at_ms,
      window_s, cost_nanos, due)
    FROM (SELECT s.*, (SELECT coalesce(sum(j.cost_nanos), 0) FROM inf_gw.journal j WHERE j.key_id = s.key_id
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
    FROM inf_gw.${table} u FULL JOIN ${from} x
      ON (u.${period}, u.key_id, u.model, u.source) = (x.period, x.key_id, x.model, x.source) WHERE ${differs}`;
}

function keyFault([stored, expected, what, rows]: Figure): string {
  return `SELECT format('key %s: ${what}: the state says %s, the ${rows} say %s', key_id, ${stored}, ${expected})
    FROM keys WHERE ${stored} <> ${expected}`;
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
    return await readBookFaults(client, false);
  } finally {
    await client.end();
  }
}

/** The same on a connection that is there, and after a clock that came back. */
export async function readBookFaults(client: pg.Client, hasClockComeBack: boolean): Promise<string[]> {
  const same = hasClockComeBack ? SAME : [...SAME, ...SAME_BY_TIME];
  const { rows } = await client.query<{ fault: string }>(`${faultsOf(same)} LIMIT 20`);
  return rows.map(({ fault }) => fault);
}
