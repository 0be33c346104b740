/** Alerts: the last one about each subject, and the outbox, shared by all gateways. */
import { KEPT_DELIVERIES, MAX_PENDING, MAX_PENDING_MS } from '../../alerts.ts';

export const ALERT_TABLES = `
-- The last alert about each subject, so that each crossing is reported once.
CREATE TABLE inf_gw.alert_marks (
  subject text COLLATE "C" PRIMARY KEY,
  -- What it was about, such as a month. In another one everything is news.
  span text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  told_at_ms bigint NOT NULL,
  until_ms bigint,
  revision bigint NOT NULL
);

-- One row for each event and place that it goes to.
CREATE TABLE inf_gw.alert_outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  body text NOT NULL,
  at_ms bigint NOT NULL,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
  attempts bigint NOT NULL DEFAULT 0,
  -- When to try it next. Whoever claims it puts that off.
  due_at_ms bigint NOT NULL,
  claimed_by text,
  answer text
);
CREATE INDEX alert_outbox_by_target ON inf_gw.alert_outbox (target, due_at_ms) WHERE state = 'pending';
`;

const NOW_MS = 'inf_gw.now_us() / 1000';
/** Bounds the delay of a retry to the maximum age of a delivery. */
const bounded = (milliseconds: string) => `least(greatest(${milliseconds}, 0), ${MAX_PENDING_MS})`;

export const ALERTS = `
-- Changes a mark if its revision is still p_revision, and adds an event to the outbox. p_event_id is NULL without an event;
-- p_span is NULL to remove the mark. Returns done, stale or full.
CREATE OR REPLACE FUNCTION inf_gw.change_alert(p_subject text, p_revision bigint, p_span text, p_value text,
  p_told_at_ms bigint, p_until_ms bigint, p_event_id text, p_body text, p_at_ms bigint, p_targets text[])
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF p_event_id IS NOT NULL AND (SELECT count(*) FROM inf_gw.alert_outbox WHERE state = 'pending') >= ${MAX_PENDING} THEN
    RETURN 'full';
  END IF;
  IF p_span IS NULL THEN
    DELETE FROM inf_gw.alert_marks WHERE subject = p_subject AND revision = p_revision;
  ELSIF p_revision = 0 THEN
    INSERT INTO inf_gw.alert_marks VALUES (p_subject, p_span, p_value, p_told_at_ms, p_until_ms, 1) ON CONFLICT DO NOTHING;
  ELSE
    UPDATE inf_gw.alert_marks SET span = p_span, value = p_value, told_at_ms = p_told_at_ms, until_ms = p_until_ms,
      revision = p_revision + 1 WHERE subject = p_subject AND revision = p_revision;
  END IF;
  IF NOT FOUND THEN
    RETURN 'stale';
  END IF;
  IF p_event_id IS NOT NULL THEN
    INSERT INTO inf_gw.alert_outbox (event_id, target, body, at_ms, due_at_ms)
      SELECT p_event_id, target, p_body, p_at_ms, ${NOW_MS} FROM unnest(p_targets) AS t (target);
    DELETE FROM inf_gw.alert_outbox WHERE state <> 'pending'
      AND id <= (SELECT max(id) FROM inf_gw.alert_outbox) - ${KEPT_DELIVERIES};
    DELETE FROM inf_gw.alert_outbox WHERE state = 'pending' AND at_ms < ${NOW_MS} - ${MAX_PENDING_MS};
  END IF;
  RETURN 'done';
END $$;

-- Claims the oldest due delivery to p_target. Skips rows that another session is claiming.
CREATE OR REPLACE FUNCTION inf_gw.claim_alert(p_target text, p_owner text, p_lease_ms bigint)
RETURNS TABLE (delivery bigint, body text, at_ms bigint, attempts bigint) LANGUAGE sql AS $$
  UPDATE inf_gw.alert_outbox o SET due_at_ms = ${NOW_MS} + ${bounded('p_lease_ms')}, claimed_by = p_owner
    WHERE o.id = (SELECT d.id FROM inf_gw.alert_outbox d
      WHERE d.target = p_target AND d.state = 'pending' AND d.due_at_ms <= ${NOW_MS}
      ORDER BY d.due_at_ms, d.id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING o.id, o.body, o.at_ms, o.attempts
$$;

CREATE OR REPLACE FUNCTION inf_gw.settle_alert(p_delivery bigint, p_owner text, p_state text, p_after_ms bigint, p_answer text)
RETURNS void LANGUAGE sql AS $$
  UPDATE inf_gw.alert_outbox SET state = p_state, due_at_ms = ${NOW_MS} + ${bounded('p_after_ms')}, answer = p_answer,
    attempts = attempts + 1, claimed_by = NULL WHERE id = p_delivery AND claimed_by = p_owner
$$;

CREATE OR REPLACE FUNCTION inf_gw.release_alerts(p_owner text) RETURNS void LANGUAGE sql AS $$
  UPDATE inf_gw.alert_outbox SET due_at_ms = ${NOW_MS}, claimed_by = NULL WHERE state = 'pending' AND claimed_by = p_owner
$$;
`;
