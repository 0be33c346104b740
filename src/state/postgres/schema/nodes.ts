/** The functions by which gateways take part, are heard of, and are taken for dead. */
import { names } from '../../../core/layout.ts';
import { END } from '../../journal.ts';
import { SQL_TYPES } from '../batch.ts';

/** Silence after which a node is dead: its holds are settled and its name is free. */
export const SILENCE_US = 8_000_000;

/** Three signs of life that did not come: less than a start waits for one. */
const MISSED_US = 3_000_000;

/** The nodes with requests in flight: one pass over these. Nodes of the past are many, and stay. */
const OPEN_NODES = '(SELECT DISTINCT node_id FROM inf_gw.holds) h JOIN inf_gw.nodes n ON n.id = h.node_id';

/** The end of a request whose node is dead, by the columns that are not NULL. */
const ENDED_AS_HELD: Readonly<Record<string, string>> = {
  request_id: 'h.request_id',
  outcome: `'interrupted'::text`,
  source: `'held'::text`,
  prompt_tokens: 'h.input_tokens',
  cached_tokens: '0::bigint',
  cache_write_tokens: '0::bigint',
  completion_tokens: 'h.output_tokens',
  cost_nanos: 'h.hold_nanos',
  failure_reason: `'interrupted'::text`,
  failure_message: `'the gateway stopped before the request ended'::text`,
};

