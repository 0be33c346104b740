/** The functions that order commands in the log and write decisions. The decisions themselves are made in the gateways. */
import { names } from '../../../core/layout.ts';
import { endedSince } from '../../budgets.ts';
import { SETTLEMENT } from '../../journal.ts';
import { KEY_NUMBERS, LIMITS } from '../../keys.ts';
import { jsonPairs, userLimitsAs } from '../../owners.ts';
import { bookedMonths } from '../../sql.ts';
import { arraysOf, BATCH_COLUMNS, DECIDED_HOLD, GROWN_HOLD, LISTED } from '../batch.ts';
import { ENDS } from './settle.ts';

/** Maximum number of entries in one read. A gateway further behind reads again before it adds commands. */
const MOST_ENTRIES = 500;
/** Maximum size of one read in bytes, except for a single larger entry. */
const MOST_READ_BYTES = 4_000_000;
/** Maximum size of the commands of an entry, in bytes. A full batch has about 30,000. */
const MOST_COMMAND_BYTES = 1_000_000;
/** Maximum number of keys in an entry. A batch has at most two for each of its 128 commands. */
const MOST_KEYS = 256;
/** Number of entries kept for slow gateways. A gateway further behind rebuilds its state. */
const MOST_LAG = 200_000;
/** Minimum retention of entries, so that starting and slow gateways can follow. */
const KEPT_US = 60_000_000;
/** Number of entries dropped at a time. Even the fastest gateway adds fewer per second. */
const MOST_CUT = 2_000;

/** Maximum number of consecutive restores that one transaction may wait for. */
const MOST_RESTORES = 10;

const HELD = arraysOf(DECIDED_HOLD.columns, 'h_');
const GROWN = arraysOf(GROWN_HOLD.columns, 'g_');
const LISTINGS = arraysOf(LISTED.columns, 'l_');

/** The amount columns of settlements and of decisions. */
const ENDED_AMOUNTS = ['prompt_tokens', 'cached_tokens', 'cache_write_tokens', 'completion_tokens', 'cost_nanos'].map(
  (name) => `s_${name}`,
);
const DECIDED_AMOUNTS = BATCH_COLUMNS.map(({ name }) => name).filter((name) =>
  /_(?:tokens|nanos|listings)$/.test(name),
);

/** Whether any amount is negative. plpgsql evaluates this expression without a query. */
const anyNegative = (amounts: readonly string[]) => amounts.map((name) => `0 > ANY (${name})`).join(' OR ');

/** The parent key or group of a key or a group: at most one row. */
const outerOf = (id: string) => `SELECT coalesce(k.parent_id, k.group_id) AS id FROM inf_gw.keys k WHERE k.id = ${id}
      UNION ALL SELECT g.group_id FROM inf_gw.groups g WHERE g.id = ${id}`;

const budgetsOf = (
  id: string,
) => `(SELECT json_agg(json_build_object('period', b.period, 'limit', b.limit_nanos::text))::text
          FROM inf_gw.budgets b WHERE b.key_id = ${id})`;

/** The common fields of keys and groups; the table alias is `k`. */
const OWNER = `'id', k.id, 'name', k.name, 'state', k.state, 'allowlist', k.allowlist::text,
      'created_at_ms', k.created_at_ms, 'group_id', k.group_id, 'budgets', ${budgetsOf('k.id')},
      'user_limits', (SELECT json_build_object(${userLimitsAs('u')}, 'budgets', ${budgetsOf("k.id || '/'")})::text
        FROM inf_gw.users u WHERE u.owner_id = k.id AND u.name = '')`;

