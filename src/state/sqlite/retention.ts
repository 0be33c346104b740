/** Drops journal rows older than the retention period and seals their sums. */

import { names } from '../../core/layout.ts';
import { HOLD } from '../journal.ts';
import { DAY_COLUMNS, isGroup, ROW_FIGURES, SUM_FIGURES, SUM_NAMES, sumsOf } from '../sql.ts';
import { immediately, type Sqlite } from './database.ts';
import { ADD_FIGURES, ADMISSION_DAY } from './sql.ts';

/** Number of rows per transaction, about 10 ms, for which requests can wait. */
const STEP_ROWS = 1_000;

const ROWS = 'id IN (SELECT value FROM json_each($ids))';
const GROUP_IDS = `(SELECT json_group_array(value) FROM json_each(coalesce(levels, '[]')) WHERE ${isGroup('value')})`;
const SEAL = `INSERT INTO sealed_days (day, ${DAY_COLUMNS}, settled_to_ms)
  SELECT day, group_ids, ${SUM_NAMES}, ${sumsOf(SUM_FIGURES)}, max(settled_at_ms)
  FROM (SELECT ${ADMISSION_DAY} AS day, ${GROUP_IDS} AS group_ids, ${SUM_NAMES}, ${ROW_FIGURES}, settled_at_ms
    FROM journal WHERE ${ROWS})
  GROUP BY day, group_ids, ${SUM_NAMES}
  ON CONFLICT DO UPDATE SET ${ADD_FIGURES}, settled_to_ms = max(settled_to_ms, excluded.settled_to_ms)`;

const SEAL_LEVELS = `INSERT INTO sealed_levels (level_id, day, ${SUM_FIGURES.join(', ')}, settled_to_ms)
  SELECT level_id, day, ${sumsOf(SUM_FIGURES)}, max(settled_at_ms)
  FROM (SELECT l.value AS level_id, ${ADMISSION_DAY} AS day, ${ROW_FIGURES}, settled_at_ms
    FROM journal JOIN json_each(levels) AS l WHERE ${ROWS.replace('id IN', 'journal.id IN')})
  GROUP BY level_id, day
  ON CONFLICT DO UPDATE SET ${ADD_FIGURES}, settled_to_ms = max(settled_to_ms, excluded.settled_to_ms)`;

/** Without its journal row, an ended request with a hold in an old batch would reappear in the view `holds`. */
const COPY_OPEN_HOLDS = `INSERT INTO hold_batches (holds)
  SELECT json_group_array(json_array(${names(HOLD.columns)})) FROM holds`;

/**
 * Drops the oldest rows admitted before `beforeMs`, up to the limit of one step. Returns true if more may remain. Each
 * step moves the sums of its rows from the journal to the sealed days, so the totals stay the same.
 */
export function dropOldRows(database: Sqlite, beforeMs: number, lockWaitMs?: number): boolean {
  const step = () => {
    const ids = database
      // A request that ran for days and has just ended still counts in the windows.
      .prepare(
        'SELECT id FROM journal WHERE admitted_at_ms < $before AND settled_at_ms < $before ORDER BY admitted_at_ms LIMIT $most',
      )
      .pluck()
      .all({ before: beforeMs, most: STEP_ROWS });
    if (ids.length === 0) return false;
    const { lastInsertRowid } = database.prepare(COPY_OPEN_HOLDS).run();
    database.prepare('DELETE FROM hold_batches WHERE id <> ?').run(lastInsertRowid);
    const parameters = { ids: JSON.stringify(ids) };
    database.prepare(SEAL).run(parameters);
    database.prepare(SEAL_LEVELS).run(parameters);
    database.prepare(`DELETE FROM journal WHERE ${ROWS}`).run(parameters);
    return ids.length === STEP_ROWS;
  };
  return immediately(database, step, lockWaitMs);
}
