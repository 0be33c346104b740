/** The functions with which gateways join, send heartbeats, and are declared dead. */
import { names } from '../../../core/layout.ts';
import { SETTLEMENT } from '../../journal.ts';
import { SQL_TYPES } from '../batch.ts';

/** Silence after which a node is dead: its holds are settled and its name is free. */
export const SILENCE_US = 8_000_000;

/** Three missed heartbeats: less than a start waits for one. */
const MISSED_US = 3_000_000;

/** The nodes with requests in flight, found in one pass over the holds: past nodes are numerous and never deleted. */
const OPEN_NODES = '(SELECT DISTINCT node_id FROM inf_gw.holds) h JOIN inf_gw.nodes n ON n.id = h.node_id';

/**
 * Whether decisions on the last entry of a node are missing in the tables. Other gateways that made the same decisions
 * write them.
 */
const isUnwritten = (node: string) =>
  `EXISTS (SELECT FROM inf_gw.positions p WHERE p.node_id = ${node} AND p.asked_seq > p.written_seq)`;

/** The newest rules version that all live gateways support. */
const KNOWN_TO_ALL = `(SELECT min(n.rules) AS rules FROM inf_gw.nodes n WHERE n.alive_us > inf_gw.now_us() - ${SILENCE_US})`;

/** The settlement of a request whose node is dead, as expressions for the columns that are not NULL. */
const ENDED_AS_HELD: Readonly<Record<string, string>> = {
  request_id: 'h.request_id',
  outcome: `'interrupted'::text`,
  source: `'held'::text`,
  prompt_tokens: 'h.input_tokens',
  cached_tokens: '0::bigint',
  cache_write_tokens: '0::bigint',
  completion_tokens: 'h.output_tokens',
  cost_nanos: 'h.hold_nanos',
  by_user: 'h.end_user',
  failure_reason: `'interrupted'::text`,
  failure_message: `'the gateway stopped before the request ended'::text`,
};

