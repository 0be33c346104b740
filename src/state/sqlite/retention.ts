/** Drops rows of the journal that are older than they are to be kept, and seals what they came to. */
import { NON_ERROR_OUTCOMES } from '../../core/settlement.ts';
import { immediately, type Sqlite } from './database.ts';

/** Rows of one transaction: some 10 ms, which requests can wait for. */
const STEP_ROWS = 1_000;

const NO_ERROR = NON_ERROR_OUTCOMES.map((outcome) => `'${outcome}'`).join(', ');

const SEAL = `INSERT INTO sealed_days SELECT strftime('%Y-%m-%d', admitted_at_ms / 1000, 'unixepoch'), key_id, model, source,
    count(*), sum(outcome NOT IN (${NO_ERROR})), sum(prompt_tokens), sum(completion_tokens), sum(cost_nanos)
  FROM journal WHERE id IN (SELECT value FROM json_each($ids)) GROUP BY 1, 2, 3, 4
  ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, errors = errors + excluded.errors,
    prompt_tokens = prompt_tokens + excluded.prompt_tokens, completion_tokens = completion_tokens + excluded.completion_tokens,
    cost_nanos = cost_nanos + excluded.cost_nanos`;

/**
 * Drops the oldest rows of those that were admitted before a moment, as many as one step takes. True if there may be
 * more. After each step the sums of the journal and the seals together are what they were.
 */
export function dropOldRows(database: Sqlite, beforeMs: number, lockWaitMs?: number): boolean {
  const step = () => {
    const ids = database
      // A request that ran for days and has just ended is still in the windows.
      .prepare(
        'SELECT id FROM journal WHERE admitted_at_ms < $before AND settled_at_ms < $before ORDER BY admitted_at_ms LIMIT $most',
      )
      .pluck()
      .all({ before: beforeMs, most: STEP_ROWS });
    if (ids.length === 0) return false;
    const parameters = { ids: JSON.stringify(ids) };
    database.prepare(SEAL).run(parameters);
    database.prepare('DELETE FROM journal WHERE id IN (SELECT value FROM json_each($ids))').run(parameters);
    return ids.length === STEP_ROWS;
  };
  return immediately(database, step, lockWaitMs);
}
