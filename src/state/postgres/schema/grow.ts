/** The function that grows the hold of a request in flight. */
export const GROW = `
-- Grows the hold of an open request by as much as spend limit and balance leave.
CREATE OR REPLACE FUNCTION inf_gw.grow(p_request_id text, p_output bigint, p_hold bigint, p_month text, p_us bigint,
  p_spend_limit bigint, p_charged bigint, p_held_of_key bigint, p_credit boolean, p_balance bigint, p_held bigint,
  OUT code int, OUT hold_nanos bigint, OUT more_nanos bigint, OUT more_reserved bigint, OUT in_month boolean,
  OUT reached jsonb)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  v_hold inf_gw.holds; v_month text; v_increase bigint; v_tokens bigint; v_limit_leaves bigint; v_balance_leaves bigint;
  v_budgets record;
BEGIN
  more_nanos := 0; more_reserved := 0; code := 0; in_month := false;
  SELECT * INTO v_hold FROM inf_gw.holds h WHERE h.request_id = p_request_id;
  IF NOT FOUND THEN code := 11; RETURN; END IF;
  hold_nanos := v_hold.hold_nanos;
  -- The hold counts in the month of its admission, which may be over.
  v_month := inf_gw.utc_month(v_hold.admitted_us);
  in_month := v_month = p_month;
  IF NOT in_month AND p_spend_limit IS NOT NULL THEN
    SELECT coalesce(sum(m.cost_nanos), 0) INTO p_charged FROM inf_gw.usage_months m
      WHERE m.key_id = v_hold.key_id AND m.month = v_month;
    SELECT coalesce(sum(h.hold_nanos), 0) INTO p_held_of_key FROM inf_gw.holds h
      WHERE h.key_id = v_hold.key_id AND inf_gw.utc_month(h.admitted_us) = v_month;
  END IF;
  v_increase := greatest(0, p_hold - v_hold.hold_nanos);
  v_tokens := greatest(0, p_output - v_hold.output_tokens);
  IF v_increase > 0 THEN
    v_limit_leaves := CASE WHEN p_spend_limit IS NULL THEN v_increase ELSE p_spend_limit - p_charged - p_held_of_key END;
    v_balance_leaves := CASE WHEN p_credit THEN p_balance - p_held ELSE v_increase END;
    SELECT * INTO v_budgets FROM inf_gw.budgets_leave(v_hold.key_id, v_hold.admitted_us, p_us);
    more_nanos := least(v_increase, v_limit_leaves, v_balance_leaves, v_budgets.least_nanos);
    IF more_nanos <= 0 THEN
      more_nanos := 0;
      code := CASE WHEN v_limit_leaves <= 0 OR v_budgets.reached IS NOT NULL THEN 4 ELSE 5 END;
      reached := jsonb_build_object('admitted', v_hold.admitted_us / 1000, 'month', v_limit_leaves <= 0,
        'budgets', coalesce(v_budgets.reached, '[]'));
      RETURN;
    END IF;
    v_tokens := div(v_tokens::numeric * more_nanos, v_increase)::bigint;
  END IF;
  -- Where output is reserved at all, the reservation grows with what the hold covers.
  more_reserved := CASE WHEN v_hold.reserved_tokens > v_hold.input_tokens THEN v_tokens ELSE 0 END;
  hold_nanos := hold_nanos + more_nanos;
  UPDATE inf_gw.holds h SET output_tokens = h.output_tokens + v_tokens, hold_nanos = h.hold_nanos + more_nanos,
    reserved_tokens = h.reserved_tokens + more_reserved WHERE h.request_id = p_request_id;
END $$;
`;
