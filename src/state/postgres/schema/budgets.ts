/** Budgets of keys: their tables, and the sums of sliding windows. */
import { MOST_STEPS } from '../../../core/budgets.ts';
import { templateOf } from './levels.ts';

export const BUDGET_TABLES = `
-- How much a key may spend beside its limit of the month.
CREATE TABLE inf_gw.budgets (
  key_id text COLLATE "C" NOT NULL,
  -- day, week or total; or the length of a sliding window, such as 24h.
  period text COLLATE "C" NOT NULL,
  limit_nanos bigint NOT NULL CHECK (limit_nanos >= 0),
  -- The length of a sliding window, and from when on its steps are exact: those before may be too much.
  window_s bigint CHECK (window_s >= 1),
  exact_from_ms bigint CHECK ((exact_from_ms IS NULL) = (window_s IS NULL)),
  PRIMARY KEY (key_id, period)
);
CREATE UNIQUE INDEX budgets_by_window ON inf_gw.budgets (key_id, window_s) WHERE window_s IS NOT NULL;

-- What the requests of a sliding window came to, by time of settlement: a hundred steps of the same length.
CREATE TABLE inf_gw.budget_steps (
  key_id text COLLATE "C" NOT NULL,
  window_s bigint NOT NULL,
  -- When the step begins.
  at_ms bigint NOT NULL,
  cost_nanos bigint NOT NULL CHECK (cost_nanos >= 0),
  PRIMARY KEY (key_id, window_s, at_ms)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX budget_steps_of_users ON inf_gw.budget_steps (window_s, at_ms) WHERE key_id LIKE '%/%';
`;

/** The length of a window's step in milliseconds. */
const STEP_MS = 'b.window_s * 10';

export const BUDGETS = `
-- Adds an amount, possibly negative, to the sliding windows of a level at the end of a request. Where a window was filled by
-- day, the step may contain less than the amount to subtract; it stops at zero, so the window counts too much rather than
-- too little. The caller holds the lock.
CREATE OR REPLACE FUNCTION inf_gw.add_to_steps(p_key_id text, p_settled_ms bigint, p_nanos bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO inf_gw.budget_steps AS u (key_id, window_s, at_ms, cost_nanos)
    SELECT DISTINCT p_key_id, b.window_s, p_settled_ms / (${STEP_MS}) * (${STEP_MS}), greatest(0, p_nanos) FROM inf_gw.budgets b
    WHERE b.key_id IN (p_key_id, ${templateOf('p_key_id')}) AND b.window_s IS NOT NULL
    ON CONFLICT (key_id, window_s, at_ms) DO UPDATE SET cost_nanos = greatest(0, u.cost_nanos + p_nanos);
  DELETE FROM inf_gw.budget_steps s USING (
    SELECT w.window_s, (SELECT o.at_ms FROM inf_gw.budget_steps o WHERE o.key_id = p_key_id AND o.window_s = w.window_s
      ORDER BY o.at_ms DESC OFFSET ${MOST_STEPS} LIMIT 1) AS at_ms
    FROM (SELECT DISTINCT b.window_s FROM inf_gw.budgets b
      WHERE b.key_id IN (p_key_id, ${templateOf('p_key_id')}) AND b.window_s IS NOT NULL) w) x
  WHERE s.key_id = p_key_id AND s.window_s = x.window_s AND s.at_ms <= x.at_ms;
END $$;

-- Moves future entries of sliding windows to the current time, after a clock that was ahead was set back. Until the clock
-- passes the last of those times, the journal cannot prove these windows. The caller holds the lock.
CREATE OR REPLACE FUNCTION inf_gw.count_future_now(p_now_ms bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  r record;
BEGIN
  FOR r IN
    WITH future AS (DELETE FROM inf_gw.budget_steps s WHERE s.at_ms > p_now_ms RETURNING s.*)
    SELECT key_id, window_s, sum(cost_nanos)::bigint AS nanos, max(at_ms) AS last_ms FROM future GROUP BY key_id, window_s
  LOOP
    INSERT INTO inf_gw.budget_steps AS u (key_id, window_s, at_ms, cost_nanos)
      VALUES (r.key_id, r.window_s, p_now_ms / (r.window_s * 10) * (r.window_s * 10), r.nanos)
      ON CONFLICT (key_id, window_s, at_ms) DO UPDATE SET cost_nanos = u.cost_nanos + excluded.cost_nanos;
    UPDATE inf_gw.budgets b SET exact_from_ms = greatest(b.exact_from_ms, r.last_ms + r.window_s * 10)
      WHERE b.key_id = r.key_id AND b.window_s = r.window_s;
  END LOOP;
END $$;

-- Adds the costs of requests that ended at p_us to the sliding windows of their keys and other levels, and drops the oldest
-- steps for each new one. The caller holds the lock.
CREATE OR REPLACE FUNCTION inf_gw.book_steps(p_key_ids text[], p_levels text[], p_costs bigint[], p_us bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  WITH steps AS (
    INSERT INTO inf_gw.budget_steps AS u (key_id, window_s, at_ms, cost_nanos)
    SELECT l.id, b.window_s, p_us / 1000 / (${STEP_MS}) * (${STEP_MS}), sum(d.cost_nanos)
    FROM unnest(p_key_ids, p_levels, p_costs) AS d (key_id, levels, cost_nanos)
      CROSS JOIN LATERAL (SELECT d.key_id AS id UNION ALL SELECT inf_gw.levels_in(d.levels)) l
      CROSS JOIN LATERAL (SELECT DISTINCT b.window_s FROM inf_gw.budgets b
        WHERE b.key_id IN (l.id, ${templateOf('l.id')}) AND b.window_s IS NOT NULL) b
    WHERE d.cost_nanos > 0 GROUP BY 1, 2, 3
    ON CONFLICT (key_id, window_s, at_ms) DO UPDATE SET cost_nanos = u.cost_nanos + excluded.cost_nanos
    RETURNING key_id, window_s, at_ms
  )
  -- Each is looked for by itself, whatever the planner believes of a table that it has no statistics of.
  DELETE FROM inf_gw.budget_steps WHERE ctid = ANY (ARRAY(
    SELECT o.place FROM steps n
      LEFT JOIN LATERAL (SELECT e.at_ms FROM inf_gw.budget_steps e WHERE e.key_id = n.key_id AND e.window_s = n.window_s
        AND e.at_ms = n.at_ms LIMIT 1) e ON true
      CROSS JOIN LATERAL (SELECT o.ctid AS place FROM inf_gw.budget_steps o WHERE o.key_id = n.key_id
        AND o.window_s = n.window_s ORDER BY o.at_ms DESC OFFSET ${MOST_STEPS - 1}) o
    WHERE e.at_ms IS NULL));
END $$;
`;
