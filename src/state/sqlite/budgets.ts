/** The tables of budgets: the budgets of each level, their spend, and the sums of sliding windows. */
import { MOST_STEPS, stepOf } from '../../core/budgets.ts';
import { CLOCK_STEP_MS, DAY_MS, utcDay } from '../../core/clock.ts';
import type { Nanos } from '../../core/money.ts';
import { latestEndMs } from '../budget-book.ts';
import { exactAfterMs, type Step } from '../budgets.ts';
import { isKeyId, isUserId, ofAllUsers } from '../levels.ts';
import { bookedMonths } from '../sql.ts';
import { carryOut } from './book.ts';
import type { Sqlite, Statement } from './database.ts';

/** Visits each month with sums separately, because the primary key begins with the month. */
const CHARGED_EVER = `WITH RECURSIVE months (month) AS (
    SELECT min(month) FROM usage_months
    UNION ALL SELECT (SELECT min(u.month) FROM usage_months u WHERE u.month > m.month) FROM months m WHERE m.month IS NOT NULL
  )
  SELECT coalesce(sum(u.cost_nanos), 0) FROM months m JOIN usage_months u ON u.month = m.month AND u.key_id = ?`;

/** Reads stored charges. */
export class BudgetReader {
  readonly #month: Statement;
  readonly #day: Statement;
  readonly #ever: Statement;
  /** Charges in the sums by level: for a key, the charges of its child keys. */
  readonly #bookedMonth: Statement;
  readonly #userMonth: Statement;
  readonly #bookedDays: Statement;
  readonly #bookedEver: Statement;
  readonly #steps: Statement;

  constructor(database: Sqlite) {
    const figure = (sql: string) => database.prepare(sql).safeIntegers();
    const sum = (from: string) => figure(`SELECT coalesce(sum(cost_nanos), 0) FROM ${from}`).pluck();
    this.#month = sum('usage_months WHERE month = ? AND key_id = ?');
    this.#day = sum('usage_days WHERE day = ? AND key_id = ?');
    this.#ever = figure(CHARGED_EVER).pluck();
    this.#bookedMonth = sum('level_months WHERE level_id = ? AND month = ?');
    this.#userMonth = sum('level_days WHERE level_id = ? AND substr(day, 1, 7) = ?');
    this.#bookedDays = sum('level_days WHERE level_id = ? AND day >= ? AND day < ?');
    this.#bookedEver = sum(bookedMonths('$level', ''));
    this.#steps = figure('SELECT at_ms, cost_nanos FROM budget_steps WHERE key_id = ? AND window_s = ?');
  }