export const NODES = `
-- A node takes part, or takes part again, under a new epoch: whoever decides under an older one is shut out. Holds that an
-- earlier process of that name left open are settled as held. A name that another living process has is refused.
CREATE OR REPLACE FUNCTION inf_gw.join_node(p_name text, p_instance text, p_version text, p_address text, p_alive_us bigint,
  OUT node_id int, OUT epoch bigint, OUT settled bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_us bigint; v_node inf_gw.nodes; v_has_earlier boolean;
BEGIN
  PERFORM 1 FROM inf_gw.account FOR UPDATE;
  settled := 0;
  SELECT * INTO v_node FROM inf_gw.nodes WHERE name = p_name;
  v_has_earlier := FOUND AND v_node.instance <> p_instance;
  -- p_alive_us: the caller has seen this sign of life, and none since. Anybody can say so of one that lives: several signs
  -- must be missing. One of the future is older than a step of the clock.
  IF v_has_earlier AND v_node.alive_us > inf_gw.now_us() - ${SILENCE_US}
    AND (v_node.alive_us <> p_alive_us OR v_node.alive_us BETWEEN inf_gw.now_us() - ${MISSED_US} AND inf_gw.now_us()) THEN
    RAISE EXCEPTION 'the node % is running', p_name USING ERRCODE = 'IG002', DETAIL = v_node.alive_us::text,
      HINT = v_node.address;
  END IF;
  PERFORM inf_gw.follow_clock();
  SELECT greatest(inf_gw.now_us(), last_us) INTO v_us FROM inf_gw.account;
  IF v_has_earlier THEN settled := inf_gw.settle_holds_of(v_node.id, v_us); END IF;
  INSERT INTO inf_gw.nodes AS n (name, instance, version, address, epoch, started_at_ms, alive_us)
  VALUES (p_name, p_instance, p_version, p_address, 1, v_us / 1000, v_us)
  ON CONFLICT (name) DO UPDATE SET instance = p_instance, version = p_version, address = p_address, epoch = n.epoch + 1,
    started_at_ms = CASE WHEN n.instance = p_instance THEN n.started_at_ms ELSE v_us / 1000 END, alive_us = v_us,
    stopped_us = 0, requests = 0, tokens = 0
  RETURNING n.id, n.epoch INTO node_id, epoch;
  UPDATE inf_gw.account SET last_us = v_us;
END $$;

-- A sign of life, with what the node admitted and charged in the last minute. Returns the epoch in force, and the requests
-- of this node that an operator has stopped.
CREATE OR REPLACE FUNCTION inf_gw.beat(p_node int, p_epoch bigint, p_requests bigint, p_tokens bigint, OUT epoch bigint,
  OUT stops text[]) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  UPDATE inf_gw.nodes n SET alive_us = inf_gw.now_us(), requests = greatest(0, p_requests), tokens = greatest(0, p_tokens)
    WHERE n.id = p_node AND n.epoch = p_epoch;
  SELECT n.epoch INTO epoch FROM inf_gw.nodes n WHERE n.id = p_node;
  -- Only its own process hears of them.
  WITH gone AS (DELETE FROM inf_gw.stops WHERE node_id = p_node AND epoch = p_epoch RETURNING request_id)
    SELECT array_agg(request_id) INTO stops FROM gone;
END $$;

-- A node stops in an orderly way: its name is free at once.
CREATE OR REPLACE FUNCTION inf_gw.leave_node(p_node int, p_epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM inf_gw.account FOR UPDATE;
  UPDATE inf_gw.nodes SET alive_us = 0, stopped_us = inf_gw.now_us(), epoch = epoch + 1
    WHERE id = p_node AND epoch = p_epoch;
END $$;

-- Shuts out nodes that have been silent for too long, and settles what they had open as held.
CREATE OR REPLACE FUNCTION inf_gw.reap(OUT names text[], OUT settled bigint) LANGUAGE plpgsql AS $$
DECLARE
  v_us bigint; v_now_us bigint; v_dead record;
BEGIN
  names := '{}'; settled := 0;
  -- Without the lock first: there is nearly never anything to do.
  PERFORM 1 FROM ${OPEN_NODES} WHERE n.alive_us < inf_gw.now_us() - ${SILENCE_US};
  IF NOT FOUND THEN RETURN; END IF;
  SELECT last_us INTO v_us FROM inf_gw.account FOR UPDATE;
  -- Signs of life are dated by the clock itself, also after it went back.
  v_now_us := inf_gw.now_us();
  v_us := greatest(v_us, v_now_us);
  FOR v_dead IN SELECT n.id, n.name FROM ${OPEN_NODES} WHERE n.alive_us < v_now_us - ${SILENCE_US} ORDER BY n.id
  LOOP
    UPDATE inf_gw.nodes SET epoch = epoch + 1 WHERE id = v_dead.id;
    settled := settled + inf_gw.settle_holds_of(v_dead.id, v_us);
    names := names || v_dead.name;
  END LOOP;
  UPDATE inf_gw.account SET last_us = v_us;
END $$;

-- Settles all holds of a node as held. The caller holds the lock. Returns how many.
CREATE OR REPLACE FUNCTION inf_gw.settle_holds_of(p_node int, p_us bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_month text := inf_gw.utc_month(p_us); v_count bigint := 0; v_cost bigint := 0; v_released bigint := 0; r record; e record;
BEGIN
  SELECT ${END.columns.map(({ name, type }) => `array_agg(${ENDED_AS_HELD[name] ?? `NULL::${SQL_TYPES[type]}`}) AS ${name}`).join(', ')}
    INTO r FROM inf_gw.holds h WHERE h.node_id = p_node;
  IF r.request_id IS NULL THEN RETURN 0; END IF;
  FOR e IN SELECT * FROM inf_gw.end_holds(p_us, v_month, ${names(END.columns, 'r.')})
  LOOP
    v_count := v_count + e.requests; v_cost := v_cost + e.cost; v_released := v_released + e.released;
    PERFORM inf_gw.change_key_state(e.key_id, v_month, p_us, e.requests, e.slots, e.reserved, e.tokens, e.month_cost,
      e.month_released);
  END LOOP;
  UPDATE inf_gw.account SET balance_nanos = balance_nanos - v_cost, held_nanos = held_nanos - v_released, last_us = p_us;
  RETURN v_count;
END $$;

-- Takes ended requests out of the state of their key. The caller holds the lock.
CREATE OR REPLACE FUNCTION inf_gw.change_key_state(p_key_id text, p_month text, p_us bigint, p_requests bigint, p_slots bigint,
  p_reserved bigint, p_tokens bigint, p_cost bigint, p_released bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE inf_gw.key_state s SET open_requests = s.open_requests - p_requests, slots = s.slots - p_slots,
    reserved_tokens = s.reserved_tokens - p_reserved, window_tokens = s.window_tokens + p_tokens,
    last_tokens_us = CASE WHEN p_tokens > 0 THEN p_us ELSE s.last_tokens_us END,
    charged_nanos = CASE WHEN s.month = p_month THEN s.charged_nanos ELSE 0 END + p_cost,
    held_nanos = CASE WHEN s.month = p_month THEN s.held_nanos ELSE p_released END - p_released,
    newest_open_us = coalesce((SELECT max(h.admitted_us) FROM inf_gw.holds h WHERE h.key_id = p_key_id), 0),
    month = p_month WHERE s.key_id = p_key_id;
  IF p_tokens > 0 THEN
    -- One entry for all that ends at this time, since a late settlement takes its tokens from one.
    UPDATE inf_gw.window_entries SET tokens = tokens + p_tokens WHERE ctid = (
      SELECT ctid FROM inf_gw.window_entries WHERE key_id = p_key_id AND at_us = p_us LIMIT 1);
    IF NOT FOUND THEN
      INSERT INTO inf_gw.window_entries (key_id, at_us, requests, tokens, listings)
      VALUES (p_key_id, p_us, 0, p_tokens, 0);
    END IF;
  END IF;
END $$;

-- Gives back admissions that were never answered: nothing was sent upstream, so nothing is charged, no row is written, and
-- the window has room again. Returns those that another node has settled as held meanwhile.
CREATE OR REPLACE FUNCTION inf_gw.give_back(p_ids text[], OUT settled text[]) LANGUAGE plpgsql AS $$
DECLARE
  v_us bigint; v_month text; v_released bigint := 0; r record;
BEGIN
  SELECT greatest(inf_gw.now_us(), last_us) INTO v_us FROM inf_gw.account FOR UPDATE;
  v_month := inf_gw.utc_month(v_us);
  FOR r IN DELETE FROM inf_gw.holds WHERE request_id = ANY (p_ids) RETURNING * LOOP
    v_released := v_released + r.hold_nanos;
    PERFORM inf_gw.change_key_state(r.key_id, v_month, v_us, 1, r.has_slot::int, r.reserved_tokens, 0, 0,
      CASE WHEN inf_gw.utc_month(r.admitted_us) = v_month THEN r.hold_nanos ELSE 0 END);
    PERFORM inf_gw.take_from_window(r.key_id, r.admitted_us, r.admitted_us, 1, 0);
  END LOOP;
  UPDATE inf_gw.account SET held_nanos = held_nanos - v_released, last_us = v_us;
  SELECT coalesce(array_agg(j.request_id), '{}') INTO settled FROM inf_gw.journal j WHERE j.request_id = ANY (p_ids);
END $$;

-- Takes a request that an operator wants stopped to its node. False if no request in flight has this id.
CREATE OR REPLACE FUNCTION inf_gw.stop_request(p_request_id text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO inf_gw.stops (request_id, node_id, at_us)
    SELECT h.request_id, h.node_id, inf_gw.now_us() FROM inf_gw.holds h WHERE h.request_id = p_request_id
    ON CONFLICT DO NOTHING;
  RETURN EXISTS (SELECT FROM inf_gw.holds WHERE request_id = p_request_id);
END $$;
`;