export const LOG = `
-- Locks the account, which serializes clock reads and log writes. Returns the time and the number of the last entry. A
-- restore that commits during the wait replaces the row; the next statement then finds the new one.
CREATE OR REPLACE FUNCTION inf_gw.lock_account(OUT last_us bigint, OUT seq bigint) LANGUAGE plpgsql AS $$
BEGIN
  FOR attempt IN 1 .. ${MOST_RESTORES} LOOP
    SELECT a.last_us, a.seq INTO last_us, seq FROM inf_gw.account a FOR UPDATE;
    IF FOUND THEN RETURN; END IF;
  END LOOP;
  RAISE EXCEPTION 'inf_gw.account has no row: restore the database from a complete backup';
END $$;

-- The stored state of levels and the levels around them: everything that decisions need except the last minute. An id with a
-- name also requests that end user of the key or group and of all levels around it. Sums go back to the periods of the
-- oldest request in flight. End users get all sums, because limits set for all end users can change without an edit of the
-- single user.
CREATE OR REPLACE FUNCTION inf_gw.facts(p_ids text[], p_us bigint) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_oldest_us bigint := least(p_us, (SELECT min(admitted_us) FROM inf_gw.holds));
BEGIN
  IF cardinality(p_ids) = 0 THEN RETURN NULL; END IF;
  RETURN (WITH RECURSIVE asked AS (
    SELECT DISTINCT split_part(a, '/', 1) AS id, substr(a, nullif(strpos(a, '/'), 0) + 1) AS named FROM unnest(p_ids) a
  ), chain AS (
    SELECT o.id, a.named FROM asked a CROSS JOIN LATERAL (${outerOf('a.id')}) o WHERE o.id IS NOT NULL
    UNION SELECT o.id, c.named FROM chain c CROSS JOIN LATERAL (${outerOf('c.id')}) o WHERE o.id IS NOT NULL
  ), owners AS (
    SELECT id, named FROM asked UNION SELECT id, named FROM chain
  ), ids AS (
    SELECT DISTINCT id FROM owners
  ), levels AS (
    SELECT k.id, k.hash, false AS is_user, json_build_object(${OWNER}, 'preview', k.preview,
      ${jsonPairs(KEY_NUMBERS.columns, 'k')}, 'parent_id', k.parent_id, 'may_create', k.may_create, 'is_leashed', k.is_leashed) AS record
    FROM ids JOIN inf_gw.keys k ON k.id = ids.id
    UNION ALL
    SELECT k.id, NULL, false, json_build_object(${OWNER}, ${jsonPairs(LIMITS.columns, 'k')})
    FROM ids JOIN inf_gw.groups k ON k.id = ids.id
    UNION ALL
    SELECT o.id || '/' || o.named, NULL, true, CASE WHEN u.owner_id IS NOT NULL THEN
      json_build_object('owner_id', u.owner_id, 'name', u.name, 'state', u.state,
        ${jsonPairs(LIMITS.columns, 'u')}, 'budgets', ${budgetsOf("u.owner_id || '/' || u.name")}) END
    FROM owners o JOIN inf_gw.users a ON a.owner_id = o.id AND a.name = ''
      LEFT JOIN inf_gw.users u ON u.owner_id = o.id AND u.name = o.named WHERE o.named <> ''
  )
  SELECT json_agg(json_build_object('id', l.id, 'hash', l.hash, 'record', l.record,
      'months', (SELECT json_object_agg(month, nanos::text) FROM (SELECT month, sum(cost_nanos) AS nanos FROM (
        SELECT u.month, u.cost_nanos FROM inf_gw.usage_months u WHERE u.key_id = l.id AND u.month >= p.month
        UNION ALL SELECT u.month, u.cost_nanos FROM ${bookedMonths('l.id')} u WHERE u.month >= p.month) c
        GROUP BY 1) m),
      'days', CASE WHEN l.is_user OR b.has_days THEN
        (SELECT json_object_agg(day, nanos::text) FROM (SELECT day, sum(cost_nanos) AS nanos FROM (
          SELECT u.day, u.cost_nanos FROM inf_gw.usage_days u WHERE u.key_id = l.id AND u.day >= p.day
          UNION ALL SELECT u.day, u.cost_nanos FROM inf_gw.level_days u WHERE u.level_id = l.id AND u.day >= p.day) c
          GROUP BY 1) d) END,
      'ever', CASE WHEN l.is_user OR b.has_total THEN
        (SELECT (coalesce((SELECT sum(u.cost_nanos) FROM inf_gw.usage_months u WHERE u.key_id = l.id), 0)
          + coalesce((SELECT sum(u.cost_nanos) FROM ${bookedMonths('l.id')} u), 0))::text) END,
      'steps', CASE WHEN l.is_user OR b.has_windows THEN
        (SELECT json_agg(json_build_array(s.window_s, s.at_ms, s.cost_nanos::text))
          FROM inf_gw.budget_steps s WHERE s.key_id = l.id) END))::text
  FROM levels l
    CROSS JOIN (SELECT inf_gw.utc_month(v_oldest_us - 2764800000000) AS month, inf_gw.utc_day(v_oldest_us - 691200000000) AS day) p
    CROSS JOIN LATERAL (
      SELECT bool_or(b.period IN ('day', 'week')) AS has_days, bool_or(b.period = 'total') AS has_total,
        bool_or(b.window_s IS NOT NULL) AS has_windows
      FROM inf_gw.budgets b WHERE b.key_id = l.id AND NOT l.is_user) b);
END $$;

-- Adds an entry that does not come from a gateway. p_before: the facts about the keys before it. The caller holds the lock.
CREATE OR REPLACE FUNCTION inf_gw.log_change(p_us bigint, p_change jsonb, p_key_ids text[], p_before text DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_seq bigint; v_balance bigint;
BEGIN
  UPDATE inf_gw.account SET seq = seq + 1, last_us = p_us RETURNING seq, balance_nanos INTO v_seq, v_balance;
  INSERT INTO inf_gw.log (seq, at_us, node_id, commands, facts, facts_before)
    VALUES (v_seq, p_us, 0, (p_change || jsonb_build_object('balance', v_balance::text))::text, inf_gw.facts(p_key_ids, p_us),
      p_before);
END $$;

-- The facts about these keys before an edit. Blocks decisions until the transaction ends.
CREATE OR REPLACE FUNCTION inf_gw.facts_before(p_key_ids text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_us bigint;
BEGIN
  SELECT last_us INTO v_us FROM inf_gw.lock_account();
  RETURN inf_gw.facts(p_key_ids, v_us);
END $$;

-- Logs an operator's change of these keys, or an amount added to the account.
CREATE OR REPLACE FUNCTION inf_gw.log_edit(p_key_ids text[], p_before text DEFAULT NULL, p_added bigint DEFAULT 0)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_us bigint;
BEGIN
  SELECT greatest(inf_gw.now_us(), last_us) INTO v_us FROM inf_gw.lock_account();
  PERFORM inf_gw.log_change(v_us, jsonb_build_object('added', p_added::text), p_key_ids, p_before);
END $$;

-- The entries after p_seen as a JSON array of arrays, and the number of the last one. The first entry is returned whatever
-- its size.
CREATE OR REPLACE FUNCTION inf_gw.entries_after(p_seen bigint, p_last bigint, OUT o_entries text, OUT o_until bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  SELECT '[' || string_agg('[' || l.seq || ',' || l.at_us || ',' || l.node_id || ',' || coalesce(l.commands, 'null') || ','
      || coalesce(l.facts, 'null') || ',' || coalesce(l.written_seq, 0) || ',' || coalesce(to_json(l.decided)::text, 'null')
      || ',' || coalesce(to_json(l.digest)::text, 'null') || ',' || coalesce(l.seen_seq, 0) || ']', ',' ORDER BY l.seq) || ']',
    max(l.seq)
  INTO o_entries, o_until
  FROM (
    SELECT e.*, sum(coalesce(octet_length(e.commands), 0) + coalesce(octet_length(e.facts), 0))
      OVER (ORDER BY e.seq ROWS UNBOUNDED PRECEDING) AS bytes
    FROM (SELECT * FROM inf_gw.log WHERE seq > p_seen AND seq <= p_last ORDER BY seq LIMIT ${MOST_ENTRIES}) e
  ) l WHERE l.bytes <= ${MOST_READ_BYTES} OR l.seq = p_seen + 1;
END $$;

-- Writes the decisions on an entry: new holds, grown holds and listings. Returns the increase of held money; the caller
-- holds the lock, and updates the account and the position of the gateway.
CREATE OR REPLACE FUNCTION inf_gw.write_decisions(p_node int, ${HELD}, ${GROWN}, ${LISTINGS}) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_held bigint := 0; v_more bigint := 0;
BEGIN
  IF cardinality(h_request_id) > 0 THEN
    WITH held AS (
      INSERT INTO inf_gw.holds (node_id, ${names(DECIDED_HOLD.columns)})
        SELECT p_node, ${names(DECIDED_HOLD.columns, 'a.')}
        FROM unnest(${names(DECIDED_HOLD.columns, 'h_')}) AS a (${names(DECIDED_HOLD.columns)})
        WHERE EXISTS (SELECT FROM inf_gw.keys k WHERE k.id = a.key_id)
          AND (a.levels IS NULL OR jsonb_typeof(a.levels::jsonb) = 'array')
        RETURNING hold_nanos
    ) SELECT coalesce(sum(hold_nanos), 0) INTO v_held FROM held;
  END IF;
  IF cardinality(g_request_id) > 0 THEN
    WITH g AS (
      SELECT g.*, h.place, g.hold_nanos - h.hold_nanos AS more
      FROM unnest(${names(GROWN_HOLD.columns, 'g_')}) AS g (${names(GROWN_HOLD.columns)}) CROSS JOIN LATERAL (
        SELECT h.ctid AS place, h.hold_nanos FROM inf_gw.holds h WHERE h.request_id = g.request_id AND h.node_id = p_node LIMIT 1) h
    ), grown AS (
      UPDATE inf_gw.holds h SET output_tokens = g.output_tokens, reserved_tokens = g.reserved_tokens, hold_nanos = g.hold_nanos
        FROM g WHERE h.ctid = g.place
    ) SELECT coalesce(sum(more), 0) INTO v_more FROM g;
  END IF;
  IF cardinality(l_key_id) > 0 THEN
    INSERT INTO inf_gw.listings (${names(LISTED.columns)})
      SELECT * FROM unnest(${names(LISTED.columns, 'l_')}) AS l (${names(LISTED.columns)});
  END IF;
  RETURN v_held + v_more;
END $$;

-- Adds a gateway's entry to the log, and returns the entries it has not seen. p_commands: NULL without commands. p_decides:
-- whether the entry needs decisions by the clock; p_writes: whether its decisions must be written. p_recorded: its decisions
-- on entries of other gateways. k_ids: keys whose facts it requests. w_…: its decisions on its last entry. f_id: requests
-- with a disconnected client. b_id: admissions without an answer. s_…: settlements. A gateway that is far behind only
-- receives entries, with a NULL o_us.
CREATE OR REPLACE FUNCTION inf_gw.append(p_node int, p_epoch bigint, p_latest_us bigint, p_seen bigint, p_seen_us bigint,
  p_commands text, p_decides boolean, p_writes boolean, p_recorded text, k_ids text[], w_seq bigint, w_decided text, w_digest text,
  ${HELD}, ${GROWN}, ${LISTINGS}, f_id text[], b_id text[], ${ENDS},
  OUT o_us bigint, OUT o_seq bigint, OUT o_log text, OUT o_facts text) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  v_arrived_us bigint := inf_gw.now_us(); v_us bigint; v_last bigint; v_until bigint; v_asked bigint; v_written bigint;
  v_writes boolean; v_held bigint := 0; v_charged bigint := 0; v_released bigint; v_ended record;
BEGIN
  -- Whoever calls, nothing costs less than nothing, and no entry is larger than the others can read.
  IF p_commands IS NULL AND cardinality(f_id || b_id || s_request_id) > 0
    OR octet_length(p_commands) > ${MOST_COMMAND_BYTES} OR octet_length(p_recorded) > ${MOST_COMMAND_BYTES}
    OR cardinality(k_ids) > ${MOST_KEYS}
    -- Not all that is JSON is JSONB, as which it is read by whoever begins.
    OR jsonb_typeof(p_commands::jsonb) <> 'object' OR jsonb_typeof(p_recorded::jsonb) <> 'array'
    OR ${anyNegative([...ENDED_AMOUNTS, ...DECIDED_AMOUNTS])} THEN
    RAISE EXCEPTION 'no gateway asks this' USING ERRCODE = 'IG901';
  END IF;
  SELECT last_us, seq INTO v_us, v_last FROM inf_gw.lock_account();
  SELECT p.asked_seq, p.written_seq INTO v_asked, v_written
    FROM inf_gw.nodes n LEFT JOIN inf_gw.positions p ON p.node_id = n.id WHERE n.id = p_node AND n.epoch = p_epoch;
  IF NOT FOUND THEN RAISE EXCEPTION 'the epoch of this node is over' USING ERRCODE = 'IG001'; END IF;
  -- Windows need a clock that runs true. What only ends requests is written at any time.
  IF p_decides AND inf_gw.now_us() < v_us - 1000000 THEN
    RAISE EXCEPTION 'the clock of the database has stepped back' USING ERRCODE = 'IG003';
  END IF;
  -- Only the node can tell which, by when it has this answer.
  IF p_decides AND v_arrived_us > p_latest_us THEN
    RAISE EXCEPTION 'the clock of the database has stepped, or the batch was late'
      USING ERRCODE = 'IG003', DETAIL = v_arrived_us::text;
  END IF;
  -- Where the last entry is the one that it has followed, nobody need look for it.
  IF p_seen <> v_last OR p_seen_us <> v_us THEN
    IF p_seen <> v_last AND NOT EXISTS (SELECT FROM inf_gw.log WHERE seq = p_seen + 1)
      OR p_seen_us <> 0 AND NOT EXISTS (SELECT FROM inf_gw.log WHERE seq = p_seen AND at_us = p_seen_us) THEN
      RAISE EXCEPTION 'the log is another one' USING ERRCODE = 'IG004',
        DETAIL = CASE WHEN p_seen > v_last OR EXISTS (SELECT FROM inf_gw.log WHERE seq = p_seen) THEN 'lost' ELSE '' END;
    END IF;
  END IF;
  o_seq := v_last;
  IF v_last > p_seen THEN
    SELECT o_entries, o_until INTO o_log, v_until FROM inf_gw.entries_after(p_seen, v_last);
    IF v_until < v_last THEN RETURN; END IF;
  END IF;
  v_us := greatest(v_us, inf_gw.now_us());
  o_us := v_us;
  -- Facts are those from before the commands.
  IF cardinality(k_ids) > 0 THEN o_facts := inf_gw.facts(k_ids, v_us); END IF;
  -- What others have written for it is not written again.
  v_writes := coalesce(w_seq = v_asked AND w_seq > v_written, false);
  IF v_writes THEN
    v_held := inf_gw.write_decisions(p_node, ${names(BATCH_COLUMNS)});
    v_written := w_seq;
  END IF;
  IF cardinality(f_id) > 0 THEN
    UPDATE inf_gw.holds SET has_slot = false WHERE request_id = ANY (f_id) AND node_id = p_node AND has_slot;
  END IF;
  IF cardinality(b_id) > 0 THEN
    WITH gone AS (DELETE FROM inf_gw.holds WHERE request_id = ANY (b_id) AND node_id = p_node RETURNING hold_nanos)
      SELECT coalesce(sum(hold_nanos), 0) INTO v_released FROM gone;
    v_held := v_held - v_released;
  END IF;
  IF cardinality(s_request_id) > 0 THEN
    v_ended := inf_gw.end_holds(p_node, v_us, ${names(SETTLEMENT.columns, 's_')});
    v_held := v_held - v_ended.released; v_charged := v_ended.charged;
  END IF;
  IF p_commands IS NULL AND NOT v_writes THEN RETURN; END IF;
  o_seq := v_last + 1;
  INSERT INTO inf_gw.log (seq, at_us, node_id, commands, facts, seen_seq, recorded, written_seq, decided, digest)
    VALUES (o_seq, v_us, p_node, p_commands, CASE WHEN p_commands IS NOT NULL THEN o_facts END, p_seen, p_recorded,
      CASE WHEN v_writes THEN w_seq END, CASE WHEN v_writes THEN w_decided END, CASE WHEN v_writes THEN w_digest END);
  UPDATE inf_gw.account SET last_us = v_us, seq = o_seq, recorded_seq = greatest(recorded_seq, p_seen),
    held_nanos = held_nanos + v_held, balance_nanos = balance_nanos - v_charged;
  -- It has followed its own last entry: what that has come to is written.
  IF p_writes AND v_asked > v_written THEN
    RAISE EXCEPTION 'the last entry of the node is not written' USING ERRCODE = 'IG004';
  END IF;
  IF p_writes OR v_writes THEN
    v_asked := CASE WHEN p_writes THEN o_seq ELSE v_asked END;
    INSERT INTO inf_gw.positions AS p (node_id, asked_seq, written_seq) VALUES (p_node, v_asked, coalesce(v_written, 0))
      ON CONFLICT (node_id) DO UPDATE SET asked_seq = excluded.asked_seq, written_seq = excluded.written_seq;
  END IF;
END $$;

-- Writes a dead gateway's decisions on its last entry; all other gateways have made the same decisions. p_seen and
-- p_recorded belong to the caller.
CREATE OR REPLACE FUNCTION inf_gw.write_for(p_seen bigint, p_recorded text, p_node int, w_seq bigint, w_decided text, w_digest text, ${HELD}, ${GROWN}, ${LISTINGS})
RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  v_us bigint; v_seq bigint; v_held bigint;
BEGIN
  IF jsonb_typeof(p_recorded::jsonb) <> 'array' OR ${anyNegative(DECIDED_AMOUNTS)} THEN
    RAISE EXCEPTION 'no gateway writes this' USING ERRCODE = 'IG901';
  END IF;
  SELECT greatest(inf_gw.now_us(), last_us), seq + 1 INTO v_us, v_seq FROM inf_gw.lock_account();
  IF p_seen >= v_seq THEN RETURN false; END IF;
  UPDATE inf_gw.positions SET written_seq = w_seq WHERE node_id = p_node AND asked_seq = w_seq AND written_seq < w_seq;
  IF NOT FOUND THEN RETURN false; END IF;
  v_held := inf_gw.write_decisions(p_node, ${names(BATCH_COLUMNS)});
  INSERT INTO inf_gw.log (seq, at_us, node_id, seen_seq, recorded, written_seq, decided, digest)
    VALUES (v_seq, v_us, p_node, p_seen, p_recorded, w_seq, w_decided, w_digest);
  UPDATE inf_gw.account SET last_us = v_us, seq = v_seq, recorded_seq = greatest(recorded_seq, p_seen),
    held_nanos = held_nanos + v_held;
  RETURN true;
END $$;

-- Drops the oldest entries, and listings that have left the windows. An entry is kept for a minute, until all live gateways
-- have applied it, except those that are very far behind, and until its decisions are written. The last entry is always
-- kept. Returns whether more may remain. The queries read no entry twice, even if the planner has no statistics of the
-- table.
CREATE OR REPLACE FUNCTION inf_gw.cut_log() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_us bigint := inf_gw.now_us(); v_below bigint; v_last bigint; v_rows bigint;
BEGIN
  SELECT least(a.seq, (SELECT min(n.seen_seq) FROM inf_gw.nodes n WHERE n.alive_us > v_us - 8000000 AND n.seen_seq > a.seq - ${MOST_LAG}),
      (SELECT min(p.asked_seq) FROM inf_gw.positions p WHERE p.asked_seq > p.written_seq)) INTO v_below FROM inf_gw.account a;
  SELECT max(seq) INTO v_last FROM (SELECT seq, at_us FROM inf_gw.log ORDER BY seq LIMIT ${MOST_CUT}) oldest
    WHERE seq < v_below AND at_us < v_us - ${KEPT_US};
  DELETE FROM inf_gw.log WHERE ctid = ANY (ARRAY(SELECT ctid FROM inf_gw.log WHERE seq <= v_last
    ORDER BY seq LIMIT ${MOST_CUT} FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS v_rows = ROW_COUNT;
  DELETE FROM inf_gw.listings WHERE at_us < v_us - ${KEPT_US};
  RETURN v_rows = ${MOST_CUT};
END $$;
`;

