/** How much keys are doing on all gateways together. */

/**
 * Not `now_us()`: the role of a gateway may not call it. In a SELECT of its own, it is computed once
 * and not for each row, and an index can be searched by it.
 */
export const NOW_US = '(SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)';

/** The windows of the last minute: `key_state` still counts what has left since its last decision. */
const ACTIVITY = `SELECT s.key_id, coalesce(sum(e.requests), 0) AS requests,
    coalesce(sum(e.tokens), 0) + s.reserved_tokens AS tokens, s.open_requests AS open
  FROM inf_gw.key_state s
  LEFT JOIN inf_gw.window_entries e ON e.key_id = s.key_id AND e.at_us > ${NOW_US} - 60000000`;

/** The keys whose ids are in the array $1. */
export const ACTIVITY_OF_KEYS = `${ACTIVITY} WHERE s.key_id = ANY ($1) GROUP BY s.key_id`;

/** How many more keys are looked at than are wanted: their states count requests of the last two minutes. */
const CANDIDATES = 5;

/**
 * The $1 busiest keys. Only the states of all keys are walked through: keys that nobody uses any
 * more keep the entries of their last minute.
 */
export const BUSIEST = `${ACTIVITY} WHERE s.key_id = ANY (ARRAY(SELECT key_id FROM inf_gw.key_state
    WHERE last_request_us > ${NOW_US} - 60000000 OR open_requests > 0
    ORDER BY window_requests DESC LIMIT ${CANDIDATES} * $1))
  GROUP BY s.key_id ORDER BY 2 DESC LIMIT $1`;
