/** Levels: groups, end users, and what requests add up to for them. */
import { FIGURES } from './sums.ts';

const FIGURE_COLUMNS = FIGURES.map((name) => `${name} bigint NOT NULL`).join(', ');
const SUM_KEYS = `key_id text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL CHECK (source IN ('reported', 'counted', 'held'))`;

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
-- users as owner_id/name.
CREATE TABLE inf_gw.level_days (
  level_id text COLLATE "C" NOT NULL,
  day text COLLATE "C" NOT NULL,
  ${SUM_KEYS},
  ${FIGURE_COLUMNS},
  PRIMARY KEY (level_id, day, key_id, model, source)
) WITH (fillfactor = 50);
CREATE TABLE inf_gw.level_months (
  level_id text COLLATE "C" NOT NULL,
  month text COLLATE "C" NOT NULL,
  ${FIGURE_COLUMNS},
  last_at_ms bigint NOT NULL,
  PRIMARY KEY (level_id, month)
) WITH (fillfactor = 50);
-- Those of end users are dropped when nothing is bounded by them any more.
CREATE INDEX level_days_of_users ON inf_gw.level_days (day) WHERE level_id LIKE '%/%';
CREATE INDEX level_months_of_users ON inf_gw.level_months (month) WHERE level_id LIKE '%/%';
CREATE TABLE inf_gw.sealed_levels (LIKE inf_gw.level_days INCLUDING ALL, settled_to_ms bigint NOT NULL);
`;

export const LEVELS = `
-- The levels that a request is booked to besides its key.
CREATE OR REPLACE FUNCTION inf_gw.levels_in(p_levels text) RETURNS SETOF text LANGUAGE sql IMMUTABLE
  AS $$ SELECT jsonb_array_elements_text(p_levels::jsonb) $$;
`;
