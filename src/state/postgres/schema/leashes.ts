/** Leashes: which keys `run` has made, which of them inside of which, and what bounds them. */

export const LEASH_TABLES = `
-- A key that run has made is on its own leash, and on those of the runs around it, all of them.
CREATE TABLE inf_gw.leashes (
  outer_id text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (outer_id, key_id)
);
CREATE INDEX leashes_by_key ON inf_gw.leashes (key_id);
`;

export const LEASHES = `
-- What is spent of the budgets that bound keys: their own, as budget_spends has them, and the totals of the leashes that
-- they are on. The caller holds the lock.
CREATE OR REPLACE FUNCTION inf_gw.bounding_spends(p_key_ids text[], p_at_us bigint, p_now_us bigint)
RETURNS TABLE (key_id text, period text, limit_nanos bigint, charged_nanos bigint, held_nanos bigint, frees_ms bigint,
  resets_ms bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_outer_ids text[] := ARRAY(SELECT DISTINCT l.outer_id FROM inf_gw.leashes l
    WHERE l.key_id = ANY (p_key_ids) AND l.outer_id <> l.key_id);
BEGIN
  RETURN QUERY SELECT * FROM inf_gw.budget_spends(p_key_ids, p_at_us, p_now_us);
  IF cardinality(v_outer_ids) = 0 THEN RETURN; END IF;
  RETURN QUERY
  SELECT l.key_id, s.period, s.limit_nanos, s.charged_nanos, s.held_nanos, s.frees_ms, s.resets_ms
  FROM inf_gw.budget_spends(v_outer_ids, p_at_us, p_now_us) s
  JOIN inf_gw.leashes l ON l.outer_id = s.key_id AND l.key_id <> l.outer_id
  WHERE l.key_id = ANY (p_key_ids) AND s.period = 'total';
END $$;
`;
