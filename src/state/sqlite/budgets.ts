/** The tables of budgets: who has which, what is spent of them, and the sums of sliding windows. */
import { MOST_STEPS, stepOf } from '../../core/budgets.ts';
import { CLOCK_STEP_MS, DAY_MS, utcDay } from '../../core/clock.ts';
import type { Nanos } from '../../core/money.ts';
import { latestEndMs } from '../budget-book.ts';
import { exactAfterMs, type Step } from '../budgets.ts';
import { isKeyId, isUserId, ofAllUsers } from '../levels.ts';
import { bookedMonths } from '../sql.ts';
import { carryOut } from './book.ts';
import type { Sqlite, Statement } from './database.ts';

/** All months that have sums, one by one: the sums are sorted by month first. */
const CHARGED_EVER = `WITH RECURSIVE months (month) AS (
    SELECT min(month) FROM usage_months
    UNION ALL SELECT (SELECT min(u.month) FROM usage_months u WHERE u.month > m.month) FROM months m WHERE m.month IS NOT NULL
  )
  SELECT coalesce(sum(u.cost_nanos), 0) FROM months m JOIN usage_months u ON u.month = m.month AND u.key_id = ?`;

/** Reads what was charged, as it is stored. */
export class BudgetReader {
  readonly #month: Statement;
  readonly #day: Statement;
  readonly #ever: Statement;
  /** What is booked to a level by others. */
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

  /** What a level was charged for the requests of a month that is not old. */
  chargedInMonth(levelId: string, month: string): Nanos {
    if (isUserId(levelId)) return this.#userMonth.get(levelId, month) as bigint;
    const booked = this.#bookedMonth.get(levelId, month) as bigint;
    return isKeyId(levelId) ? booked + (this.#month.get(month, levelId) as bigint) : booked;
  }

  /** What a level was charged for the requests of whole days, of which there are few. */
  chargedOnDays(levelId: string, fromMs: number, toMs: number): Nanos {
    let nanos = this.#bookedDays.get(levelId, utcDay(fromMs), utcDay(toMs)) as bigint;
    if (!isKeyId(levelId)) return nanos;
    for (let at = fromMs; at < toMs; at += DAY_MS) nanos += this.#day.get(utcDay(at), levelId) as bigint;
    return nanos;
  }

  /** What a level was ever charged. */
  chargedEver(levelId: string): Nanos {
    const booked = this.#bookedEver.get({ level: levelId }) as bigint;
    return isKeyId(levelId) ? booked + (this.#ever.get(levelId) as bigint) : booked;
  }

  /** The steps of a sliding window, some of which may have left it. */
  steps(levelId: string, windowS: number): Step[] {
    const rows = this.#steps.all(levelId, windowS) as { at_ms: bigint; cost_nanos: bigint }[];
    return rows.map(({ at_ms: atMs, cost_nanos: nanos }) => [Number(atMs), nanos]);
  }
}

/**
 * Counts as now what sliding windows have in the future, because the clock was ahead and came back. Until it has passed
 * the last of those times, the journal does not prove these windows. The caller holds the lock.
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

/** Whether the journal has requests that end in the future, by more than a clock that runs true can explain. */
export function hasFuture(database: Sqlite, wallMs: number): boolean {
  return carryOut(database, latestEndMs(wallMs)) > wallMs + CLOCK_STEP_MS;
}

function stepAdder(database: Sqlite): Statement {
  return database.prepare(
    `INSERT INTO budget_steps (key_id, window_s, at_ms, cost_nanos) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET cost_nanos = cost_nanos + excluded.cost_nanos`,
  );
}

/** A sliding window of a level, and the newest step that was written of it. */
interface Window {
  readonly windowS: number;
  newestMs: number;
}

const NO_WINDOWS: readonly Window[] = [];
/** The levels of which it is kept whether they have windows. When there are more, all are looked up again. */
const MOST_LEVELS = 100_000;

/** Adds up what a batch of settled requests changes in sliding windows, and writes it once per batch. */
export class StepWriter {
  readonly #isAnyWindow: Statement;
  readonly #windowsOf: Statement;
  readonly #add: Statement;
  readonly #drop: Statement;
  /** Known until another process commits, as the next. Without any nothing is looked up of millions of end users. */
  #hasWindows: boolean | undefined;
  readonly #windows = new Map<string, readonly Window[]>();
  /** Not written yet: by window of a key, and by step. */
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

  /** Counts the cost of a request that was settled then. */
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

  /** What is not written yet of a window. */
  pending(levelId: string, windowS: number): Iterable<Step> {
    return this.#pending.get(`${levelId} ${windowS}`)?.steps ?? [];
  }

  /** Writes everything that was added, and drops the oldest. Belongs in the transaction that writes the requests. */
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

  /** Discards what was added: the transaction was rolled back, and the requests with it. */
  forget(): void {
    this.#pending.clear();
  }

  /** Another process has committed: keys may have other budgets now. */
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
      // An end user has those of all as well.
      const found = this.#windowsOf.all(levelId, ofAllUsers(levelId)) as number[];
      windows = found.length === 0 ? NO_WINDOWS : found.map((windowS) => ({ windowS, newestMs: 0 }));
      this.#windows.set(levelId, windows);
    }
    return windows;
  }
}
