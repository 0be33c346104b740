/** Usage by user, tag and app: the tables, and the function that updates them. */
import { MAX_NAMES, OTHER_NAMES } from '../../../core/spent-by.ts';
import { NAME_SUM_COLUMNS } from '../../names.ts';
import { ADD_FIGURES, SUMMED } from './sums.ts';

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

/** Requests, repeated for each of their names. */
const NAMED = `unnest(p_rows) x, LATERAL (VALUES ('user', x.by_user), ('tag', x.by_tag), ('app', x.by_app)) AS n (kind, name)
    WHERE n.name IS NOT NULL`;

/**
 * Requests by name and day, with the slot `p` of the key for that name. The lateral join looks up each slot separately; a
 * plain join would read all slots for a few names.
 */
const WITH_PLACES = `(SELECT x.*, n.kind, n.name FROM ${NAMED}) n
    LEFT JOIN LATERAL (SELECT k.name FROM inf_gw.usage_name_keys k WHERE k.month = substr(n.day, 1, 7) AND k.kind = n.kind
      AND k.key_id = n.key_id AND k.name = n.name LIMIT 1) p ON true`;

/** Names without a slot before. */
const NEW_NAMES = 'unnest(v_months, v_kinds, v_key_ids, v_names) AS m (month, kind, key_id, name)';

/** Adds requests to the sums by name, using these slots. */
const addTo = (from: string) => `INSERT INTO inf_gw.usage_name_days AS u (${NAME_SUM_COLUMNS})
    SELECT day, kind, coalesce(place, '${OTHER_NAMES}'), key_id, model, ${SUMMED} FROM ${from}
    GROUP BY 1, 2, 3, 4, 5
    ON CONFLICT (kind, day, name, key_id, model) DO UPDATE SET ${ADD_FIGURES}`;

export const NAMES = `
-- Adds requests to the sums by name. Usually the keys have slots for these names, and the first statement suffices. The
-- caller holds the lock.
CREATE OR REPLACE FUNCTION inf_gw.book_names(p_rows inf_gw.summand[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_months text[]; v_kinds text[]; v_key_ids text[]; v_names text[];
  r record; v_month text; v_kind text; v_key_id text; v_taken bigint; v_places bigint;
BEGIN
  WITH named AS MATERIALIZED (
    SELECT n.*, p.name AS place FROM ${WITH_PLACES}
  ), added AS (
    ${addTo('named WHERE place IS NOT NULL')}
  )
  SELECT array_agg(month), array_agg(kind), array_agg(key_id), array_agg(name) INTO v_months, v_kinds, v_key_ids, v_names
    FROM (SELECT DISTINCT substr(day, 1, 7) AS month, kind, key_id, name FROM named WHERE place IS NULL) n;
  IF v_months IS NULL THEN RETURN; END IF;
  -- A key gets a place for one more name while it has fewer than there are places that no key has.
  FOR r IN SELECT * FROM ${NEW_NAMES} ORDER BY 1, 2, 3, 4 LOOP
    IF v_month IS DISTINCT FROM r.month OR v_kind <> r.kind THEN
      SELECT coalesce(max(k.id), 0) INTO v_taken FROM inf_gw.usage_names k WHERE k.month = r.month AND k.kind = r.kind;
      v_month := r.month; v_kind := r.kind; v_key_id := NULL;
    END IF;
    IF v_key_id IS DISTINCT FROM r.key_id THEN
      SELECT count(*) INTO v_places FROM inf_gw.usage_name_keys k
        WHERE k.month = r.month AND k.kind = r.kind AND k.key_id = r.key_id;
      v_key_id := r.key_id;
    END IF;
    CONTINUE WHEN v_places >= ${MAX_NAMES} - v_taken;
    INSERT INTO inf_gw.usage_names (month, kind, name, id) VALUES (r.month, r.kind, r.name, v_taken + 1)
      ON CONFLICT (month, kind, name) DO NOTHING;
    IF FOUND THEN v_taken := v_taken + 1; END IF;
    INSERT INTO inf_gw.usage_name_keys (month, kind, key_id, name) VALUES (r.month, r.kind, r.key_id, r.name);
    v_places := v_places + 1;
  END LOOP;
  ${addTo(`(SELECT n.*, p.name AS place FROM ${WITH_PLACES}
      JOIN ${NEW_NAMES} ON (m.month, m.kind, m.key_id, m.name) = (substr(n.day, 1, 7), n.kind, n.key_id, n.name)) named`)};
END $$;
`;
