/** The activity of keys on all gateways together. */
import { endedSince } from '../budgets.ts';

/**
 * Not `now_us()`: the role of a gateway may not call it. As a subquery it is evaluated once instead of for each row, and
 * can be used for an index search.
 */
export const NOW_US = '(SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)';

const SINCE_MS = `(${NOW_US} - 60000000) / 1000`;

/** The windows of the last minute, from ended requests and requests in flight. `of` is a condition on keys. */
const activity = (
  of: string,
) => `SELECT key_id, sum(requests)::bigint AS requests, sum(tokens)::bigint AS tokens, sum(open)::bigint AS open
  FROM (
    SELECT key_id, count(*) FILTER (WHERE admitted_at_ms > ${SINCE_MS}) AS requests, sum(prompt_tokens + completion_tokens) AS tokens,
      0 AS open FROM (${endedSince('*', 'inf_gw.journal', SINCE_MS)}) j WHERE ${of} GROUP BY key_id
    UNION ALL SELECT key_id, count(*) FILTER (WHERE admitted_us / 1000 > ${SINCE_MS}), sum(reserved_tokens), count(*)
      FROM inf_gw.holds WHERE ${of} GROUP BY key_id
  ) r GROUP BY key_id`;

/** The keys whose ids are in the array $1. */
export const ACTIVITY_OF_KEYS = activity('key_id = ANY ($1)');

/** The $1 busiest keys. */
export const BUSIEST = `${activity('true')} ORDER BY 2 DESC, key_id LIMIT $1`;
