/** Drops what end users were booked that no limit of theirs counts any more. The journal keeps their requests. */
import { utcMonth } from '../../core/clock.ts';
import { IDLE_USER_MS, ownerOf } from '../levels.ts';
import { immediately, type Sqlite } from './database.ts';

/** The number of rows of each table that a transaction looks at or drops, give or take one end user. */
const STEP_ROWS = 1_000;

/** The last admission. Only what is old beside that is dropped: the auditor expects the rest. */
const LAST = 'SELECT max(last_at_ms) FROM usage_months';
/** By the primary key: an index of what is old would cost each new end user two pages more, every day. */
const NEXT_MONTHS = `SELECT level_id, month FROM level_months WHERE (level_id, month) > ($level, $month)
  ORDER BY level_id, month LIMIT ${STEP_ROWS}`;
const DROP_DAYS = 'DELETE FROM level_days WHERE level_id = $level AND day < $kept';
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

/** How far the sums by month were walked through for what is older than a month. */
interface Walk {
  /** The first month that is kept whatever happens. */
  readonly kept: string;
  /** The last sum that was looked at; undefined at the end. */
  readonly after: Place | undefined;
}

interface Place {
  readonly level_id: string;
  readonly month: string;
}

const START: Place = { level_id: '', month: '' };

export class IdleUsers {
  readonly #database: Sqlite;
  #walk: Walk | undefined;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  /** Drops some rows, in one short transaction. Returns true if there may be more. */
  drop(wallMs: number, lockWaitMs?: number): boolean {
    const step = () => this.#step(wallMs);
    const done = immediately(this.#database, step, lockWaitMs);
    // Once it is committed: otherwise what was dropped is to be dropped again.
    this.#walk = done.walk;
    return done.isMore;
  }

  #step(wallMs: number): { readonly walk: Walk | undefined; readonly isMore: boolean } {
    const lastMs = this.#database.prepare(LAST).pluck().get() as number | null;
    if (lastMs === null) return { walk: undefined, isMore: false };
    const last = Math.min(wallMs, lastMs);
    const kept = utcMonth(last - IDLE_USER_MS);
    const walk = this.#dropMonths(this.#walk?.kept === kept ? this.#walk : { kept, after: START });
    const run = (sql: string, values: object) => this.#database.prepare(sql).run(values).changes;
    const changes = [run(DROP_SEALED, { kept }), run(DROP_STEPS, { last })];
    return { walk, isMore: walk.after !== undefined || changes.includes(STEP_ROWS) };
  }

  /** Goes on with a walk, by one step. What it has passed becomes old with the next month at the earliest. */
  #dropMonths({ kept, after }: Walk): Walk {
    if (after === undefined) return { kept, after };
    const places = this.#database.prepare(NEXT_MONTHS).all({ level: after.level_id, month: after.month }) as Place[];
    const drops = [this.#database.prepare(DROP_DAYS), this.#database.prepare(DROP_MONTH)];
    let dropped = 0;
    for (const place of places) {
      const { level_id: level, month } = place;
      if (ownerOf(level) === undefined || month >= kept) continue;
      for (const drop of drops) dropped += drop.run({ kept, level, month }).changes;
      if (dropped >= STEP_ROWS) return { kept, after: place };
    }
    return { kept, after: places.length === STEP_ROWS ? places.at(-1) : undefined };
  }
}
