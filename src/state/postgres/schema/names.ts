/** Usage by user, tag and app in the database: its tables, and the function that keeps it. */
import { MAX_NAMES, OTHER_NAMES } from '../../../core/spent-by.ts';
import { NAME_SUM_COLUMNS } from '../../names.ts';
import { ADD_FIGURES } from './sums.ts';

export const NAME_TABLES = `
-- The names that have sums of their own in a month, numbered in the order in which they came. All others share one.
CREATE TABLE inf_gw.usage_names (
  month text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('user', 'tag', 'app')),
  name text COLLATE "C" NOT NULL CHECK (name <> ''),
  id bigint NOT NULL CHECK (id BETWEEN 1 AND 1000),
  PRIMARY KEY (month, kind, name),
  UNIQUE (month, kind, id)
);

-- What the requests with a name add up to. What is missing to the sums of a day has none.
CREATE TABLE inf_gw.usage_name_days (
  day text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('user', 'tag', 'app')),
  name text COLLATE "C" NOT NULL CHECK (name <> ''),
  key_id text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  requests bigint NOT NULL,
  errors bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  cached_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  cost_nanos bigint NOT NULL,
  PRIMARY KEY (kind, day, name, key_id, model)
) WITH (fillfactor = 50);

-- The names that each key has a place for in a month. Its requests with other names count as others.
CREATE TABLE inf_gw.usage_name_keys (
  month text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('user', 'tag', 'app')),
  key_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL CHECK (name <> ''),
  PRIMARY KEY (month, kind, key_id, name)
);
`;

/** Rows of the journal, once for each name of theirs. */
const NAMED = `unnest(p_rows) x, LATERAL (VALUES ('user', x.by_user), ('tag', x.by_tag), ('app', x.by_app)) AS n (kind, name)
    WHERE n.name IS NOT NULL`;

/** The place of a name, `n`, in its month, as `p`: looked for on its own, or all places are read for a few names. */
const placeOf = (month: string) => `LATERAL (SELECT k.name FROM inf_gw.usage_name_keys k
      WHERE k.month = ${month} AND k.kind = n.kind AND k.key_id = n.key_id AND k.name = n.name LIMIT 1) p`;

export const NAMES = `
-- Adds rows of the journal to the sums of who they were for. The caller holds the lock.
CREATE OR REPLACE FUNCTION inf_gw.book_names(p_rows inf_gw.journal[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  r record; v_month text; v_kind text; v_key_id text; v_names bigint; v_places bigint;
BEGIN
  -- A key gets a place for one more name while it has fewer than there are places that no key has.
  FOR r IN
    WITH named AS (
      SELECT DISTINCT inf_gw.utc_month(x.admitted_at_ms * 1000) AS month, n.kind, x.key_id, n.name FROM ${NAMED}
    )
    SELECT n.* FROM named n LEFT JOIN ${placeOf('n.month')} ON true WHERE p.name IS NULL ORDER BY 1, 2, 3, 4
  LOOP
    IF v_month IS DISTINCT FROM r.month OR v_kind <> r.kind THEN
      SELECT coalesce(max(k.id), 0) INTO v_names FROM inf_gw.usage_names k WHERE k.month = r.month AND k.kind = r.kind;
      v_month := r.month; v_kind := r.kind; v_key_id := NULL;
    END IF;
    IF v_key_id IS DISTINCT FROM r.key_id THEN
      SELECT count(*) INTO v_places FROM inf_gw.usage_name_keys k
        WHERE k.month = r.month AND k.kind = r.kind AND k.key_id = r.key_id;
      v_key_id := r.key_id;
    END IF;
    CONTINUE WHEN v_places >= ${MAX_NAMES} - v_names;
    INSERT INTO inf_gw.usage_names (month, kind, name, id) VALUES (r.month, r.kind, r.name, v_names + 1)
      ON CONFLICT (month, kind, name) DO NOTHING;
    IF FOUND THEN v_names := v_names + 1; END IF;
    INSERT INTO inf_gw.usage_name_keys (month, kind, key_id, name) VALUES (r.month, r.kind, r.key_id, r.name);
    v_places := v_places + 1;
  END LOOP;
  WITH named AS (
    SELECT x.*, n.kind, n.name, inf_gw.utc_day(x.admitted_at_ms * 1000) AS day FROM ${NAMED}
  )
  INSERT INTO inf_gw.usage_name_days AS u (${NAME_SUM_COLUMNS})
    SELECT n.day, n.kind, coalesce(p.name, '${OTHER_NAMES}'), n.key_id, n.model, count(*),
      count(*) FILTER (WHERE n.outcome NOT IN ('ok', 'cancelled')), sum(n.prompt_tokens), sum(n.cached_tokens),
      sum(n.cache_write_tokens), sum(n.completion_tokens), sum(n.cost_nanos)
    FROM named n LEFT JOIN ${placeOf('substr(n.day, 1, 7)')} ON true
    GROUP BY 1, 2, 3, 4, 5
    ON CONFLICT (kind, day, name, key_id, model) DO UPDATE SET ${ADD_FIGURES};
END $$;
`;
