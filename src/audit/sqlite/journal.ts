/**
 * Reads the journal day by day: checks each row, and compares the sums of each day and month with
 * those stored.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { DAY_MS } from '../../core/clock.ts';
import { Differences, type JournalFindings } from '../checks.ts';
import { faultColumns, IS_INVALID, rowDifferences, SUM_COLUMNS, SUMS_OF_ROWS } from '../rows.ts';
import { Sums } from './sums.ts';

const SUMS_OF_JOURNAL = `SELECT key_id, model, source, ${SUMS_OF_ROWS}
  FROM journal WHERE admitted_at_ms >= ? AND admitted_at_ms < ? GROUP BY key_id, model, source`;
const SUMS_OF_SEALS = `SELECT ${SUM_COLUMNS} FROM sealed_days WHERE day = ?`;

/** Holds the sums of one day and one month in memory at a time. */
export class JournalWalk {
  readonly #database: DatabaseSync;
  readonly #ofDay: Sums;
  readonly #ofMonth: Sums;
  readonly #invalidRows: StatementSync;
  #rows = 0;
  #sealedRows = 0;
  #dayRows = 0;
  #monthRows = 0;
  #costNanos = 0n;
  readonly #differences = new Differences();
  readonly #dayDifferences = new Differences();
  readonly #monthDifferences = new Differences();

  constructor(database: DatabaseSync) {
    this.#database = database;
    database.exec('PRAGMA temp_store = MEMORY');
    this.#ofDay = new Sums(database, 'of_day', 'usage_days', 'day');
    this.#ofMonth = new Sums(database, 'of_month', 'usage_months', 'month');
    this.#invalidRows = database.prepare(
      `SELECT request_id, ${faultColumns((condition) => condition)} FROM journal
       WHERE admitted_at_ms >= ? AND admitted_at_ms < ? AND (${IS_INVALID})`,
    );
  }

  run(onProgress: (read: number) => void): JournalFindings {
    let month: string | undefined;
    for (const day of this.#days()) {
      if (month !== undefined && !day.startsWith(month)) this.#closeMonth(month);
      month = day.slice(0, 7);
      this.#day(day);
      onProgress(this.#rows);
    }
    if (month !== undefined) this.#closeMonth(month);
    this.#strayMonths();
    return {
      rows: this.#rows,
      sealedRows: this.#sealedRows,
      dayRows: this.#dayRows,
      monthRows: this.#monthRows,
      rowDifferences: this.#differences,
      dayDifferences: this.#dayDifferences,
      monthDifferences: this.#monthDifferences,
      costNanos: this.#costNanos,
    };
  }

  /** Every day in the journal, the sums or the sealed days, in order. */
  #days(): string[] {
    const days = new Set(
      this.#all('SELECT DISTINCT day FROM usage_days UNION SELECT day FROM sealed_days').map(({ day }) => String(day)),
    );
    const next = this.#database.prepare('SELECT min(admitted_at_ms) AS at FROM journal WHERE admitted_at_ms >= ?');
    for (let from = Number.MIN_SAFE_INTEGER; ; ) {
      const at = (next.get(from) as { at: bigint | null }).at;
      if (at === null) break;
      const dayStart = Math.floor(Number(at) / DAY_MS) * DAY_MS;
      days.add(new Date(dayStart).toISOString().slice(0, 10));
      from = dayStart + DAY_MS;
    }
    return [...days].toSorted();
  }

  #day(day: string): void {
    const from = Date.parse(`${day}T00:00:00Z`);
    this.#ofDay.clear();
    this.#ofDay.add(SUMS_OF_JOURNAL, from, from + DAY_MS);
    this.#ofDay.add(SUMS_OF_SEALS, day);
    this.#ofMonth.addAll(this.#ofDay);
    this.#count(day);
    this.#dayRows += this.#ofDay.storedRows(day);
    this.#dayDifferences.add(this.#ofDay.differences(day));
    for (const row of this.#invalidRows.all(from, from + DAY_MS)) this.#differences.add(rowDifferences(row));
  }

  /** Adds a day's rows and costs to the totals. */
  #count(day: string): void {
    const [ofDay] = this.#all(
      'SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(cost_nanos), 0) AS cost_nanos FROM temp.of_day',
    );
    const sealed = this.#database
      .prepare('SELECT coalesce(sum(requests), 0) AS requests FROM sealed_days WHERE day = ?')
      .get(day);
    this.#rows += Number(ofDay?.requests) - Number(sealed?.requests);
    this.#sealedRows += Number(sealed?.requests);
    this.#costNanos += ofDay?.cost_nanos as bigint;
  }

  #closeMonth(month: string): void {
    this.#monthRows += this.#ofMonth.storedRows(month);
    this.#monthDifferences.add(this.#ofMonth.differences(month));
    this.#ofMonth.clear();
  }

  /** Compares the stored sums of months that have no day. */
  #strayMonths(): void {
    const strays = this.#all(
      `SELECT DISTINCT month FROM usage_months WHERE month NOT IN
         (SELECT DISTINCT substr(day, 1, 7) FROM usage_days UNION SELECT substr(day, 1, 7) FROM sealed_days)`,
    );
    for (const { month } of strays) this.#closeMonth(String(month));
  }

  #all(sql: string): Record<string, unknown>[] {
    return this.#database.prepare(sql).all();
  }
}
