/** The function that lets decisions resume after the clock of the database was ahead and was set back. */
import { CLOCK_STEP_MS } from '../../../core/clock.ts';
import { endedSince } from '../../budgets.ts';

const STEP_US = CLOCK_STEP_MS * 1_000;

export const CLOCK = `
-- Moves times after the current clock to now, so that they neither block decisions nor count for too long. Holds and journal
-- rows keep their times. Has no effect unless the clock was set back.
CREATE OR REPLACE FUNCTION inf_gw.follow_clock() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_last_us bigint; v_us bigint; v_comes_back boolean := false;
BEGIN
  SELECT last_us INTO v_last_us FROM inf_gw.lock_account();
  v_us := inf_gw.now_us();
  IF v_last_us > v_us + ${STEP_US} THEN
    UPDATE inf_gw.listings SET at_us = v_us WHERE at_us > v_us;
    UPDATE inf_gw.nodes n SET alive_us = v_us WHERE n.alive_us > v_us;
    UPDATE inf_gw.account SET last_us = v_us, clock_us = v_us;
    v_comes_back := true;
  END IF;
  -- A state that was moved here may have rows of the future, too.
  IF EXISTS (SELECT FROM (${endedSince('1', 'inf_gw.journal', `(v_us + ${STEP_US}) / 1000`)}) j) THEN
    PERFORM inf_gw.count_future_now(v_us / 1000);
    v_comes_back := true;
  END IF;
  IF v_comes_back THEN PERFORM inf_gw.log_change(greatest(v_us, (SELECT last_us FROM inf_gw.account)), '{"clock": true}', '{}'); END IF;
END $$;
`;
