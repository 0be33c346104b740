/** Levels: groups, end users, and their sums. */
import { GROUP_ID, IDLE_USER_MS } from '../../levels.ts';
import { isGroup, isUser, SUM_FIGURES } from '../../sql.ts';
import { ADD_FIGURES, SUMMED, summandOf } from './sums.ts';

const FIGURE_COLUMNS = SUM_FIGURES.map((name) => `${name} bigint NOT NULL`).join(', ');

/** The groups among the levels of a journal row, in the same format. */
export const groupsIn = (levels: string) => `CASE WHEN strpos(${levels}, '"${GROUP_ID}') > 0
  THEN (SELECT coalesce('["' || string_agg(l, '","') || '"]', '[]') FROM inf_gw.levels_in(${levels}) l WHERE ${isGroup('l')}) ELSE '[]' END`;

/** For an end user, the id that has the budgets of all end users; otherwise the id itself. */
export const templateOf = (id: string) =>
  `CASE WHEN strpos(${id}, '/') > 0 THEN split_part(${id}, '/', 1) || '/' ELSE ${id} END`;

export const LEVEL_TABLES = `
-- Named sets of keys and groups, which share limits. A limit that is NULL is none.
CREATE TABLE inf_gw.groups (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  state text NOT NULL CHECK (state IN ('enabled', 'disabled', 'deleted')),
  rpm bigint CHECK (rpm >= 1),
  tpm bigint CHECK (tpm >= 1),
  concurrency bigint CHECK (concurrency >= 1),
  spend_limit_nanos bigint CHECK (spend_limit_nanos >= 0),
  allowlist jsonb CHECK (jsonb_typeof(allowlist) = 'array'),
  -- The group that it is in.
  group_id text COLLATE "C" CHECK (group_id <> id),
  created_at_ms bigint NOT NULL
);
CREATE UNIQUE INDEX groups_by_live_name ON inf_gw.groups (name) WHERE state <> 'deleted';
CREATE INDEX groups_by_group ON inf_gw.groups (group_id) WHERE group_id IS NOT NULL;

-- What each end user of a key or a group may use and spend: the row without a name is for all, the others are for one.
-- Where there is no row for all, end users are no levels. Budgets are in the table of budgets, by owner_id/name.
CREATE TABLE inf_gw.users (
  owner_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  state text NOT NULL CHECK (state IN ('enabled', 'disabled')),
  rpm bigint CHECK (rpm >= 1),
  tpm bigint CHECK (tpm >= 1),
  concurrency bigint CHECK (concurrency >= 1),
  spend_limit_nanos bigint CHECK (spend_limit_nanos >= 0),
  -- Whether a request has to name its end user.
  required bigint NOT NULL CHECK (required IN (0, 1)),
  PRIMARY KEY (owner_id, name)
);

-- What requests add up to for the levels that they were booked to besides their key: the keys above it, groups, and end
-- users as owner_id/name. A row is for all keys and models: which of them groups were booked by, the days of keys say. Of
-- end users there may be millions, so each of their requests writes its day alone: when that is old, it is added to its
-- month, and dropped when nothing is bounded by it any more.
CREATE TABLE inf_gw.level_days (
  level_id text COLLATE "C" NOT NULL,
  day text COLLATE "C" NOT NULL,
  ${FIGURE_COLUMNS},
  PRIMARY KEY (level_id, day)
) WITH (fillfactor = 50);
CREATE TABLE inf_gw.level_months (
  level_id text COLLATE "C" NOT NULL,
  month text COLLATE "C" NOT NULL,
  ${FIGURE_COLUMNS},
  PRIMARY KEY (level_id, month)
) WITH (fillfactor = 50);
CREATE INDEX level_days_of_users ON inf_gw.level_days (day) WHERE ${isUser('level_id')};
CREATE INDEX level_months_of_users ON inf_gw.level_months (month) WHERE ${isUser('level_id')};
-- A request that has ended, as it is added to these sums and to those of names.
CREATE TYPE inf_gw.summand AS (
  day text, key_id text, model text, levels text, by_user text, by_tag text, by_app text,
  ${SUM_FIGURES.map((name) => `${name} bigint`).join(', ')}
);
CREATE TABLE inf_gw.sealed_levels (LIKE inf_gw.level_days INCLUDING ALL, settled_to_ms bigint NOT NULL);
`;

