/** The function that decides a batch of commands of one node: one call, one transaction. */
import { names } from '../../../core/layout.ts';
import { END } from '../../journal.ts';
import { ASK, arraysOf, GROWTH } from '../batch.ts';
import { ENDS } from './settle.ts';

/** What a hold has of the ask for its admission. */
const ASKED = ASK.columns.filter(({ name }) => name !== 'kind' && name !== 'key');

/**
 * `k_ids`: the keys of the batch, sorted. `s_…`: settlements. `f_id`: requests that free their slot.
 * `g_…`: growths. `a_…`: asks, which are admissions (kind 0), listings (1), and questions whether the
 * key could be admitted (2), which take nothing. `…_key` is the position of the key in `k_ids`.
 *
 * The codes of asks: 0 admitted, 1 unknown key, 2 disabled, 3 model not allowed, 4 spend limit
 * reached, 5 insufficient credit, 6 larger than the token limit, 7 requests per minute, 8 tokens per
 * minute, 9 concurrency, 10 money spoken for. Those of growths: 0 granted, 4, 5, and 11 for a
 * request that is not open any more. A code of 4 does not say which limit is reached: of asks the
 * budgets in `o_budgets` do, which no ask of the batch changes, and of growths `g_reached`.
 */
export const DECIDE = `
-- Whole seconds until a time and 60 s more, from 1 to 60.
CREATE OR REPLACE FUNCTION inf_gw.wait_s(p_from_us bigint, p_now_us bigint) RETURNS bigint LANGUAGE sql IMMUTABLE
  AS $$ SELECT least(60, greatest(1, (p_from_us + 60999999 - p_now_us) / 1000000)) $$;
-- Seconds until a window is empty: 0 if it is, or those from its newest entry.
CREATE OR REPLACE FUNCTION inf_gw.reset_s(p_used bigint, p_newest_us bigint, p_now_us bigint) RETURNS bigint LANGUAGE sql IMMUTABLE
  AS $$ SELECT CASE WHEN p_used = 0 THEN 0 ELSE least(60, greatest(1, (p_newest_us + 60999999 - p_now_us) / 1000000)) END $$;

-- Seconds until p_need requests, or listings, have left the window of a key.
CREATE OR REPLACE FUNCTION inf_gw.requests_wait(p_key_id text, p_us bigint, p_need bigint, p_listings boolean)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_at bigint;
BEGIN
  SELECT x.at_us INTO v_at FROM (
      SELECT e.at_us, sum(CASE WHEN p_listings THEN e.listings ELSE e.requests END) OVER (ORDER BY e.at_us) AS freed
      FROM inf_gw.window_entries e WHERE e.key_id = p_key_id AND e.at_us > p_us - 60000000
    ) x WHERE x.freed >= p_need ORDER BY x.at_us LIMIT 1;
  -- What is not in the table yet was taken in this batch.
  RETURN inf_gw.wait_s(coalesce(v_at, p_us), p_us);
END $$;

-- Seconds until p_need tokens have left the window of a key, taking each open request to end 60 s after its admission.
CREATE OR REPLACE FUNCTION inf_gw.tokens_wait(p_key_id text, p_us bigint, p_need bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_at bigint;
BEGIN
  -- First without the open requests, which can only make it earlier: so no more is read than is needed.
  SELECT x.at_us INTO v_at FROM (
      SELECT e.at_us, sum(e.tokens) OVER (ORDER BY e.at_us) AS freed
      FROM inf_gw.window_entries e WHERE e.key_id = p_key_id AND e.at_us > p_us - 60000000
    ) x WHERE x.freed >= p_need ORDER BY x.at_us LIMIT 1;
  SELECT x.at_us INTO v_at FROM (
      SELECT w.at_us, sum(w.tokens) OVER (ORDER BY w.at_us) AS freed FROM (
        SELECT e.at_us, e.tokens FROM inf_gw.window_entries e
          WHERE e.key_id = p_key_id AND e.at_us > p_us - 60000000 AND e.at_us <= coalesce(v_at, p_us)
        UNION ALL
        SELECT h.admitted_us, h.reserved_tokens FROM inf_gw.holds h
          WHERE h.key_id = p_key_id AND h.admitted_us <= coalesce(v_at, p_us)
      ) w
    ) x WHERE x.freed >= p_need ORDER BY x.at_us LIMIT 1;
  RETURN inf_gw.wait_s(coalesce(v_at, p_us), p_us);
END $$;

CREATE OR REPLACE FUNCTION inf_gw.decide_batch(
  p_node int, p_epoch bigint, p_latest_us bigint, p_rpm bigint, p_tpm bigint, p_concurrency bigint, p_models_rpm bigint, p_credit boolean,
  p_details boolean, k_ids text[],
  ${ENDS},
  f_id text[],
  ${arraysOf(GROWTH.columns, 'g_')},
  ${arraysOf(ASK.columns, 'a_')},
  OUT o_us bigint, OUT o_balance bigint, OUT o_ended text[],
  OUT k_state text[], OUT k_name text[], OUT k_allowlist text[], OUT k_rpm bigint[], OUT k_tpm bigint[],
  OUT k_concurrency bigint[], OUT k_expires bigint[], OUT o_budgets jsonb, OUT k_spend_limit bigint[], OUT k_charged bigint[], OUT k_slots bigint[],
  OUT k_requests bigint[], OUT k_tokens bigint[], OUT k_reset_requests bigint[], OUT k_reset_tokens bigint[],
  OUT g_code int[], OUT g_granted bigint[], OUT g_reached text[],
  OUT a_code int[], OUT a_wait bigint[], OUT a_requests bigint[], OUT a_tokens bigint[], OUT a_reset_requests bigint[],
  OUT a_reset_tokens bigint[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  n_keys int := cardinality(k_ids); n_asks int := cardinality(a_kind);
  v_arrived_us bigint := inf_gw.now_us(); v_us bigint; v_month text; v_held bigint; v_found int; r record; i int; k int; v_code int; v_wait bigint;
  v_need bigint;
  v_allowed jsonb[]; v_listings bigint[]; v_open bigint[]; v_reserved bigint[]; v_held_k bigint[];
  v_last_request bigint[]; v_last_tokens bigint[]; v_last_listing bigint[]; v_newest bigint[]; v_expired bigint[];
  v_window_tokens bigint[];
  -- What the budgets of a key leave, after charges and holds; NULL without budgets. Whether one of them is reached.
  v_budgets_leave bigint[]; v_is_spent boolean[];
  -- The outermost leash that a key is on; NULL for none. What one of its keys takes in this batch is taken from all of them.
  v_leash text[];
  add_requests bigint[]; add_tokens bigint[]; add_listings bigint[];
  -- The last waits that were looked up, so that a key that is refused often costs one search a batch.
  memo_requests bigint[]; memo_requests_wait bigint[]; memo_tokens bigint[]; memo_tokens_wait bigint[];
BEGIN
  -- Whoever calls, nothing costs less than nothing, and every key is one of the batch.
  IF EXISTS (SELECT FROM unnest(s_prompt_tokens || s_cached_tokens || s_cache_write_tokens || s_completion_tokens
      || s_cost_nanos || g_output_tokens || g_hold_nanos || a_reserved_tokens || a_input_tokens || a_output_tokens
      || a_hold_nanos) x WHERE x < 0)
    OR EXISTS (SELECT FROM unnest(g_key || a_key) x WHERE x NOT BETWEEN 1 AND n_keys) THEN
    RAISE EXCEPTION 'no gateway decides this' USING ERRCODE = 'IG901';
  END IF;
  -- One lock for everybody: the clock is read and everything else is decided under it.
  SELECT balance_nanos, held_nanos, last_us INTO o_balance, v_held, v_us FROM inf_gw.account FOR UPDATE;
  PERFORM 1 FROM inf_gw.nodes WHERE id = p_node AND epoch = p_epoch;
  IF NOT FOUND THEN RAISE EXCEPTION 'the epoch of this node is over' USING ERRCODE = 'IG001'; END IF;
  -- Windows need a clock that runs true. What only ends requests is decided at any time.
  IF n_asks > 0 AND inf_gw.now_us() < v_us - 1000000 THEN
    RAISE EXCEPTION 'the clock of the database has stepped back' USING ERRCODE = 'IG003';
  END IF;
  -- Only the node can tell which, by when it has this answer.
  IF n_asks > 0 AND v_arrived_us > p_latest_us THEN
    RAISE EXCEPTION 'the clock of the database has stepped, or the batch was late'
      USING ERRCODE = 'IG003', DETAIL = v_arrived_us::text;
  END IF;
  v_us := greatest(v_us, inf_gw.now_us());
  v_month := inf_gw.utc_month(v_us);

  SELECT count(*), array_agg(q.window_requests), array_agg(q.window_tokens), array_agg(q.window_listings),
      array_agg(q.slots), array_agg(q.open_requests), array_agg(q.reserved_tokens),
      array_agg(CASE WHEN q.month = v_month THEN q.charged_nanos ELSE 0 END),
      array_agg(CASE WHEN q.month = v_month THEN q.held_nanos ELSE 0 END), array_agg(q.last_request_us),
      array_agg(q.last_tokens_us), array_agg(q.last_listing_us), array_agg(q.newest_open_us), array_agg(q.expired_us),
      array_agg(CASE WHEN q.expires_at_ms <= v_us / 1000 THEN 'deleted' WHEN q.state = 'enabled' AND EXISTS (
        SELECT FROM inf_gw.leashes l JOIN inf_gw.keys o ON o.id = l.outer_id WHERE l.key_id = q.key_id AND o.state <> 'enabled'
      ) THEN 'disabled' ELSE q.state END), array_agg(q.expires_at_ms),
      array_agg(coalesce(q.rpm, p_rpm)), array_agg(coalesce(q.tpm, p_tpm)),
      array_agg(coalesce(q.concurrency, p_concurrency)), array_agg(q.spend_limit_nanos), array_agg(q.allowlist)
    INTO v_found, k_requests, v_window_tokens, v_listings, k_slots, v_open, v_reserved, k_charged, v_held_k,
      v_last_request, v_last_tokens, v_last_listing, v_newest, v_expired, k_state, k_expires, k_rpm, k_tpm, k_concurrency,
      k_spend_limit, v_allowed
    FROM (SELECT s.*, w.state, w.expires_at_ms, w.rpm, w.tpm, w.concurrency, w.spend_limit_nanos, w.allowlist
      FROM inf_gw.key_state s JOIN inf_gw.keys w ON w.id = s.key_id WHERE s.key_id = ANY (k_ids) ORDER BY s.key_id) q;
  IF v_found <> n_keys THEN RAISE EXCEPTION 'the batch names % keys, but % exist', n_keys, v_found USING ERRCODE = 'IG900'; END IF;
  add_requests := array_fill(0::bigint, ARRAY[n_keys]); add_tokens := add_requests; add_listings := add_requests;
  memo_requests := array_fill(0::bigint, ARRAY[n_keys]); memo_requests_wait := memo_requests; memo_tokens := memo_requests;
  memo_tokens_wait := memo_requests;

  -- What has left the windows.
  FOR r IN
    WITH gone AS (DELETE FROM inf_gw.window_entries e USING unnest(k_ids, v_expired) AS x (id, us)
      WHERE e.key_id = x.id AND e.at_us > x.us AND e.at_us <= v_us - 60000000
      RETURNING e.key_id, e.requests, e.tokens, e.listings)
    SELECT array_position(k_ids, key_id) AS k, sum(requests)::bigint AS requests, sum(tokens)::bigint AS tokens,
      sum(listings)::bigint AS listings FROM gone GROUP BY key_id
  LOOP
    k_requests[r.k] := k_requests[r.k] - r.requests;
    v_window_tokens[r.k] := v_window_tokens[r.k] - r.tokens;
    v_listings[r.k] := v_listings[r.k] - r.listings;
  END LOOP;

  -- Settlements.
  o_ended := '{}';
  IF cardinality(s_request_id) > 0 THEN
    FOR r IN SELECT array_position(k_ids, e.key_id) AS k, e.*
      FROM inf_gw.end_holds(v_us, v_month, ${names(END.columns, 's_')}) e
    LOOP
      k := r.k;
      o_ended := o_ended || r.ids;
      v_open[k] := v_open[k] - r.requests; k_slots[k] := k_slots[k] - r.slots; v_reserved[k] := v_reserved[k] - r.reserved;
      IF r.tokens > 0 THEN
        v_window_tokens[k] := v_window_tokens[k] + r.tokens; add_tokens[k] := r.tokens; v_last_tokens[k] := v_us;
      END IF;
      k_charged[k] := k_charged[k] + r.month_cost; v_held_k[k] := v_held_k[k] - r.month_released;
      o_balance := o_balance - r.cost; v_held := v_held - r.released;
      IF r.newest_us = v_newest[k] AND v_open[k] > 0 THEN
        v_newest[k] := (SELECT max(admitted_us) FROM inf_gw.holds WHERE key_id = k_ids[k]);
      END IF;
    END LOOP;
  END IF;

  -- Freed slots.
  IF cardinality(f_id) > 0 THEN
    FOR r IN WITH freed AS (UPDATE inf_gw.holds SET has_slot = false WHERE request_id = ANY (f_id) AND has_slot RETURNING key_id)
      SELECT array_position(k_ids, key_id) AS k, count(*) AS slots FROM freed GROUP BY key_id
    LOOP
      k_slots[r.k] := k_slots[r.k] - r.slots;
    END LOOP;
  END IF;

  -- Growths: as much as balance and spend limit leave.
  g_code := '{}'; g_granted := '{}'; g_reached := '{}';
  FOR i IN 1 .. cardinality(g_request_id) LOOP
    k := g_key[i];
    SELECT g.code, g.hold_nanos, g.more_nanos, g.more_reserved, g.in_month, g.reached::text AS reached INTO r
      FROM inf_gw.grow(g_request_id[i], g_output_tokens[i], g_hold_nanos[i], v_month, v_us, k_spend_limit[k], k_charged[k], v_held_k[k], p_credit,
        o_balance, v_held) g;
    g_code := g_code || r.code; g_granted := g_granted || r.hold_nanos; g_reached := array_append(g_reached, r.reached);
    v_held := v_held + r.more_nanos; v_reserved[k] := v_reserved[k] + r.more_reserved;
    IF r.in_month THEN v_held_k[k] := v_held_k[k] + r.more_nanos; END IF;
  END LOOP;

  -- Budgets, after all that changes what is charged.
  v_budgets_leave := array_fill(NULL::bigint, ARRAY[n_keys]); v_is_spent := array_fill(false, ARRAY[n_keys]);
  v_leash := array_fill(NULL::text, ARRAY[n_keys]);
  IF n_asks > 0 THEN
    FOR r IN SELECT array_position(k_ids, l.key_id) AS k, l.outer_id FROM inf_gw.leashes l WHERE l.key_id = ANY (k_ids)
      AND NOT EXISTS (SELECT FROM inf_gw.leashes o WHERE o.key_id = l.outer_id AND o.outer_id <> o.key_id)
    LOOP
      v_leash[r.k] := r.outer_id;
    END LOOP;
    IF FOUND OR EXISTS (SELECT FROM inf_gw.budgets b WHERE b.key_id = ANY (k_ids)) THEN
      o_budgets := '[]';
      FOR r IN SELECT array_position(k_ids, s.key_id) AS k, s.* FROM inf_gw.bounding_spends(k_ids, v_us, v_us) s LOOP
        v_is_spent[r.k] := v_is_spent[r.k] OR r.charged_nanos >= r.limit_nanos;
        v_budgets_leave[r.k] := least(v_budgets_leave[r.k], r.limit_nanos - r.charged_nanos - r.held_nanos);
        o_budgets := o_budgets || jsonb_build_object('k', r.k, 'period', r.period, 'limit', r.limit_nanos::text,
          'charged', r.charged_nanos::text, 'frees', r.frees_ms, 'resets', r.resets_ms);
      END LOOP;
    END IF;
  END IF;

  -- Asks, one by one, in the order of the preconditions. What is refused takes nothing.
  a_code := array_fill(0, ARRAY[n_asks]); a_wait := array_fill(0::bigint, ARRAY[n_asks]); a_requests := a_wait;
  a_tokens := a_wait; a_reset_requests := a_wait; a_reset_tokens := a_wait;
  FOR i IN 1 .. n_asks LOOP
    k := a_key[i]; v_code := 0; v_wait := 0;
    IF k_state[k] = 'deleted' THEN
      v_code := 1;
    ELSIF k_state[k] = 'disabled' THEN
      v_code := 2;
    ELSIF a_kind[i] = 1 THEN
      IF v_listings[k] >= p_models_rpm THEN
        v_code := 7; v_wait := inf_gw.requests_wait(k_ids[k], v_us, v_listings[k] + 1 - p_models_rpm, true);
      ELSE
        v_listings[k] := v_listings[k] + 1; add_listings[k] := add_listings[k] + 1; v_last_listing[k] := v_us;
      END IF;
    ELSIF a_model[i] IS NOT NULL AND v_allowed[k] IS NOT NULL AND NOT v_allowed[k] ? a_model[i] THEN
      v_code := 3;
    ELSIF v_is_spent[k] OR (k_spend_limit[k] IS NOT NULL AND k_charged[k] >= k_spend_limit[k]) THEN
      v_code := 4;
    ELSIF p_credit AND a_hold_nanos[i] > 0 AND o_balance < a_hold_nanos[i] THEN
      v_code := 5;
    ELSIF a_reserved_tokens[i] > k_tpm[k] THEN
      v_code := 6;
    ELSE
      -- The reason is the first limit that is exceeded, and the wait the longest.
      v_need := k_requests[k] + 1 - k_rpm[k];
      IF v_need > 0 THEN
        v_code := 7;
        IF memo_requests[k] <> v_need THEN
          memo_requests[k] := v_need; memo_requests_wait[k] := inf_gw.requests_wait(k_ids[k], v_us, v_need, false);
        END IF;
        v_wait := memo_requests_wait[k];
      END IF;
      v_need := v_window_tokens[k] + v_reserved[k] + a_reserved_tokens[i] - k_tpm[k];
      IF v_need > 0 THEN
        IF v_code = 0 THEN v_code := 8; END IF;
        IF memo_tokens[k] <> v_need THEN
          memo_tokens[k] := v_need; memo_tokens_wait[k] := inf_gw.tokens_wait(k_ids[k], v_us, v_need);
        END IF;
        v_wait := greatest(v_wait, memo_tokens_wait[k]);
      END IF;
      IF k_slots[k] >= k_concurrency[k] THEN
        IF v_code = 0 THEN v_code := 9; END IF;
        v_wait := greatest(v_wait, 1);
      END IF;
      IF (k_spend_limit[k] IS NOT NULL AND v_held_k[k] > 0 AND k_charged[k] + v_held_k[k] >= k_spend_limit[k])
        OR v_budgets_leave[k] <= 0 OR (p_credit AND a_hold_nanos[i] > 0 AND o_balance - v_held < a_hold_nanos[i]) THEN
        IF v_code = 0 THEN v_code := 10; END IF;
        v_wait := greatest(v_wait, 1);
      END IF;
      IF v_code = 0 AND a_kind[i] = 0 THEN
        k_requests[k] := k_requests[k] + 1; add_requests[k] := add_requests[k] + 1; v_last_request[k] := v_us;
        k_slots[k] := k_slots[k] + 1; v_open[k] := v_open[k] + 1;
        -- One that is open may be dated later, from before the clock came back.
        v_newest[k] := CASE WHEN v_open[k] > 1 THEN greatest(v_newest[k], v_us) ELSE v_us END;
        v_reserved[k] := v_reserved[k] + a_reserved_tokens[i];
        v_held_k[k] := v_held_k[k] + a_hold_nanos[i]; v_held := v_held + a_hold_nanos[i];
        v_budgets_leave[k] := v_budgets_leave[k] - a_hold_nanos[i];
        IF v_leash[k] IS NOT NULL THEN
          FOR j IN 1 .. n_keys LOOP
            IF j <> k AND v_leash[j] = v_leash[k] THEN v_budgets_leave[j] := v_budgets_leave[j] - a_hold_nanos[i]; END IF;
          END LOOP;
        END IF;
      END IF;
    END IF;
    a_code[i] := v_code; a_wait[i] := v_wait;
    IF a_kind[i] = 1 THEN
      a_requests[i] := v_listings[k]; a_reset_requests[i] := inf_gw.reset_s(v_listings[k], v_last_listing[k], v_us);
    ELSE
      a_requests[i] := k_requests[k]; a_reset_requests[i] := inf_gw.reset_s(k_requests[k], v_last_request[k], v_us);
    END IF;
    v_need := v_window_tokens[k] + v_reserved[k];
    a_tokens[i] := v_need;
    a_reset_tokens[i] := inf_gw.reset_s(v_need, greatest(v_last_tokens[k], CASE WHEN v_open[k] > 0 THEN v_newest[k] ELSE 0 END), v_us);
  END LOOP;

  -- From here on nothing is refused any more.
  INSERT INTO inf_gw.holds (node_id, key_id, admitted_us, ${names(ASKED)})
    SELECT p_node, k_ids[a.key], v_us, ${names(ASKED, 'a.')}
    FROM unnest(${names(ASK.columns, 'a_')}, a_code) AS a (${names(ASK.columns)}, code) WHERE a.kind = 0 AND a.code = 0;
  UPDATE inf_gw.key_state SET window_requests = u.requests, window_tokens = u.tokens, window_listings = u.listings,
      slots = u.slots, open_requests = u.open, reserved_tokens = u.reserved, month = v_month, charged_nanos = u.charged,
      held_nanos = u.held, last_request_us = u.last_request, last_tokens_us = u.last_tokens,
      last_listing_us = u.last_listing, newest_open_us = u.newest, expired_us = v_us - 60000000
    FROM unnest(k_ids, k_requests, v_window_tokens, v_listings, k_slots, v_open, v_reserved, k_charged, v_held_k,
      v_last_request, v_last_tokens, v_last_listing, v_newest) AS u (id, requests, tokens, listings, slots, open, reserved,
      charged, held, last_request, last_tokens, last_listing, newest)
    WHERE key_id = u.id;
  INSERT INTO inf_gw.window_entries (key_id, at_us, requests, tokens, listings)
    SELECT u.id, v_us, u.requests, u.tokens, u.listings
    FROM unnest(k_ids, add_requests, add_tokens, add_listings) AS u (id, requests, tokens, listings)
    WHERE u.requests > 0 OR u.tokens > 0 OR u.listings > 0;
  UPDATE inf_gw.account SET balance_nanos = o_balance, held_nanos = v_held, last_us = v_us;

  o_us := v_us;
  k_tokens := v_window_tokens; k_reset_requests := v_window_tokens; k_reset_tokens := v_window_tokens;
  FOR k IN 1 .. n_keys LOOP
    k_tokens[k] := v_window_tokens[k] + v_reserved[k];
    k_reset_requests[k] := inf_gw.reset_s(k_requests[k], v_last_request[k], v_us);
    k_reset_tokens[k] := inf_gw.reset_s(k_tokens[k], greatest(v_last_tokens[k], CASE WHEN v_open[k] > 0 THEN v_newest[k] ELSE 0 END), v_us);
  END LOOP;
  IF p_details THEN
    SELECT array_agg(w.name ORDER BY w.id), array_agg(w.allowlist::text ORDER BY w.id) INTO k_name, k_allowlist
      FROM inf_gw.keys w WHERE w.id = ANY (k_ids);
  END IF;
END $$;
`;
