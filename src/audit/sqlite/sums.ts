/** Sums by key, model and source from the journal, compared with the sums stored in the file. */
import type { Row } from '../checks.ts';
import type { Sqlite } from '../open.ts';
import { FIGURES, NAMES, SUM_COLUMNS, SUMS, type SumFigures, sumDifferences } from '../rows.ts';

type SumRow = Readonly<Record<(typeof NAMES)[number], string>> & SumFigures;

/**
 * The sums of one period, in a temporary table: comparing whole tables in SQLite takes a tenth of
 * the time of reading their rows.
 */
export class Sums {
  readonly #database: Sqlite;
  readonly #table: string;
  /** The table with the stored sums, and its column for the period. */
  readonly #stored: string;
  readonly #period: string;

  constructor(database: Sqlite, table: string, stored: string, period: string) {
    this.#database = database;
    this.#table = `temp.${table}`;
    this.#stored = stored;
    this.#period = period;
    database.exec(
      `CREATE TEMP TABLE ${table} (${SUM_COLUMNS},
         PRIMARY KEY (key_id, model, source)) WITHOUT ROWID`,
    );
  }

  clear(): void {
    this.#database.exec(`DELETE FROM ${this.#table}`);
  }

  /** Adds the rows of a query with the columns in SUM_COLUMNS. */
  add(query: string, ...parameters: (string | number)[]): void {
    const additions = FIGURES.map((figure) => `${figure} = ${figure} + excluded.${figure}`).join(', ');
    this.#database
      .prepare(
        `INSERT INTO ${this.#table} (${SUM_COLUMNS}) SELECT ${SUM_COLUMNS} FROM (${query}) WHERE true
           ON CONFLICT DO UPDATE SET ${additions}`,
      )
      .run(...parameters);
  }

  addAll(other: Sums): void {
    this.add(`SELECT ${SUM_COLUMNS} FROM ${other.#table}`);
  }

  storedRows(period: string): number {
    const sql = `SELECT count(*) AS rows FROM (${this.#storedSums()})`;
    return Number(this.#database.prepare<unknown[], Row>(sql).get(period)?.rows);
  }

  /** Differences between stored and expected sums of a period: wrong, missing, or without a row in the journal. */
  differences(period: string): string[] {
    const expected = `SELECT ${SUM_COLUMNS} FROM ${this.#table}`;
    const stored = this.#storedSums();
    const inJournal = this.#byName(`${expected} EXCEPT ${stored}`, period);
    const inFile = this.#byName(`${stored} EXCEPT ${expected}`, period);
    const missing = [...inJournal.keys()].filter((name) => !inFile.has(name));
    return [
      ...[...inFile].flatMap(([name, row]) => sumDifferences(`${period} ${name}`, row, inJournal.get(name))),
      ...missing.flatMap((name) => sumDifferences(`${period} ${name}`, undefined, inJournal.get(name))),
    ];
  }

  /** Grouped, because a day has several rows if requests of one key were booked to several groups. */
  #storedSums(): string {
    const names = NAMES.join(', ');
    return `SELECT ${names}, ${SUMS} FROM ${this.#stored} WHERE ${this.#period} = ? GROUP BY ${names}`;
  }

  #byName(sql: string, period: string): Map<string, SumRow> {
    const rows = this.#database.prepare(sql).all(period) as unknown as SumRow[];
    return new Map(rows.map((row) => [NAMES.map((name) => row[name]).join(' '), row]));
  }
}
