/** Drops what end users were booked that no limit of theirs counts any more. The journal keeps their requests. */
import { utcMonth } from '../../core/clock.ts';
import { IDLE_USER_MS } from '../levels.ts';
import { immediately, type Sqlite } from './database.ts';

/** The number of rows of each table per transaction. */
const STEP_ROWS = 1_000;

/** The last admission. Only what is old beside that is dropped: the auditor expects the rest. */
const LAST = 'SELECT max(last_at_ms) FROM usage_months';
const DROP_DAYS = `DELETE FROM level_days WHERE (level_id, day, key_id, model, source) IN (
  SELECT level_id, day, key_id, model, source FROM level_days
  WHERE level_id LIKE '%/%' AND day < $kept ORDER BY day LIMIT ${STEP_ROWS})`;
const NEXT_MONTHS = `SELECT month, level_id FROM level_months
  WHERE level_id LIKE '%/%' AND month < $kept AND (month, level_id) > ($month, $level)
  ORDER BY month, level_id LIMIT ${STEP_ROWS}`;
/** A total counts all months, and whoever is there may get one. */
const DROP_MONTH = `DELETE FROM level_months WHERE level_id = $level AND month = $month
  AND NOT EXISTS (SELECT 1 FROM level_months WHERE level_id = $level AND month >= $kept)
  AND NOT EXISTS (SELECT 1 FROM budgets
    WHERE period = 'total' AND key_id IN ($level, substr($level, 1, instr($level, '/'))))`;
/** What is left of a month is proved by the rows that were dropped. */
const DROP_SEALED = `DELETE FROM sealed_levels WHERE (level_id, day, key_id, model, source) IN (
  SELECT level_id, day, key_id, model, source FROM sealed_levels AS s
  WHERE level_id LIKE '%/%' AND day < $kept
    AND NOT EXISTS (SELECT 1 FROM level_months AS m WHERE m.level_id = s.level_id AND m.month = substr(s.day, 1, 7))
  ORDER BY day LIMIT ${STEP_ROWS})`;
/** A step, of a hundredth of its window, counts until its last moment has left that. */
const DROP_STEPS = `DELETE FROM budget_steps WHERE (key_id, window_s, at_ms) IN (
  SELECT s.key_id, s.window_s, s.at_ms
  FROM (SELECT DISTINCT window_s FROM budgets WHERE window_s IS NOT NULL) AS w JOIN budget_steps AS s
    ON s.window_s = w.window_s AND s.key_id LIKE '%/%' AND s.at_ms < $last - w.window_s * 1020
  LIMIT ${STEP_ROWS})`;

/** A place in the sums by month. */
interface Place {
  readonly month: string;
  readonly level_id: string;
}

const START: Place = { month: '', level_id: '' };

export class IdleUsers {
  readonly #database: Sqlite;
  /** The last sum by month that was looked at. */
  #after = START;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  /** Drops some rows, in one short transaction. Returns true if there may be more. */
  drop(wallMs: number, lockWaitMs?: number): boolean {
    return immediately(this.#database, () => this.#step(wallMs), lockWaitMs);
  }

  #step(wallMs: number): boolean {
    const lastMs = this.#database.prepare(LAST).pluck().get() as number | null;
    if (lastMs === null) return false;
    const last = Math.min(wallMs, lastMs);
    const kept = utcMonth(last - IDLE_USER_MS);
    const run = (sql: string, values: object) => this.#database.prepare(sql).run(values).changes;
    const { month, level_id: level } = this.#after;
    const months = this.#database.prepare(NEXT_MONTHS).all({ kept, month, level }) as Place[];
    for (const place of months) run(DROP_MONTH, { kept, month: place.month, level: place.level_id });
    const isMore = months.length === STEP_ROWS;
    this.#after = (isMore && months.at(-1)) || START;
    const changes = [run(DROP_DAYS, { kept }), run(DROP_SEALED, { kept }), run(DROP_STEPS, { last })];
    return isMore || changes.includes(STEP_ROWS);
  }
}
