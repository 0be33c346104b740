/** Checks the journal day by day: each row, and the stored sums of each day and month. */
import { DAY_MS } from '../../core/clock.ts';
import { JournalFindings, type Row } from '../checks.ts';
import type { Sqlite, Statement } from '../open.ts';
import { faultColumns, IS_INVALID, rowDifferences, SUM_COLUMNS, SUMS_OF_ROWS } from '../rows.ts';
import { Sums } from './sums.ts';

const SUMS_OF_JOURNAL = `SELECT key_id, model, source, ${SUMS_OF_ROWS}
  FROM journal WHERE admitted_at_ms >= ? AND admitted_at_ms < ? GROUP BY key_id, model, source`;
const SUMS_OF_SEALS = `SELECT ${SUM_COLUMNS} FROM sealed_days WHERE day = ?`;

/** `days`: the start of each day with rows. `onProgress` gets the number of rows read. */
export function walkJournal(
  database: Sqlite,
  days: readonly number[],
  onProgress: (read: number) => void,
): JournalFindings {
  return new JournalWalk(database).run(days, onProgress);
}

/** Holds the sums of one day and one month in memory at a time. */
class JournalWalk {
  readonly #database: Sqlite;
  readonly #ofDay: Sums;
  readonly #ofMonth: Sums;
  readonly #invalidRows: Statement;
  readonly #found = new JournalFindings();

  constructor(database: Sqlite) {
    this.#database = database;
    database.exec('PRAGMA temp_store = MEMORY');
    this.#ofDay = new Sums(database, 'of_day', 'usage_days', 'day');
    this.#ofMonth = new Sums(database, 'of_month', 'usage_months', 'month');
    this.#invalidRows = database.prepare(
      `SELECT request_id, ${faultColumns((condition) => condition)} FROM journal
       WHERE admitted_at_ms >= ? AND admitted_at_ms < ? AND (${IS_INVALID})`,
    );
  }

  run(days: readonly number[], onProgress: (read: number) => void): JournalFindings {
    let month: string | undefined;
    for (const day of this.#days(days)) {
      if (month !== undefined && !day.startsWith(month)) this.#closeMonth(month);
      month = day.slice(0, 7);
      this.#day(day);
      onProgress(this.#found.rows);
    }
    if (month !== undefined) this.#closeMonth(month);
    this.#strayMonths();
    return this.#found;
  }

  /** Every day in the journal, the sums or the sealed days, in order. */
  #days(ofJournal: readonly number[]): string[] {
    const summed = this.#all('SELECT DISTINCT day FROM usage_days UNION SELECT day FROM sealed_days');
    const days = ofJournal.map((dayStartMs) => new Date(dayStartMs).toISOString().slice(0, 10));
    return [...new Set([...days, ...summed.map(({ day }) => String(day))])].toSorted();
  }

  #day(day: string): void {
    const from = Date.parse(`${day}T00:00:00Z`);
    this.#ofDay.clear();
    this.#ofDay.add(SUMS_OF_JOURNAL, from, from + DAY_MS);
    this.#ofDay.add(SUMS_OF_SEALS, day);
    this.#ofMonth.addAll(this.#ofDay);
    this.#count(day);
    this.#found.dayRows += this.#ofDay.storedRows(day);
    this.#found.dayDifferences.add(this.#ofDay.differences(day));
    for (const row of this.#invalidRows.all(from, from + DAY_MS)) this.#found.rowDifferences.add(rowDifferences(row));
  }

  /** Adds a day's rows and costs to the totals. */
  #count(day: string): void {
    const [ofDay] = this.#all(
      'SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(cost_nanos), 0) AS cost_nanos FROM temp.of_day',
    );
    const sealed = this.#database
      .prepare<unknown[], Row>('SELECT coalesce(sum(requests), 0) AS requests FROM sealed_days WHERE day = ?')
      .get(day);
    this.#found.rows += Number(ofDay?.requests) - Number(sealed?.requests);
    this.#found.sealedRows += Number(sealed?.requests);
    this.#found.costNanos += ofDay?.cost_nanos as bigint;
  }

  #closeMonth(month: string): void {
    this.#found.monthRows += this.#ofMonth.storedRows(month);
    this.#found.monthDifferences.add(this.#ofMonth.differences(month));
    this.#ofMonth.clear();
  }

  /** Compares the stored sums of months without any day. */
  #strayMonths(): void {
    const strays = this.#all(
      `SELECT DISTINCT month FROM usage_months WHERE month NOT IN
         (SELECT DISTINCT substr(day, 1, 7) FROM usage_days UNION SELECT substr(day, 1, 7) FROM sealed_days)`,
    );
    for (const { month } of strays) this.#closeMonth(String(month));
  }

  #all(sql: string): Row[] {
    return this.#database.prepare<unknown[], Row>(sql).all();
  }
}
