/** The functions that end requests: they charge, write the journal, and update the sums. */

import { names } from '../../../core/layout.ts';
import { SETTLEMENT } from '../../journal.ts';
import { DAY_COLUMNS, isUser, SUM_COLUMNS } from '../../sql.ts';
import { arraysOf, typed } from '../batch.ts';
import { groupsIn } from './levels.ts';
import { ADD_FIGURES, SUMS, summandOf } from './sums.ts';

/** The settlement's columns that do not exist in the hold. */
const END_COLUMNS = SETTLEMENT.columns.filter(({ name }) => !['request_id', 'model', 'price'].includes(name));

/** The columns of a journal row, ending with `END_COLUMNS` in its order. */
const ROW_COLUMNS = `id, key_id, requested_model, admitted_at_ms, settled_at_ms, hold_nanos, node_id, levels, request_id, model, price,
  ${names(END_COLUMNS)}`;

/** Maximum assumed clock difference between a failed server and its successor: a day. */
const MOST_AHEAD_US = 86_400_000_000;

/** Settlements as one array per column. */
export const ENDS = arraysOf(SETTLEMENT.columns, 's_');

export const SETTLE = `
-- Ends requests of a gateway: deletes their holds, writes their journal rows and adds them to the sums. Returns the number
-- of ended requests (without a hold, a request has ended before), their charges and their released holds. The caller holds
-- the lock and updates the account.
CREATE OR REPLACE FUNCTION inf_gw.end_holds(p_node int, p_us bigint, ${ENDS}, OUT ended bigint, OUT charged bigint,
  OUT released bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_key_ids text[]; v_levels text[]; v_costs bigint[]; v_rows inf_gw.summand[]; v_slides boolean;
  v_day text := inf_gw.utc_day(p_us);
BEGIN
  WITH s AS (
    SELECT * FROM unnest(${names(SETTLEMENT.columns, 's_')}) AS s (${names(SETTLEMENT.columns)})
  ), d AS (
    SELECT h.*, coalesce(s.model, h.model) AS served, coalesce(s.price, h.price) AS charged_price, ${names(END_COLUMNS, 's.')},
      CASE WHEN h.admitted_us / 86400000000 = p_us / 86400000000 THEN v_day ELSE inf_gw.utc_day(h.admitted_us) END AS day
    FROM s CROSS JOIN LATERAL (
      SELECT h.ctid AS place, h.* FROM inf_gw.holds h WHERE h.request_id = s.request_id AND h.node_id = p_node LIMIT 1) h
  ), gone AS (
    DELETE FROM inf_gw.holds WHERE ctid = ANY (ARRAY(SELECT place FROM d))
  ), j AS (
    INSERT INTO inf_gw.journal (${ROW_COLUMNS}, admitted_micros, settled_micros)
    SELECT nextval('inf_gw.journal_ids'), key_id, CASE WHEN served <> model THEN model END, admitted_us / 1000, p_us / 1000,
      hold_nanos, node_id, levels, request_id, served, charged_price, ${names(END_COLUMNS)}, admitted_us % 1000, p_us % 1000
    FROM d
  ), days AS (
    INSERT INTO inf_gw.usage_days AS u (day, ${DAY_COLUMNS})
    SELECT day, group_ids, key_id, served, source, ${SUMS}
    FROM (SELECT *, ${groupsIn('levels')} AS group_ids FROM d) d GROUP BY day, group_ids, key_id, served, source
    ON CONFLICT (key_id, day, model, source, group_ids) DO UPDATE SET ${ADD_FIGURES}
  ), months AS (
    INSERT INTO inf_gw.usage_months AS u (month, ${SUM_COLUMNS}, last_at_ms)
    SELECT substr(day, 1, 7) AS month, key_id, served, source, ${SUMS}, max(admitted_us) / 1000
    FROM d GROUP BY 1, key_id, served, source
    ON CONFLICT (key_id, month, model, source)
    DO UPDATE SET ${ADD_FIGURES}, last_at_ms = greatest(u.last_at_ms, excluded.last_at_ms)
  )
  SELECT count(*), coalesce(sum(cost_nanos), 0), coalesce(sum(hold_nanos), 0), array_agg(key_id), array_agg(levels), array_agg(cost_nanos),
    array_agg(${summandOf('day', 'served')}) FILTER (WHERE levels IS NOT NULL OR num_nonnulls(by_user, by_tag, by_app) > 0),
    EXISTS (SELECT FROM inf_gw.budgets WHERE window_s IS NOT NULL)
    INTO ended, charged, released, v_key_ids, v_levels, v_costs, v_rows, v_slides FROM d;
  IF v_slides THEN
    PERFORM inf_gw.book_steps(v_key_ids, v_levels, v_costs, p_us);
  END IF;
  IF v_rows IS NOT NULL THEN PERFORM inf_gw.book_names(v_rows), inf_gw.book_level_sums(v_rows); END IF;
END $$;

-- Settles a request without a hold. If its node was declared dead and the request charged as held, the row gets the actual
-- figures. If the database lost the hold in a failover, and p_writes is set, a row is written; an admission time from a
-- clock that was ahead counts as now. Otherwise the request was settled before. Returns whether a row changed.
CREATE OR REPLACE FUNCTION inf_gw.settle_late(p_node int, p_writes boolean, p_key_id text, p_requested_model text,
  p_admitted_us bigint, p_hold_nanos bigint, p_levels text, ${typed(SETTLEMENT.columns, 'p_')})
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_us bigint; v_old inf_gw.journal; v_charge bigint; v_tokens bigint := p_prompt_tokens + p_completion_tokens;
  v_new inf_gw.journal; v_ids text[]; v_added text[] := '{}'; v_day text; v_before text; v_model text := coalesce(p_model, p_requested_model);
BEGIN
  IF least(p_prompt_tokens, p_cached_tokens, p_cache_write_tokens, p_completion_tokens, p_cost_nanos, p_hold_nanos) < 0
    OR NOT EXISTS (SELECT FROM inf_gw.nodes WHERE id = p_node) THEN
    RAISE EXCEPTION 'no gateway settles this' USING ERRCODE = 'IG901';
  END IF;
  SELECT greatest(inf_gw.now_us(), last_us) INTO v_us FROM inf_gw.lock_account();
  SELECT * INTO v_old FROM inf_gw.journal WHERE request_id = p_request_id;
  v_ids := ARRAY(SELECT coalesce(v_old.key_id, p_key_id)
    UNION SELECT inf_gw.levels_in(CASE WHEN v_old.request_id IS NULL THEN p_levels ELSE v_old.levels END));
  v_before := inf_gw.facts(v_ids, v_us);
  IF v_old.request_id IS NOT NULL THEN
    IF v_old.outcome <> 'interrupted' OR v_old.source <> 'held' OR v_old.corrected_at_ms IS NOT NULL THEN
      RETURN false;
    END IF;
    IF v_old.levels IS NOT NULL THEN
      v_day := inf_gw.utc_day(v_old.admitted_at_ms * 1000);
      -- Whoever adds up those days has them locked.
      PERFORM FROM inf_gw.level_days d WHERE d.day = v_day AND d.level_id IN (SELECT inf_gw.levels_in(v_old.levels)) FOR UPDATE;
      v_added := ARRAY(SELECT l FROM inf_gw.levels_in(v_old.levels) l
        WHERE ${isUser('l')} AND NOT EXISTS (SELECT FROM inf_gw.level_days d WHERE d.day = v_day AND d.level_id = l));
      PERFORM inf_gw.book_level_sums(ARRAY[inf_gw.taken_out(inf_gw.summand_of(v_old))], v_added);
    END IF;
    IF v_old.by_user IS NOT NULL THEN PERFORM inf_gw.book_names(ARRAY[inf_gw.taken_out(inf_gw.summand_of(v_old))]); END IF;
    PERFORM inf_gw.add_to_sums(v_old.key_id, v_old.levels, v_old.model, v_old.source, v_old.admitted_at_ms * 1000, -1, v_old.outcome,
      -v_old.prompt_tokens, -v_old.cached_tokens, -v_old.cache_write_tokens, -v_old.completion_tokens,
      -v_old.cost_nanos);
    DELETE FROM inf_gw.journal WHERE request_id = p_request_id;
    PERFORM inf_gw.add_to_steps(l.id, v_old.settled_at_ms, -v_old.cost_nanos)
      FROM (SELECT v_old.key_id AS id UNION ALL SELECT inf_gw.levels_in(v_old.levels)) l;
    -- A gateway that gives an admission back names nobody.
    p_by_user := coalesce(p_by_user, v_old.by_user);
    p_key_id := v_old.key_id; p_requested_model := coalesce(v_old.requested_model, v_old.model);
    p_admitted_us := v_old.admitted_at_ms * 1000; p_hold_nanos := v_old.hold_nanos; p_levels := v_old.levels;
    v_model := coalesce(p_model, p_requested_model);
  ELSIF NOT p_writes THEN
    RETURN false;
  ELSIF p_admitted_us > v_us + ${MOST_AHEAD_US} OR NOT EXISTS (SELECT FROM inf_gw.keys WHERE id = p_key_id) THEN
    RAISE EXCEPTION 'no gateway has admitted this' USING ERRCODE = 'IG901';
  ELSE
    p_admitted_us := least(p_admitted_us, v_us);
  END IF;
  INSERT INTO inf_gw.journal (${ROW_COLUMNS}, admitted_micros, settled_micros)
  VALUES (nextval('inf_gw.journal_ids'), p_key_id, CASE WHEN v_model <> p_requested_model THEN p_requested_model END,
    p_admitted_us / 1000, v_us / 1000, p_hold_nanos, p_node, p_levels, p_request_id, v_model, coalesce(p_price, v_old.price),
    ${names(END_COLUMNS, 'p_')}, v_old.admitted_micros, v_us % 1000)
  RETURNING * INTO v_new;
  PERFORM inf_gw.add_to_sums(p_key_id, p_levels, v_model, p_source, p_admitted_us, 1, p_outcome, p_prompt_tokens, p_cached_tokens,
    p_cache_write_tokens, p_completion_tokens, p_cost_nanos);
  v_charge := p_cost_nanos - coalesce(v_old.cost_nanos, 0);
  PERFORM inf_gw.book_names(ARRAY[inf_gw.summand_of(v_new)]);
  IF p_levels IS NOT NULL THEN
    PERFORM inf_gw.book_level_sums(ARRAY[inf_gw.summand_of(v_new)], v_added);
  END IF;
  PERFORM inf_gw.add_to_steps(l.id, v_us / 1000, p_cost_nanos)
    FROM (SELECT p_key_id AS id UNION ALL SELECT inf_gw.levels_in(p_levels)) l;
  UPDATE inf_gw.account SET balance_nanos = balance_nanos - v_charge;
  -- In the windows of tokens, what was used stands for what was held.
  PERFORM inf_gw.log_change(v_us, jsonb_build_object('late', jsonb_build_array(p_key_id, v_tokens,
    v_old.prompt_tokens + v_old.completion_tokens, v_old.settled_at_ms * 1000 + v_old.settled_micros, p_request_id,
    p_levels::json), 'added', (-v_charge)::text), v_ids, v_before);
  RETURN true;
END $$;

-- Adds a request to the sums of its day and month, or subtracts it: p_requests is 1 or -1.
CREATE OR REPLACE FUNCTION inf_gw.add_to_sums(p_key_id text, p_levels text, p_model text, p_source text, p_admitted_us bigint, p_requests int,
  p_outcome text, p_prompt bigint, p_cached bigint, p_written bigint, p_completion bigint, p_cost bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_errors int := CASE WHEN p_outcome IN ('ok', 'cancelled') THEN 0 ELSE p_requests END;
BEGIN
  INSERT INTO inf_gw.usage_days AS u (day, ${DAY_COLUMNS})
  VALUES (inf_gw.utc_day(p_admitted_us), ${groupsIn('p_levels')}, p_key_id, p_model, p_source, p_requests, v_errors, p_prompt, p_cached, p_written,
    p_completion, p_cost)
  ON CONFLICT (key_id, day, model, source, group_ids) DO UPDATE SET ${ADD_FIGURES};
  INSERT INTO inf_gw.usage_months AS u (month, ${SUM_COLUMNS}, last_at_ms)
  VALUES (inf_gw.utc_month(p_admitted_us), p_key_id, p_model, p_source, p_requests, v_errors, p_prompt, p_cached,
    p_written, p_completion, p_cost, p_admitted_us / 1000)
  ON CONFLICT (key_id, month, model, source)
  DO UPDATE SET ${ADD_FIGURES}, last_at_ms = greatest(u.last_at_ms, excluded.last_at_ms);
  IF p_requests < 0 THEN
    DELETE FROM inf_gw.usage_days WHERE key_id = p_key_id AND day = inf_gw.utc_day(p_admitted_us) AND requests = 0;
    DELETE FROM inf_gw.usage_months WHERE key_id = p_key_id AND month = inf_gw.utc_month(p_admitted_us) AND requests = 0;
  END IF;
END $$;
`;
