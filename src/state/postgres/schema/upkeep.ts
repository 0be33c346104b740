/** Maintenance functions: refusal counts, journal partitions, retention. */
import { DAY_COLUMNS, SUM_FIGURES, SUM_NAMES } from '../../sql.ts';
import { groupsIn } from './levels.ts';
import { ADD_FIGURES, SUMS } from './sums.ts';

export const RETENTION_TABLE = `
-- How long the owner keeps requests in the journal, as \`state grant\` has it from the config: what gateways with a role of
-- their own may drop at most. Without a row nothing.
CREATE TABLE inf_gw.retention (
  journal_ms bigint NOT NULL CHECK (journal_ms > 0),
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row)
);
`;

export const UPKEEP = `
-- Adds refusals to the stored counts. Skips refusals without a key, and implausible ones.
CREATE OR REPLACE FUNCTION inf_gw.count_refusals(p_month text[], p_key_id text[], p_code text[], p_reason text[], p_requests bigint[],
  p_last_at_ms bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO inf_gw.refusals AS u (month, key_id, code, reason, requests, last_at_ms)
    SELECT * FROM unnest(p_month, p_key_id, p_code, p_reason, p_requests, p_last_at_ms)
      AS x (month, key_id, code, reason, requests, last_at_ms)
      WHERE requests > 0 AND month ~ '^\\d{4}-\\d{2}$' AND length(code) <= 100 AND length(reason) <= 100
        AND last_at_ms <= inf_gw.now_us() / 1000 + 86400000 AND EXISTS (SELECT FROM inf_gw.keys k WHERE k.id = x.key_id)
      ORDER BY key_id, month, code, reason
    ON CONFLICT (key_id, month, code, reason) DO UPDATE
      SET requests = u.requests + excluded.requests, last_at_ms = greatest(u.last_at_ms, excluded.last_at_ms);
END $$;

-- Creates the journal partitions of this month and the next two. Failures are left to the next call: rows without a
-- partition go to journal_other. A new partition locks the whole journal, and all decisions queue behind the wait for that
-- lock, so the wait is short and yields to a long read such as an audit.
CREATE OR REPLACE FUNCTION inf_gw.make_partitions() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_start timestamp; v_name text;
BEGIN
  PERFORM set_config('lock_timeout', '100ms', true);
  FOR i IN 0 .. 2 LOOP
    v_start := date_trunc('month', to_timestamp(inf_gw.now_us() / 1000000) AT TIME ZONE 'UTC') + make_interval(months => i);
    v_name := 'journal_' || to_char(v_start, 'YYYY_MM');
    CONTINUE WHEN to_regclass('inf_gw.' || v_name) IS NOT NULL;
    BEGIN
      EXECUTE format('CREATE TABLE inf_gw.%I PARTITION OF inf_gw.journal FOR VALUES FROM (%s) TO (%s)', v_name,
        extract(epoch FROM v_start)::bigint * 1000,
        extract(epoch FROM v_start + make_interval(months => 1))::bigint * 1000);
    EXCEPTION
      -- Locked by somebody, made by another gateway at this moment, or its rows are in journal_other already.
      WHEN lock_not_available OR duplicate_table OR check_violation THEN NULL;
    END;
  END LOOP;
END $$;

-- Drops the oldest rows admitted and settled before p_before_ms, at most p_most, and seals their sums. A caller without the
-- owner's role cannot drop rows within the owner's retention. Returns whether more may remain.
CREATE OR REPLACE FUNCTION inf_gw.drop_old_rows(p_before_ms bigint, p_most int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_rows bigint; v_before_ms bigint := p_before_ms; v_kept_ms bigint;
BEGIN
  -- The function runs as the owner, and is called by whoever has signed in.
  IF NOT pg_has_role(session_user, current_user, 'MEMBER') THEN
    SELECT journal_ms INTO v_kept_ms FROM inf_gw.retention;
    IF NOT FOUND THEN RETURN false; END IF;
    v_before_ms := least(p_before_ms, inf_gw.now_us() / 1000 - v_kept_ms);
  END IF;
  WITH old AS (
    SELECT request_id, admitted_at_ms FROM inf_gw.journal
    WHERE admitted_at_ms < v_before_ms AND settled_at_ms < v_before_ms
    ORDER BY admitted_at_ms, id LIMIT p_most FOR UPDATE
  ), gone AS (
    DELETE FROM inf_gw.journal j USING old
    WHERE j.request_id = old.request_id AND j.admitted_at_ms = old.admitted_at_ms RETURNING j.*
  ), sealed AS (
    INSERT INTO inf_gw.sealed_days AS u (day, ${DAY_COLUMNS}, settled_to_ms)
    SELECT inf_gw.utc_day(n * 86400000000), group_ids, ${SUM_NAMES}, ${SUMS}, max(settled_at_ms)
    FROM (SELECT *, admitted_at_ms / 86400000 AS n, ${groupsIn('levels')} AS group_ids FROM gone) g
    GROUP BY n, group_ids, ${SUM_NAMES}
    ON CONFLICT (key_id, day, model, source, group_ids) DO UPDATE
      SET ${ADD_FIGURES}, settled_to_ms = greatest(u.settled_to_ms, excluded.settled_to_ms)
  ), sealed_levels AS (
    INSERT INTO inf_gw.sealed_levels AS u (level_id, day, ${SUM_FIGURES.join(', ')}, settled_to_ms)
    SELECT level_id, inf_gw.utc_day(admitted_at_ms / 86400000 * 86400000000), ${SUMS}, max(settled_at_ms)
    FROM (SELECT inf_gw.levels_in(g.levels) AS level_id, g.* FROM gone g WHERE g.levels IS NOT NULL) b
    GROUP BY level_id, admitted_at_ms / 86400000
    ON CONFLICT (level_id, day) DO UPDATE
      SET ${ADD_FIGURES}, settled_to_ms = greatest(u.settled_to_ms, excluded.settled_to_ms)
  )
  SELECT count(*) INTO v_rows FROM gone;
  RETURN v_rows = p_most;
END $$;
`;
