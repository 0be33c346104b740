/** Response ownership: the table of responses that hosts store, and the functions that write it. */
import { KEPT_MS, MAX_DROPPED_IDS, MAX_KEPT_IDS } from '../../../core/kept-responses.ts';

const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

export const KEPT_TABLES = `
-- The responses that hosts keep, and their items, by the key that may refer to them.
CREATE TABLE inf_gw.kept_responses (
  key_id text COLLATE "C" NOT NULL,
  -- Of the response, or of one of its items.
  id text COLLATE "C" NOT NULL,
  response_id text COLLATE "C" NOT NULL,
  -- What comes in with it.
  tokens bigint NOT NULL CHECK (tokens >= 0),
  upstream text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  at_ms bigint NOT NULL,
  PRIMARY KEY (key_id, id)
);
CREATE INDEX kept_responses_by_response ON inf_gw.kept_responses (key_id, response_id);
CREATE INDEX kept_responses_by_age ON inf_gw.kept_responses (key_id, at_ms);
CREATE INDEX kept_responses_by_time ON inf_gw.kept_responses (at_ms);
`;

export const KEPT = `
-- Adds a response and its items, with ids p_ids and tokens p_tokens, and drops some expired ones. p_looks: 1 to also enforce
-- the limit of the key.
CREATE OR REPLACE FUNCTION inf_gw.keep_response(p_key_id text, p_response_id text, p_ids text[], p_tokens text[],
  p_upstream text, p_model text, p_at_ms bigint, p_looks bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM inf_gw.kept_responses WHERE ctid = ANY (ARRAY(SELECT o.ctid FROM inf_gw.kept_responses o
    WHERE o.at_ms <= ${NOW_MS} - ${KEPT_MS} ORDER BY o.at_ms LIMIT ${MAX_DROPPED_IDS}));
  -- In one order, so that two gateways do not wait for each other.
  INSERT INTO inf_gw.kept_responses AS k (key_id, id, response_id, tokens, upstream, model, at_ms)
    SELECT p_key_id, x.id, p_response_id, max(x.tokens::bigint), p_upstream, p_model, least(p_at_ms, ${NOW_MS})
    FROM unnest(p_ids, p_tokens) AS x (id, tokens) WHERE x.id IS NOT NULL GROUP BY x.id ORDER BY x.id
    ON CONFLICT (key_id, id) DO UPDATE SET response_id = excluded.response_id, tokens = excluded.tokens,
      upstream = excluded.upstream, model = excluded.model, at_ms = excluded.at_ms;
  IF p_looks = 1 THEN
    DELETE FROM inf_gw.kept_responses WHERE ctid = ANY (ARRAY(SELECT o.ctid FROM inf_gw.kept_responses o
      WHERE o.key_id = p_key_id ORDER BY o.at_ms LIMIT (SELECT greatest(0, least(count(*) - ${MAX_KEPT_IDS}, ${MAX_DROPPED_IDS}))
        FROM inf_gw.kept_responses a WHERE a.key_id = p_key_id)));
  END IF;
END $$;

CREATE OR REPLACE FUNCTION inf_gw.drop_kept_response(p_key_id text, p_response_id text) RETURNS void LANGUAGE sql AS $$
  DELETE FROM inf_gw.kept_responses WHERE key_id = p_key_id AND response_id = p_response_id
$$;
`;
