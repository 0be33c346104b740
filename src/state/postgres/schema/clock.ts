/** The function by which decisions go on after the clock of the database was ahead and came back. */
import { CLOCK_STEP_MS } from '../../../core/clock.ts';
import { endedSince } from '../../budgets.ts';

const STEP_US = CLOCK_STEP_MS * 1_000;

export const CLOCK = `
-- What is dated after the clock is dated now, so that it neither stops decisions nor counts for longer than it may. Holds and
-- rows of the journal keep their times. Does nothing unless the clock has come back.
CREATE OR REPLACE FUNCTION inf_gw.follow_clock() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_last_us bigint; v_us bigint; v_month text;
BEGIN
  SELECT last_us INTO v_last_us FROM inf_gw.account FOR UPDATE;
  v_us := inf_gw.now_us();
  IF v_last_us > v_us + ${STEP_US} THEN
    v_month := inf_gw.utc_month(v_us);
    UPDATE inf_gw.window_entries SET at_us = v_us WHERE at_us > v_us;
    UPDATE inf_gw.key_state s SET last_request_us = least(s.last_request_us, v_us),
        last_tokens_us = least(s.last_tokens_us, v_us), last_listing_us = least(s.last_listing_us, v_us),
        expired_us = least(s.expired_us, v_us - 60000000)
      WHERE greatest(s.last_request_us, s.last_tokens_us, s.last_listing_us, s.expired_us + 60000000) > v_us;
    UPDATE inf_gw.key_state s SET month = v_month,
        charged_nanos = coalesce((SELECT sum(u.cost_nanos) FROM inf_gw.usage_months u
          WHERE u.key_id = s.key_id AND u.month = v_month), 0),
        held_nanos = coalesce((SELECT sum(h.hold_nanos) FROM inf_gw.holds h
          WHERE h.key_id = s.key_id AND inf_gw.utc_month(h.admitted_us) = v_month), 0)
      WHERE s.month > v_month;
    UPDATE inf_gw.nodes n SET alive_us = v_us WHERE n.alive_us > v_us;
    UPDATE inf_gw.account SET last_us = v_us;
  END IF;
  -- A state that was moved here may have rows of the future, too.
  IF EXISTS (SELECT FROM (${endedSince('1', 'inf_gw.journal', `(v_us + ${STEP_US}) / 1000`)}) j) THEN
    PERFORM inf_gw.count_future_now(v_us / 1000);
  END IF;
END $$;
`;
