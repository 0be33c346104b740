/** Log losses of the database: their table, and the function with which gateways report them. */

/** Bounds the table: a gateway's role can call the function any number of times. */
const MOST_LOSSES = 1_000;
const DAY_US = 86_400_000_000;

export const LOSS_TABLE = `
-- What clients were promised and the database has lost of the log, in a failover or a crash: a row for each gateway that had
-- followed it.
CREATE TABLE inf_gw.losses (
  node text COLLATE "C" NOT NULL,
  -- The last entry that it had followed, the last of these that is there, and their times.
  seen_seq bigint NOT NULL,
  seen_us bigint NOT NULL,
  kept_seq bigint NOT NULL,
  kept_us bigint NOT NULL,
  found_us bigint NOT NULL,
  -- Its requests that had ended and are charged as held, and those in flight that are charged as they end.
  held_requests bigint NOT NULL,
  late_requests bigint NOT NULL,
  -- When an operator has taken note of it. NULL until then.
  accepted_us bigint,
  PRIMARY KEY (node, seen_seq, seen_us)
);
`;

export const LOSSES = `
-- Records that the log has lost its end, including an entry that the gateway knew to be durable. p_flushed is the last such
-- entry; clients depend on durable entries only, and any database crash may lose others. p_late_us: admission times of
-- requests in flight at the gateway that are missing in the tables. Entries that other gateways have added since are later
-- than the lost ones.
CREATE OR REPLACE FUNCTION inf_gw.record_loss(p_node int, p_epoch bigint, p_seen bigint, p_seen_us bigint, p_flushed bigint,
  p_held bigint, p_late_us bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_name text; v_us bigint := inf_gw.now_us(); v_kept bigint; v_kept_us bigint;
BEGIN
  IF p_seen_us NOT BETWEEN 0 AND v_us + ${DAY_US} OR p_flushed > p_seen OR p_held < 0 THEN
    RAISE EXCEPTION 'no gateway says this' USING ERRCODE = 'IG901';
  END IF;
  SELECT name INTO v_name FROM inf_gw.nodes WHERE id = p_node AND epoch = p_epoch;
  IF NOT FOUND THEN RAISE EXCEPTION 'the epoch of this node is over' USING ERRCODE = 'IG001'; END IF;
  SELECT seq, at_us INTO v_kept, v_kept_us FROM inf_gw.log WHERE seq <= p_seen AND at_us <= p_seen_us
    ORDER BY seq DESC LIMIT 1;
  v_kept := coalesce(v_kept, 0);
  IF v_kept >= p_flushed THEN RETURN; END IF;
  IF (SELECT count(*) FROM inf_gw.losses) >= ${MOST_LOSSES} THEN
    DELETE FROM inf_gw.losses WHERE accepted_us IS NOT NULL;
  END IF;
  INSERT INTO inf_gw.losses (node, seen_seq, seen_us, kept_seq, kept_us, found_us, held_requests, late_requests)
    SELECT v_name, p_seen, p_seen_us, v_kept, coalesce(v_kept_us, 0), v_us, p_held,
      (SELECT count(*) FROM unnest(p_late_us) AS admitted_us WHERE admitted_us > coalesce(v_kept_us, 0))
    WHERE (SELECT count(*) FROM inf_gw.losses) < ${MOST_LOSSES}
    ON CONFLICT DO NOTHING;
END $$;
`;
