/**
 * Adds up the old days of end users to months, and drops what no limit of theirs counts any more. The journal keeps their
 * requests.
 */
import { utcMonth } from '../../core/clock.ts';
import { IDLE_USER_MS, isUserId } from '../levels.ts';
import { isUser, SUM_FIGURES } from '../sql.ts';
import { immediately, type Sqlite } from './database.ts';
import { ADD_FIGURES } from './sql.ts';

/** The number of rows of each table that a transaction drops, give or take one end user, and of levels that it looks at. */
const STEP_ROWS = 1_000;
const STEP_LEVELS = 500;

/** The last admission. Only what is old beside that is dropped: the auditor expects the rest. */
const LAST = 'SELECT max(last_at_ms) FROM usage_months';
/** All that is booked to a level is in a month of its key as well, and those are kept. */
const FIRST_MONTH = 'SELECT min(month) FROM usage_months';
const NEXT = `SELECT min(level_id) FROM (SELECT min(level_id) AS level_id FROM level_days WHERE level_id > $after
  UNION ALL SELECT min(level_id) FROM level_months WHERE level_id > $after)`;
/** Of all that were there lately there is nothing to do, and these are most. */
const IS_OLD = `EXISTS (SELECT 1 FROM level_days WHERE level_id = next.id AND day < $kept)
    OR EXISTS (SELECT 1 FROM level_months WHERE level_id = next.id AND month < $kept)`;
/** By the primary keys: an index of what is old would cost each new end user two pages more, every day. */
const NEXT_LEVELS = `WITH RECURSIVE next (id) AS (
    SELECT (${NEXT}) UNION ALL SELECT (${NEXT.replaceAll('$after', 'next.id')}) FROM next WHERE id IS NOT NULL
  ) SELECT id AS level, ${IS_OLD} AS is_old FROM next WHERE id IS NOT NULL LIMIT ${STEP_LEVELS}`;
const ADD_DAYS = `INSERT INTO level_months (level_id, month, ${SUM_FIGURES.join(', ')})
  SELECT level_id, substr(day, 1, 7), ${SUM_FIGURES.map((figure) => `sum(${figure})`).join(', ')} FROM level_days
  WHERE level_id = $level AND day < $kept GROUP BY 2 ON CONFLICT DO UPDATE SET ${ADD_FIGURES}`;
const DROP_DAYS = 'DELETE FROM level_days WHERE level_id = $level AND day < $kept';
/** A total counts all months, and whoever is there may get one. */
const DROP_MONTHS = `DELETE FROM level_months WHERE level_id = $level AND month < $kept
  AND NOT EXISTS (SELECT 1 FROM level_days WHERE level_id = $level)
  AND NOT EXISTS (SELECT 1 FROM budgets
    WHERE period = 'total' AND key_id IN ($level, substr($level, 1, instr($level, '/'))))`;
/** What is left of a month is proved by the rows that were dropped. */
const DROP_SEALED = `DELETE FROM sealed_levels WHERE (level_id, day) IN (
  SELECT level_id, day FROM sealed_levels AS s
  WHERE ${isUser('level_id')} AND day < $kept
    AND NOT EXISTS (SELECT 1 FROM level_months AS m WHERE m.level_id = s.level_id AND m.month = substr(s.day, 1, 7))
    AND NOT EXISTS (SELECT 1 FROM level_days AS d WHERE d.level_id = s.level_id AND d.day = s.day)
  ORDER BY day LIMIT ${STEP_ROWS})`;
/** A step, of a hundredth of its window, counts until its last moment has left that. */
const DROP_STEPS = `DELETE FROM budget_steps WHERE (key_id, window_s, at_ms) IN (
  SELECT s.key_id, s.window_s, s.at_ms
  FROM (SELECT DISTINCT window_s FROM budgets WHERE window_s IS NOT NULL) AS w JOIN budget_steps AS s
    ON s.window_s = w.window_s AND ${isUser('s.key_id')} AND s.at_ms < $last - w.window_s * 1020
  LIMIT ${STEP_ROWS})`;

/** How far levels were walked through for what is older than a month. */
interface Walk {
  /** The first month that is kept whatever happens. */
  readonly kept: string;
  /** The last level that was looked at; undefined at the end. */
  readonly after: string | undefined;
}

interface NextLevel {
  readonly level: string;
  /** Whether something of it is older than what is kept: 1 or 0. */
  readonly is_old: number;
}

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
    const walk = this.#dropOld(this.#walk?.kept === kept ? this.#walk : this.#beginning(kept));
    const run = (sql: string, values: object) => this.#database.prepare(sql).run(values).changes;
    const changes = [run(DROP_SEALED, { kept }), run(DROP_STEPS, { last })];
    return { walk, isMore: walk.after !== undefined || changes.includes(STEP_ROWS) };
  }

  /** Of a file in which nothing is old no level is looked at: of a million that would take seconds. */
  #beginning(kept: string): Walk {
    const first = this.#database.prepare(FIRST_MONTH).pluck().get() as string;
    return { kept, after: first < kept ? '' : undefined };
  }

  /** Goes on with a walk, by one step. What it has passed becomes old with the next month at the earliest. */
  #dropOld({ kept, after }: Walk): Walk {
    if (after === undefined) return { kept, after };
    const levels = this.#database.prepare(NEXT_LEVELS).all({ after, kept }) as NextLevel[];
    const add = this.#database.prepare(ADD_DAYS);
    const drops = [this.#database.prepare(DROP_DAYS), this.#database.prepare(DROP_MONTHS)];
    let dropped = 0;
    for (const { level, is_old: isOld } of levels) {
      if (isOld === 0 || !isUserId(level)) continue;
      add.run({ kept, level });
      for (const drop of drops) dropped += drop.run({ kept, level }).changes;
      if (dropped >= STEP_ROWS) return { kept, after: level };
    }
    return { kept, after: levels.length === STEP_LEVELS ? levels.at(-1)?.level : undefined };
  }
}
