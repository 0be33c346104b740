/** Checks the sums of sliding budgets, in SQL that both stores accept. */
import { type AuditDialect, check, Differences, MAX_DIFFERENCES, type Queries, type Row } from './checks.ts';
import { levelRanges, type Range } from './ranges.ts';
import { sumsOfSides } from './rows.ts';

const STEP = ['key_id', 'window_s', 'at_ms'] as const;

/**
 * Compares the steps of each window from `from_ms` on. Earlier steps have left the window, were filled from sums by day, or
 * have dropped rows. Days, weeks and totals need no check here: they are computed from sums by day and month.
 */
export function* budgetQueries(dialect: AuditDialect): Queries {
  const [steps] = yield `SELECT count(*) AS steps FROM ${dialect.schema}budget_steps`;
  const differences = new Differences();
  for (const range of yield* levelRanges(dialect)) {
    const different = yield differentSteps(dialect, range);
    differences.add(different.map(describe), Number(different[0]?.found ?? 0) - different.length);
  }
  return check('sliding budgets', Number(steps?.steps), differences.listed, differences.unlisted);
}

function differentSteps({ schema, greatest, eachIn, collated, indexOf }: AuditDialect, range: Range): string {
  const level = collated('l.value');
  const step = 'b.window_s * 10';
  const ofLevels = `FROM ${schema}journal j ${eachIn('j.levels')} WHERE j.levels IS NOT NULL AND ${range(level)}`;
  const booked = `SELECT ${level} AS key_id, j.settled_at_ms, j.cost_nanos ${ofLevels}`;
  // End users also have the windows configured for all end users. Their steps are dropped once they leave the window of the last
  // request, together with their sealed sums.
  const owned = `SELECT key_id, window_s, exact_from_ms FROM ${schema}budgets WHERE window_s IS NOT NULL AND key_id NOT LIKE '%/' AND ${range('key_id')}
    UNION ALL SELECT u.key_id, b.window_s, b.exact_from_ms FROM ${schema}budgets b
      JOIN (SELECT DISTINCT key_id FROM (SELECT key_id FROM ${schema}budget_steps WHERE ${range('key_id')} UNION ALL SELECT ${level} ${ofLevels}) k
        WHERE key_id LIKE '%/%' AND EXISTS (SELECT 1 FROM ${schema}budgets x WHERE x.window_s IS NOT NULL AND x.key_id LIKE '%/')) u
      ON b.key_id = substr(u.key_id, 1, ${indexOf}(u.key_id, '/')) WHERE b.window_s IS NOT NULL AND b.key_id LIKE '%/'`;
  const windows = `WITH newest AS (SELECT key_id, window_s, max(at_ms) AS at_ms FROM ${schema}budget_steps WHERE ${range('key_id')} GROUP BY key_id, window_s),
  dropped AS (SELECT key_id, max(settled_to_ms) AS to_ms FROM (SELECT key_id, settled_to_ms FROM ${schema}sealed_days
      UNION ALL SELECT level_id, settled_to_ms FROM ${schema}sealed_levels) z GROUP BY key_id),
  owned AS MATERIALIZED (SELECT key_id, window_s, max(exact_from_ms) AS exact_from_ms FROM (${owned}) o GROUP BY key_id, window_s),
  ends AS MATERIALIZED (SELECT (SELECT max(last_at_ms) FROM ${schema}usage_months) AS last_ms, (SELECT max(to_ms) FROM dropped) AS dropped_ms),
  windows AS MATERIALIZED (SELECT b.key_id, b.window_s, ${greatest}(b.exact_from_ms, coalesce(n.at_ms - b.window_s * 1000, 0),
      CASE WHEN b.key_id LIKE '%/%' THEN (e.last_ms / (${step}) - 100) * (${step}) ELSE 0 END,
      coalesce((CASE WHEN b.key_id LIKE '%/%' THEN e.dropped_ms ELSE d.to_ms END / (${step}) + 1) * (${step}), 0)) AS from_ms
    FROM owned b LEFT JOIN newest n ON n.key_id = b.key_id AND n.window_s = b.window_s
      LEFT JOIN dropped d ON d.key_id = b.key_id CROSS JOIN ends e),
  rows_of AS (SELECT j.key_id, j.settled_at_ms, j.cost_nanos FROM ${schema}journal j WHERE ${range('j.key_id')} UNION ALL ${booked}),
  ended AS MATERIALIZED (SELECT b.key_id, b.window_s, j.settled_at_ms / (${step}) * (${step}) AS at_ms, sum(j.cost_nanos) AS nanos
    FROM rows_of j CROSS JOIN windows b
    WHERE EXISTS (SELECT 1 FROM windows) AND b.key_id = j.key_id AND j.settled_at_ms >= b.from_ms
    GROUP BY 1, 2, 3 HAVING sum(j.cost_nanos) > 0),
  stored AS MATERIALIZED (SELECT s.key_id, s.window_s, s.at_ms, s.cost_nanos AS nanos
    FROM ${schema}budget_steps s JOIN windows b ON b.key_id = s.key_id AND b.window_s = s.window_s
    WHERE s.at_ms >= b.from_ms AND s.cost_nanos > 0),
  sums AS (${sumsOfSides(STEP, ['nanos'], { expected: 'SELECT * FROM ended', stored: 'SELECT * FROM stored' })})`;
  return `${windows} SELECT *, count(*) OVER () AS found FROM sums WHERE coalesce(s_nanos, 0) <> coalesce(e_nanos, 0)
    ORDER BY ${STEP.join(', ')} LIMIT ${MAX_DIFFERENCES}`;
}

function describe({ key_id: keyId, window_s: windowS, at_ms: atMs, s_nanos: stored, e_nanos: ended }: Row): string {
  const id = String(keyId);
  const kind = id.includes('/') ? 'end user' : id.startsWith('grp_') ? 'group' : 'key';
  const step = new Date(Number(atMs)).toISOString();
  return `the ${kind} ${id}, window of ${windowS} s: its step of ${step} has ${stored ?? 0n}, but the journal has ${ended ?? 0n}`;
}
