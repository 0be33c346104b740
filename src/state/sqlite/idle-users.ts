/**
 * Compacts usage of end users: adds up old days to months, and drops sums that no limit needs any more. The journal keeps
 * the requests.
 */
import { utcMonth } from '../../core/clock.ts';
import { IDLE_USER_MS, isUserId } from '../levels.ts';
import { isUser, SUM_FIGURES } from '../sql.ts';
import { immediately, type Sqlite } from './database.ts';
import { ADD_FIGURES } from './sql.ts';

/** Maximum number of rows of each table that a transaction drops, up to one end user more, and of levels that it checks. */
const STEP_ROWS = 1_000;
const STEP_LEVELS = 500;

/** The last admission. Age is measured relative to it: the auditor expects newer sums to exist. */
const LAST = 'SELECT max(last_at_ms) FROM usage_months';
/** Every charge of a level is also in a month of its key, and months of keys are never dropped. */
const FIRST_MONTH = 'SELECT min(month) FROM usage_months';
const NEXT = `SELECT min(level_id) FROM (SELECT min(level_id) AS level_id FROM level_days WHERE level_id > $after
  UNION ALL SELECT min(level_id) FROM level_months WHERE level_id > $after)`;
/** Recently active levels, the vast majority, need no work. */
const IS_OLD = `EXISTS (SELECT 1 FROM level_days WHERE level_id = next.id AND day < $kept)
    OR EXISTS (SELECT 1 FROM level_months WHERE level_id = next.id AND month < $kept)`;
/** Walks the primary keys. An index by age would cost two more pages per new end user and day. */
const NEXT_LEVELS = `WITH RECURSIVE next (id) AS (
    SELECT (${NEXT}) UNION ALL SELECT (${NEXT.replaceAll('$after', 'next.id')}) FROM next WHERE id IS NOT NULL
  ) SELECT id AS level, ${IS_OLD} AS is_old FROM next WHERE id IS NOT NULL LIMIT ${STEP_LEVELS}`;
const ADD_DAYS = `INSERT INTO level_months (level_id, month, ${SUM_FIGURES.join(', ')})
  SELECT level_id, substr(day, 1, 7), ${SUM_FIGURES.map((figure) => `sum(${figure})`).join(', ')} FROM level_days
  WHERE level_id = $level AND day < $kept GROUP BY 2 ON CONFLICT DO UPDATE SET ${ADD_FIGURES}`;
const DROP_DAYS = 'DELETE FROM level_days WHERE level_id = $level AND day < $kept';
/** Budgets of period `total` include all months. Active end users may still get such a budget. */
const DROP_MONTHS = `DELETE FROM level_months WHERE level_id = $level AND month < $kept
  AND NOT EXISTS (SELECT 1 FROM level_days WHERE level_id = $level)
  AND NOT EXISTS (SELECT 1 FROM budgets
    WHERE period = 'total' AND key_id IN ($level, substr($level, 1, instr($level, '/'))))`;
/** The sealed rows of a month are needed as long as the month has other sums. */
const DROP_SEALED = `DELETE FROM sealed_levels WHERE (level_id, day) IN (
  SELECT level_id, day FROM sealed_levels AS s
  WHERE ${isUser('level_id')} AND day < $kept
    AND NOT EXISTS (SELECT 1 FROM level_months AS m WHERE m.level_id = s.level_id AND m.month = substr(s.day, 1, 7))
    AND NOT EXISTS (SELECT 1 FROM level_days AS d WHERE d.level_id = s.level_id AND d.day = s.day)
  ORDER BY day LIMIT ${STEP_ROWS})`;
/** A step covers a hundredth of its window, and counts until its end has left the window. */
const DROP_STEPS = `DELETE FROM budget_steps WHERE (key_id, window_s, at_ms) IN (
  SELECT s.key_id, s.window_s, s.at_ms
  FROM (SELECT DISTINCT window_s FROM budgets WHERE window_s IS NOT NULL) AS w JOIN budget_steps AS s
    ON s.window_s = w.window_s AND ${isUser('s.key_id')} AND s.at_ms < $last - w.window_s * 1020
  LIMIT ${STEP_ROWS})`;

/** The progress of a walk through levels with sums older than a month. */
interface Walk {
  /** The first month that is always kept. */
  readonly kept: string;
  /** The last checked level; undefined at the end. */
  readonly after: string | undefined;
}

interface NextLevel {
  readonly level: string;
  /** 1 if the level has sums before the kept months, otherwise 0. */
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
    // Set after the commit: a rolled-back step must run again.
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

  /** Skips the walk if the file has no old months: checking a million levels would take seconds. */
  #beginning(kept: string): Walk {
    const first = this.#database.prepare(FIRST_MONTH).pluck().get() as string;
    return { kept, after: first < kept ? '' : undefined };
  }

  /** Continues a walk by one step. Levels behind it cannot become old before the next month. */
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