export const LEVELS = `
-- The levels that a request is booked to in addition to its key.
CREATE OR REPLACE FUNCTION inf_gw.levels_in(p_levels text) RETURNS SETOF text LANGUAGE sql IMMUTABLE
  AS $$ SELECT jsonb_array_elements_text(p_levels::jsonb) $$;

-- A journal row as a summand, to add to the sums or, negated, to subtract.
CREATE OR REPLACE FUNCTION inf_gw.summand_of(p_row inf_gw.journal) RETURNS inf_gw.summand LANGUAGE sql STABLE AS $$
  SELECT ${summandOf('inf_gw.utc_day(admitted_at_ms * 1000)', 'model')} FROM (SELECT (p_row).*) j
$$;
CREATE OR REPLACE FUNCTION inf_gw.taken_out(p inf_gw.summand) RETURNS inf_gw.summand LANGUAGE sql IMMUTABLE AS $$
  SELECT ROW(p.day, p.key_id, p.model, p.levels, p.by_user, p.by_tag, p.by_app, ${SUM_FIGURES.map((figure) => `-p.${figure}`).join(', ')})::inf_gw.summand
$$;

-- Adds requests to the sums of their levels. For the end users in p_added, the day was already added to its month or
-- dropped, so the request is added to the month if that still exists. The caller holds the lock. PL/pgSQL, because a pure
-- SQL function is planned again for each call, in 0.5 ms.
CREATE OR REPLACE FUNCTION inf_gw.book_level_sums(p_rows inf_gw.summand[], p_added text[] DEFAULT '{}')
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  WITH booked AS (
    SELECT l.level_id, r.day, ${SUM_FIGURES.map((figure) => `r.${figure}`).join(', ')}
    FROM unnest(p_rows) r CROSS JOIN LATERAL inf_gw.levels_in(r.levels) AS l (level_id)
  ), days AS (
    INSERT INTO inf_gw.level_days AS u (level_id, day, ${SUM_FIGURES.join(', ')})
    SELECT level_id, day, ${SUMMED} FROM booked WHERE level_id <> ALL (p_added) GROUP BY level_id, day
    ON CONFLICT (level_id, day) DO UPDATE SET ${ADD_FIGURES}
  )
  INSERT INTO inf_gw.level_months AS u (level_id, month, ${SUM_FIGURES.join(', ')})
  SELECT level_id, substr(day, 1, 7), ${SUMMED} FROM booked b
  WHERE NOT ${isUser('level_id')} OR level_id = ANY (p_added)
    AND EXISTS (SELECT FROM inf_gw.level_months m WHERE m.level_id = b.level_id AND m.month = substr(b.day, 1, 7))
  GROUP BY 1, 2
  ON CONFLICT (level_id, month) DO UPDATE SET ${ADD_FIGURES};
END $$;

-- Drops sums of end users that no limit needs any more, at most p_most rows of each table. The journal keeps the requests.
-- Age is measured relative to the last request: the auditor expects newer sums to exist. Returns whether more may remain.
CREATE OR REPLACE FUNCTION inf_gw.drop_idle_users(p_most int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_last_ms bigint := least(inf_gw.now_us() / 1000, (SELECT max(last_at_ms) FROM inf_gw.usage_months));
  v_kept text := inf_gw.utc_month((v_last_ms - ${IDLE_USER_MS}) * 1000);
  v_rows bigint; v_most bigint;
BEGIN
  WITH old AS (
    DELETE FROM inf_gw.level_days WHERE ctid = ANY (ARRAY(SELECT ctid FROM inf_gw.level_days
      WHERE ${isUser('level_id')} AND day < v_kept ORDER BY day LIMIT p_most FOR UPDATE SKIP LOCKED)) RETURNING *
  ), added AS (
    INSERT INTO inf_gw.level_months AS u (level_id, month, ${SUM_FIGURES.join(', ')})
    SELECT level_id, substr(day, 1, 7), ${SUMMED} FROM old GROUP BY 1, 2
    -- All in the same order, or two gateways would wait for each other.
    ORDER BY 1, 2
    ON CONFLICT (level_id, month) DO UPDATE SET ${ADD_FIGURES}
  )
  SELECT count(*) INTO v_most FROM old;
  -- A total counts all months, and whoever is there may get one.
  DELETE FROM inf_gw.level_months WHERE ctid = ANY (ARRAY(SELECT ctid FROM inf_gw.level_months m
    WHERE ${isUser('level_id')} AND month < v_kept
      AND NOT EXISTS (SELECT FROM inf_gw.level_days d WHERE d.level_id = m.level_id)
      AND NOT EXISTS (SELECT FROM inf_gw.budgets b
        WHERE b.period = 'total' AND b.key_id IN (m.level_id, ${templateOf('m.level_id')}))
    ORDER BY month LIMIT p_most FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS v_rows = ROW_COUNT;
  v_most := greatest(v_most, v_rows);
  -- What is left of a month is proved by the rows that were dropped.
  DELETE FROM inf_gw.sealed_levels WHERE ctid = ANY (ARRAY(SELECT ctid FROM inf_gw.sealed_levels s
    WHERE ${isUser('level_id')} AND day < v_kept
      AND NOT EXISTS (SELECT FROM inf_gw.level_months m WHERE m.level_id = s.level_id AND m.month = substr(s.day, 1, 7))
      AND NOT EXISTS (SELECT FROM inf_gw.level_days d WHERE d.level_id = s.level_id AND d.day = s.day)
    ORDER BY day LIMIT p_most FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS v_rows = ROW_COUNT;
  v_most := greatest(v_most, v_rows);
  DELETE FROM inf_gw.budget_steps WHERE ctid = ANY (ARRAY(SELECT s.ctid FROM inf_gw.budget_steps s
    WHERE ${isUser('s.key_id')} AND s.at_ms < v_last_ms - s.window_s * 1020 LIMIT p_most FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS v_rows = ROW_COUNT;
  RETURN greatest(v_most, v_rows) >= p_most;
END $$;
`;
