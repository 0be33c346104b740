/** Holds and the journal: the writes of admission and settlement. Callers hold the lock. */

import { utcDay } from '../../core/clock.ts';
import { names, type Value } from '../../core/layout.ts';
import type { Nanos } from '../../core/money.ts';
import type { Settlement } from '../../core/settlement.ts';
import { isErrorOutcome } from '../../core/settlement.ts';
import { cacheWritesOf } from '../../core/usage.ts';
import type { Step } from '../budgets.ts';
import { HOLD, type HoldRow, LEVELS, type RecentEntry, SETTLED_COLUMNS, SETTLEMENT } from '../journal.ts';
import { BudgetReader, StepWriter } from './budgets.ts';
import type { Sqlite } from './database.ts';
import { HoldLog } from './hold-log.ts';
import { RowWriter } from './row-writer.ts';
import { SumWriter } from './sums.ts';

/** Fields of a hold that fill in for fields missing in the settlement. */
const [REQUEST_ID, MODEL, PRICE] = [placeOf('request_id'), placeOf('model'), placeOf('price')];

interface RecentRow {
  readonly key_id: string;
  readonly levels: string | null;
  readonly admitted_at_ms: number;
  readonly settled_at_ms: number;
  readonly tokens: number;
}

export class Journal {
  readonly #database: Sqlite;
  readonly #holds: HoldLog;
  readonly #rows: RowWriter;
  readonly #sums: SumWriter;
  readonly #steps: StepWriter;
  readonly #budgets: BudgetReader;

  constructor(database: Sqlite) {
    this.#database = database;
    this.#holds = new HoldLog(database);
    this.#rows = new RowWriter(database, 'journal', SETTLED_COLUMNS);
    this.#sums = new SumWriter(database);
    this.#steps = new StepWriter(database);
    this.#budgets = new BudgetReader(database);
  }

  /** Adds the hold of an admitted request. The next `writeHolds` stores it. */
  hold(hold: HoldRow): void {
    this.#holds.add(hold);
  }

  /** Replaces the hold of a request by a larger one. The next `writeHolds` stores it. */
  grow(hold: HoldRow): void {
    this.#holds.add(hold);
  }

  /**
   * Stores the holds added since the last call. Must end each transaction that adds holds. `open` returns all open holds;
   * `openCount` is their number.
   */
  writeHolds(openCount: number, open: () => readonly HoldRow[]): void {
    this.#holds.write(openCount, open);
  }

  /** Writes the row of an ended request. The next `writeCharges` writes the charge. */
  settle(hold: HoldRow, end: Omit<Settlement, 'requestId'>, wallMs: number): void {
    const { source, usage, costNanos, served, spentBy } = end;
    const { keyId, admittedAtMs } = hold;
    const model = served?.model ?? hold.model;
    const { promptTokens, cachedTokens, completionTokens } = usage;
    const cacheWriteTokens = cacheWritesOf(usage);
    const values = SETTLEMENT.values(end as Settlement);
    values[REQUEST_ID] = hold.requestId;
    values[MODEL] = model;
    values[PRICE] ??= hold.price ?? null;
    values.push(keyId, admittedAtMs, wallMs, hold.holdNanos);
    values.push(model === hold.model ? null : hold.model, LEVELS.flat(hold.levels));
    this.#rows.insert(values);
    const errors = isErrorOutcome(end.outcome) ? 1 : 0;
    const figures = { requests: 1, errors, promptTokens, cachedTokens, cacheWriteTokens, completionTokens, costNanos };
    this.#sums.add({ ...figures, keyId, model, source, admittedAtMs }, hold.levels, spentBy);
    this.#steps.add(keyId, wallMs, costNanos);
    for (const id of hold.levels ?? []) this.#steps.add(id, wallMs, costNanos);
  }

  /**
   * Charges all requests settled since the last call to days, months and the balance. Must end each transaction that
   * settles.
   */
  writeCharges(): void {
    this.#sums.write();
    this.#steps.write();
  }

  /** Discards unwritten holds and charges after a rollback. */
  forget(): void {
    this.#holds.forget();
    this.#sums.forget();
    this.#steps.forget();
  }

  /** Clears the cache of budget windows: another process may have changed budgets. */
  forgetBudgets(): void {
    this.#steps.forgetWindows();
  }

  /** The charges of a level in a month, including unwritten ones. */
  chargedInMonth(levelId: string, month: string): Nanos {
    return (
      this.#budgets.chargedInMonth(levelId, month) + this.#sums.pendingCharge(levelId, (sum) => sum.month === month)
    );
  }

  /** The charges of a level on whole days, including unwritten ones. */
  chargedOnDays(levelId: string, fromMs: number, toMs: number): Nanos {
    const [from, to] = [utcDay(fromMs), utcDay(toMs)];
    const pending = this.#sums.pendingCharge(levelId, ({ day }) => day >= from && day < to);
    return this.#budgets.chargedOnDays(levelId, fromMs, toMs) + pending;
  }

  /** The total charges of a level, including unwritten ones. */
  chargedEver(levelId: string): Nanos {
    return this.#budgets.chargedEver(levelId) + this.#sums.pendingCharge(levelId, () => true);
  }

  /** The steps of a sliding window, including unwritten ones. A step may appear twice; both parts count. */
  windowSteps(levelId: string, windowS: number): Step[] {
    return [...this.#budgets.steps(levelId, windowS), ...this.#steps.pending(levelId, windowS)];
  }

  openHolds(): HoldRow[] {
    const rows = this.#database
      .prepare(`SELECT ${names(HOLD.columns)} FROM holds`)
      .safeIntegers()
      .raw()
      .all() as Value[][];
    return rows.map((row) =>
      HOLD.record(row.map((value, at) => (HOLD.columns[at]?.type === 'number' ? Number(value) : value))),
    );
  }

  /** The requests that ended at `sinceMs` or later. Reads the journal from its end, so its length does not matter. */
  recent(sinceMs: number): RecentEntry[] {
    const rows = this.#database
      .prepare(
        'SELECT key_id, levels, admitted_at_ms, settled_at_ms, prompt_tokens + completion_tokens AS tokens FROM journal ORDER BY id DESC',
      )
      .iterate() as IterableIterator<RecentRow>;
    const recent: RecentEntry[] = [];
    for (const row of rows) {
      if (row.settled_at_ms < sinceMs) break;
      recent.push({
        keyId: row.key_id,
        admittedAtMs: row.admitted_at_ms,
        settledAtMs: row.settled_at_ms,
        tokens: row.tokens,
        levels: LEVELS.full(row.levels),
      });
    }
    return recent;
  }
}

function placeOf(column: string): number {
  return SETTLEMENT.columns.findIndex(({ name }) => name === column);
}