  /** The charges of a level in a recent month. Old months of end users are not included. */
  chargedInMonth(levelId: string, month: string): Nanos {
    if (isUserId(levelId)) return this.#userMonth.get(levelId, month) as bigint;
    const booked = this.#bookedMonth.get(levelId, month) as bigint;
    return isKeyId(levelId) ? booked + (this.#month.get(month, levelId) as bigint) : booked;
  }

  /** The charges of a level on whole days; meant for a few days. */
  chargedOnDays(levelId: string, fromMs: number, toMs: number): Nanos {
    let nanos = this.#bookedDays.get(levelId, utcDay(fromMs), utcDay(toMs)) as bigint;
    if (!isKeyId(levelId)) return nanos;
    for (let at = fromMs; at < toMs; at += DAY_MS) nanos += this.#day.get(utcDay(at), levelId) as bigint;
    return nanos;
  }

  /** The total charges of a level. */
  chargedEver(levelId: string): Nanos {
    const booked = this.#bookedEver.get({ level: levelId }) as bigint;
    return isKeyId(levelId) ? booked + (this.#ever.get(levelId) as bigint) : booked;
  }

  /** The steps of a sliding window. Some may be older than the window. */
  steps(levelId: string, windowS: number): Step[] {
    const rows = this.#steps.all(levelId, windowS) as { at_ms: bigint; cost_nanos: bigint }[];
    return rows.map(({ at_ms: atMs, cost_nanos: nanos }) => [Number(atMs), nanos]);
  }
}

/**
 * Moves future entries of sliding windows to the current time, after a clock that was ahead was set back. Until the clock
 * passes the last of those times, the journal cannot prove these windows. The caller holds the lock.
 */
export function countFutureNow(database: Sqlite, wallMs: number): void {
  const future = database
    .prepare(
      `SELECT key_id, window_s, sum(cost_nanos) AS nanos, max(at_ms) AS last_ms FROM budget_steps WHERE at_ms > ?
         GROUP BY key_id, window_s`,
    )
    .safeIntegers()
    .all(wallMs) as { key_id: string; window_s: bigint; nanos: bigint; last_ms: bigint }[];
  const remove = database.prepare('DELETE FROM budget_steps WHERE key_id = ? AND window_s = ? AND at_ms > ?');
  const doubt = database.prepare(
    'UPDATE budgets SET exact_from_ms = max(exact_from_ms, ?) WHERE key_id = ? AND window_s = ?',
  );
  const add = stepAdder(database);
  for (const { key_id: keyId, window_s: windowS, nanos, last_ms: lastMs } of future) {
    remove.run(keyId, windowS, wallMs);
    add.run(keyId, windowS, stepOf(wallMs, Number(windowS)), nanos);
    doubt.run(exactAfterMs(Number(windowS), Number(lastMs)), keyId, windowS);
  }
}

/** Whether the journal contains requests that end in the future, by more than normal clock steps explain. */
export function hasFuture(database: Sqlite, wallMs: number): boolean {
  return carryOut(database, latestEndMs(wallMs)) > wallMs + CLOCK_STEP_MS;
}

function stepAdder(database: Sqlite): Statement {
  return database.prepare(
    `INSERT INTO budget_steps (key_id, window_s, at_ms, cost_nanos) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET cost_nanos = cost_nanos + excluded.cost_nanos`,
  );
}

/** A sliding window of a level, and its newest written step. */
interface Window {
  readonly windowS: number;
  newestMs: number;
}

const NO_WINDOWS: readonly Window[] = [];
/** Maximum number of levels in the cache of windows. Beyond it the cache is cleared. */
const MOST_LEVELS = 100_000;

/** Adds up the window changes of a batch of settled requests, and writes them once per batch. */
export class StepWriter {
  readonly #isAnyWindow: Statement;
  readonly #windowsOf: Statement;
  readonly #add: Statement;
  readonly #drop: Statement;
  /**
   * Cached until another process commits, like `#windows`. While no window exists, end users, of which there may be
   * millions, need no lookup.
   */
  #hasWindows: boolean | undefined;
  readonly #windows = new Map<string, readonly Window[]>();
  /** Unwritten charges, by level and window, then by step. */
  readonly #pending = new Map<string, { levelId: string; window: Window; steps: Map<number, Nanos> }>();

  constructor(database: Sqlite) {
    this.#isAnyWindow = database.prepare('SELECT EXISTS (SELECT 1 FROM budgets WHERE window_s IS NOT NULL)').pluck();
    this.#windowsOf = database
      .prepare('SELECT DISTINCT window_s FROM budgets WHERE key_id IN (?, ?) AND window_s IS NOT NULL')
      .pluck();
    this.#add = stepAdder(database);
    this.#drop = database.prepare(
      `DELETE FROM budget_steps WHERE key_id = $key AND window_s = $window AND at_ms <= (SELECT at_ms FROM budget_steps
         WHERE key_id = $key AND window_s = $window ORDER BY at_ms DESC LIMIT 1 OFFSET ${MOST_STEPS})`,
    );
  }

  /** Adds the cost of a settled request. */
  add(levelId: string, settledAtMs: number, costNanos: Nanos): void {
    const windows = this.#windowsFor(levelId);
    if (windows.length === 0 || costNanos === 0n) return;
    for (const window of windows) {
      const name = `${levelId} ${window.windowS}`;
      const pending = this.#pending.get(name) ?? { levelId, window, steps: new Map<number, Nanos>() };
      const atMs = stepOf(settledAtMs, window.windowS);
      pending.steps.set(atMs, (pending.steps.get(atMs) ?? 0n) + costNanos);
      this.#pending.set(name, pending);
    }
  }

  /** The unwritten charges of a window. */
  pending(levelId: string, windowS: number): Iterable<Step> {
    return this.#pending.get(`${levelId} ${windowS}`)?.steps ?? [];
  }

  /** Writes all added charges and drops expired steps. Must run in the transaction that writes the requests. */
  write(): void {
    for (const { levelId, window, steps } of this.#pending.values()) {
      const { windowS } = window;
      for (const [atMs, nanos] of steps) {
        this.#add.run(levelId, windowS, atMs, nanos);
        if (atMs <= window.newestMs) continue;
        window.newestMs = atMs;
        this.#drop.run({ key: levelId, window: windowS });
      }
    }
    this.forget();
  }

  /** Discards the added charges after a rollback. */
  forget(): void {
    this.#pending.clear();
  }

  /** Clears the cache: another process has committed, and may have changed budgets. */
  forgetWindows(): void {
    this.#hasWindows = undefined;
    this.#windows.clear();
  }

  #windowsFor(levelId: string): readonly Window[] {
    this.#hasWindows ??= this.#isAnyWindow.get() === 1;
    if (!this.#hasWindows) return NO_WINDOWS;
    let windows = this.#windows.get(levelId);
    if (windows === undefined) {
      if (this.#windows.size >= MOST_LEVELS) this.#windows.clear();
      // An end user also has the windows set for all end users.
      const found = this.#windowsOf.all(levelId, ofAllUsers(levelId)) as number[];
      windows = found.length === 0 ? NO_WINDOWS : found.map((windowS) => ({ windowS, newestMs: 0 }));
      this.#windows.set(levelId, windows);
    }
    return windows;
  }
}