const MINUTE_US = 60_000_000;
/** Number of keys in one row of facts, about 600 bytes each. */
const FACTS_AT_ONCE = 500;
const AT = (name: string) => `${name}_at_ms * 1000 + ${name}_micros`;

export const REBUILD = `
-- The memory of a gateway as of one log entry, plus the tail of the log: all entries from the first one without recorded
-- decisions. Account, holds, windows of the last minute and facts of their keys are from before the tail, with exceptions
-- described by o_ended and o_tail: sums include the charges of requests that the tail has ended, and terms and balance
-- include its edits. o_unwritten: entries before the tail with unwritten decisions, and those decisions. Times after the
-- last entry date from before the clock was set back, and count from then on. Facts are in separate rows, because 100,000
-- keys are possible.
CREATE OR REPLACE FUNCTION inf_gw.rebuild() RETURNS TABLE (o_seq bigint, o_us bigint, o_balance bigint, o_rules int, o_holds text,
  o_recent text, o_listings text, o_unwritten text, o_ended text, o_tail text, o_facts text)
LANGUAGE sql STABLE AS $$
  WITH a AS (SELECT * FROM inf_gw.account),
  asked AS (
    SELECT l.* FROM inf_gw.positions p JOIN inf_gw.log l ON l.seq = p.asked_seq WHERE p.asked_seq > p.written_seq
  ), unwritten AS (
    SELECT * FROM asked WHERE seq <= (SELECT recorded_seq FROM a)
  ), recorded AS (
    SELECT DISTINCT ON (r.x -> 0) r.x FROM inf_gw.log l, jsonb_path_query(l.recorded::jsonb, 'lax $[*]') r (x)
    WHERE l.seq > (SELECT min(seq) FROM unwritten) AND r.x -> 0 IN (SELECT to_jsonb(seq) FROM unwritten)
  ), tail AS (
    SELECT * FROM inf_gw.log WHERE seq >= (SELECT min(seq) FROM asked WHERE seq > (SELECT recorded_seq FROM a))
  ), named AS (
    SELECT t.seq, t.at_us, t.node_id = 0 AS is_reaped,
      CASE t.node_id WHEN 0 THEN t.commands::jsonb -> 'reaped' ELSE to_jsonb(t.node_id) END AS node_id, e.x
    FROM tail t, jsonb_path_query(t.commands::jsonb, 'lax $.s[*]') e (x)
  ), late AS (
    SELECT commands::jsonb -> 'late' -> 4 AS request_id FROM tail WHERE node_id = 0 AND commands::jsonb ? 'late'
  ), ended AS MATERIALIZED (
    -- A request ends once. The row of one that was charged as held may have been written again since, but not by the entry
    -- in which its gateway ended it too late.
    SELECT DISTINCT ON (j.request_id) n.seq, n.x, j.*
    FROM named n JOIN inf_gw.journal j ON j.request_id = n.x ->> 0 AND to_jsonb(j.node_id) = n.node_id AND CASE WHEN n.is_reaped
      THEN ${AT('j.settled')} >= n.at_us
      ELSE ${AT('j.settled')} = n.at_us AND n.x -> 0 NOT IN (SELECT request_id FROM late) END
    ORDER BY j.request_id, n.seq
  ), recent AS MATERIALIZED (
    SELECT key_id, levels, request_id, ${AT('admitted')} AS admitted_us, ${AT('settled')} AS settled_us, prompt_tokens + completion_tokens AS tokens
    FROM (${endedSince('*', 'inf_gw.journal', `(coalesce((SELECT min(at_us) FROM tail), (SELECT last_us FROM a)) - ${MINUTE_US}) / 1000`)}) j
  ), dated AS (
    SELECT r.key_id, r.levels, CASE WHEN r.admitted_us > a.last_us THEN a.clock_us ELSE r.admitted_us END AS admitted_us,
      CASE WHEN r.settled_us > a.last_us THEN a.clock_us ELSE r.settled_us END AS settled_us, r.tokens FROM recent r, a
    WHERE NOT EXISTS (SELECT FROM ended e WHERE e.request_id = r.request_id)
  ), listed AS (
    SELECT l.* FROM inf_gw.listings l WHERE l.at_us > coalesce((SELECT min(at_us) FROM tail), (SELECT last_us FROM a)) - ${MINUTE_US}
  ), active AS (
    SELECT key_id FROM inf_gw.holds UNION SELECT key_id FROM recent UNION SELECT key_id FROM listed UNION SELECT key_id FROM ended
    UNION SELECT k.x #>> '{}' FROM unwritten u, jsonb_path_query(u.commands::jsonb, 'lax $.k[*]') k (x)
    UNION SELECT b.x ->> 1 FROM tail t, jsonb_path_query(t.commands::jsonb, 'lax $.b[*]') b (x)
    UNION SELECT inf_gw.levels_in(h.levels) FROM inf_gw.holds h WHERE h.levels IS NOT NULL
    UNION SELECT inf_gw.levels_in(r.levels) FROM recent r WHERE r.levels IS NOT NULL
    UNION SELECT inf_gw.levels_in(e.levels) FROM ended e WHERE e.levels IS NOT NULL
    UNION SELECT l.x #>> '{}' FROM tail t, jsonb_path_query(t.commands::jsonb, 'lax $.b[*][10][*]') l (x)
  )
  SELECT a.seq, a.last_us, a.balance_nanos, a.rules,
    (SELECT json_agg(json_build_array(h.request_id, h.node_id, h.key_id, h.model, h.admitted_us, h.input_tokens, h.output_tokens,
      h.reserved_tokens, h.hold_nanos::text, h.has_slot, h.price,
      CASE WHEN h.admitted_us > a.last_us THEN a.clock_us ELSE h.admitted_us END, h.levels::json, h.end_user) ORDER BY h.admitted_us, h.request_id)::text FROM inf_gw.holds h),
    (SELECT json_agg(json_build_array(d.key_id, d.admitted_us, d.settled_us, d.tokens, d.levels::json))::text FROM dated d),
    (SELECT json_agg(json_build_array(l.key_id, l.at_us, l.listings))::text FROM listed l),
    (SELECT json_agg(json_build_array(u.seq, u.at_us, u.node_id, u.commands::json,
      (SELECT r.x -> 1 FROM recorded r WHERE r.x -> 0 = to_jsonb(u.seq))) ORDER BY u.seq)::text FROM unwritten u),
    (SELECT json_agg(json_build_array(e.seq, e.x, e.request_id, e.node_id, e.key_id, coalesce(e.requested_model, e.model),
      ${AT('e.admitted')}, e.hold_nanos::text, e.price,
      CASE WHEN ${AT('e.admitted')} > a.last_us THEN a.clock_us ELSE ${AT('e.admitted')} END, e.levels::json))::text FROM ended e),
    (SELECT json_agg(json_build_array(json_build_array(t.seq, t.at_us, t.node_id, t.commands::json, t.facts::json,
      coalesce(t.written_seq, 0), t.decided, t.digest, coalesce(t.seen_seq, 0)), t.facts_before::json) ORDER BY t.seq)::text FROM tail t),
    NULL
  FROM a
  UNION ALL
  SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, inf_gw.facts(array_agg(p.key_id), (SELECT last_us FROM a))
  FROM (SELECT key_id, row_number() OVER () / ${FACTS_AT_ONCE} AS page FROM active) p GROUP BY p.page
$$;
`;