export const NODES = `
-- A node joins, or joins again, under a new epoch; decisions under an older epoch are rejected. Open holds of an earlier
-- process with this name are settled as held. A name in use by another live process is refused.
CREATE OR REPLACE FUNCTION inf_gw.join_node(p_name text, p_instance text, p_version text, p_address text, p_alive_us bigint,
  p_rules int, OUT node_id int, OUT epoch bigint, OUT settled bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_us bigint; v_node inf_gw.nodes; v_has_earlier boolean;
BEGIN
  PERFORM inf_gw.lock_account();
  IF p_rules < (SELECT rules FROM inf_gw.account) THEN
    RAISE EXCEPTION 'the gateways here decide by newer rules' USING ERRCODE = 'IG006',
      DETAIL = (SELECT rules FROM inf_gw.account);
  END IF;
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
  IF v_has_earlier THEN
    IF ${isUnwritten('v_node.id')} THEN
      RAISE EXCEPTION 'what the node % has decided is not written', p_name USING ERRCODE = 'IG005';
    END IF;
    settled := inf_gw.settle_holds_of(v_node.id, v_us);
  END IF;
  INSERT INTO inf_gw.nodes AS n (name, instance, version, rules, address, epoch, pid, started_at_ms, alive_us)
  VALUES (p_name, p_instance, p_version, p_rules, p_address, v_us, pg_backend_pid(), v_us / 1000, v_us)
  ON CONFLICT (name) DO UPDATE SET instance = p_instance, version = p_version, rules = p_rules, address = p_address,
    epoch = greatest(n.epoch + 1, excluded.epoch), pid = excluded.pid,
    started_at_ms = CASE WHEN n.instance = p_instance THEN n.started_at_ms ELSE v_us / 1000 END, alive_us = v_us,
    stopped_us = 0, requests = 0, tokens = 0
  RETURNING n.id, n.epoch INTO node_id, epoch;
  PERFORM inf_gw.raise_rules();
END $$;

-- Once all live gateways support newer rules, the log announces them for all later entries. Gateways that do not support
-- them are shut out: they were silent, and cannot join again.
CREATE OR REPLACE FUNCTION inf_gw.raise_rules() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_rules int; v_before int;
BEGIN
  -- Without the lock first: there is nearly never anything to do.
  IF NOT EXISTS (SELECT FROM ${KNOWN_TO_ALL} k, inf_gw.account a WHERE k.rules > a.rules) THEN RETURN; END IF;
  PERFORM inf_gw.lock_account();
  SELECT k.rules, a.rules INTO v_rules, v_before FROM ${KNOWN_TO_ALL} k, inf_gw.account a WHERE k.rules > a.rules;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE inf_gw.account SET rules = v_rules;
  UPDATE inf_gw.nodes SET epoch = epoch + 1 WHERE rules < v_rules;
  PERFORM inf_gw.log_change((SELECT greatest(inf_gw.now_us(), last_us) FROM inf_gw.account), jsonb_build_object('rules', v_rules, 'before', v_before), '{}');
END $$;

-- Shuts out the gateway that wrote an invalid entry, once per entry. It may join again.
CREATE OR REPLACE FUNCTION inf_gw.shut_out(p_seq bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM inf_gw.lock_account();
  UPDATE inf_gw.nodes n SET epoch = epoch + 1, shut_seq = p_seq
    FROM inf_gw.log l WHERE l.seq = p_seq AND n.id = l.node_id AND n.shut_seq < p_seq;
END $$;

-- A heartbeat, with the node's admissions and charged tokens of the last minute. Returns the current epoch, and the requests
-- of this node that an operator has stopped.
CREATE OR REPLACE FUNCTION inf_gw.beat(p_node int, p_epoch bigint, p_requests bigint, p_tokens bigint, p_seen bigint, OUT epoch bigint,
  OUT stops text[]) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  UPDATE inf_gw.nodes n SET alive_us = inf_gw.now_us(), requests = greatest(0, p_requests), tokens = greatest(0, p_tokens),
      seen_seq = p_seen
    WHERE n.id = p_node AND n.epoch = p_epoch;
  SELECT n.epoch INTO epoch FROM inf_gw.nodes n WHERE n.id = p_node;
  -- Only its own process hears of them.
  WITH gone AS (DELETE FROM inf_gw.stops WHERE node_id = p_node AND epoch = p_epoch RETURNING request_id)
    SELECT array_agg(request_id) INTO stops FROM gone;
END $$;

-- An orderly stop of a node, which frees its name immediately. Must run on the node's own connection.
CREATE OR REPLACE FUNCTION inf_gw.leave_node(p_node int, p_epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM inf_gw.lock_account();
  UPDATE inf_gw.nodes SET alive_us = 0, stopped_us = inf_gw.now_us(), epoch = epoch + 1
    WHERE id = p_node AND epoch = p_epoch AND pid = pg_backend_pid();
END $$;

-- Shuts out nodes that have been silent for too long, and settles their open requests as held. Rules that only those nodes
-- did not support take effect.
CREATE OR REPLACE FUNCTION inf_gw.reap(OUT names text[], OUT settled bigint) LANGUAGE plpgsql AS $$
DECLARE
  v_us bigint; v_now_us bigint; v_dead record;
BEGIN
  names := '{}'; settled := 0;
  PERFORM inf_gw.raise_rules();
  -- Without the lock first: there is nearly never anything to do.
  PERFORM 1 FROM ${OPEN_NODES} WHERE n.alive_us < inf_gw.now_us() - ${SILENCE_US};
  IF NOT FOUND THEN RETURN; END IF;
  SELECT last_us INTO v_us FROM inf_gw.lock_account();
  -- Signs of life are dated by the clock itself, also after it went back.
  v_now_us := inf_gw.now_us();
  v_us := greatest(v_us, v_now_us);
  FOR v_dead IN SELECT n.id, n.name FROM ${OPEN_NODES} WHERE n.alive_us < v_now_us - ${SILENCE_US}
    AND NOT ${isUnwritten('n.id')} ORDER BY n.id
  LOOP
    UPDATE inf_gw.nodes SET epoch = epoch + 1 WHERE id = v_dead.id;
    settled := settled + inf_gw.settle_holds_of(v_dead.id, v_us);
    names := names || v_dead.name;
  END LOOP;
END $$;

-- Settles all holds of a node as held, and returns their number. The caller holds the lock.
CREATE OR REPLACE FUNCTION inf_gw.settle_holds_of(p_node int, p_us bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_reaped jsonb; r record; v_ended record;
BEGIN
  SELECT jsonb_agg(jsonb_build_array(h.request_id, h.input_tokens, h.output_tokens, h.hold_nanos::text, h.reserved_tokens,
    h.has_slot::int)) INTO v_reaped FROM inf_gw.holds h WHERE h.node_id = p_node;
  SELECT ${SETTLEMENT.columns.map(({ name, type }) => `array_agg(${ENDED_AS_HELD[name] ?? `NULL::${SQL_TYPES[type]}`}) AS ${name}`).join(', ')}
    INTO r FROM inf_gw.holds h WHERE h.node_id = p_node;
  IF r.request_id IS NULL THEN RETURN 0; END IF;
  v_ended := inf_gw.end_holds(p_node, p_us, ${names(SETTLEMENT.columns, 'r.')});
  UPDATE inf_gw.account SET balance_nanos = balance_nanos - v_ended.charged, held_nanos = held_nanos - v_ended.released;
  PERFORM inf_gw.log_change(p_us, jsonb_build_object('reaped', p_node, 's', v_reaped), '{}');
  RETURN v_ended.ended;
END $$;

-- Queues an operator's stop for the node of a request. Returns false if no request in flight has this id.
CREATE OR REPLACE FUNCTION inf_gw.stop_request(p_request_id text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO inf_gw.stops (request_id, node_id, at_us)
    SELECT h.request_id, h.node_id, inf_gw.now_us() FROM inf_gw.holds h WHERE h.request_id = p_request_id
    ON CONFLICT DO NOTHING;
  RETURN EXISTS (SELECT FROM inf_gw.holds WHERE request_id = p_request_id);
END $$;
`;
