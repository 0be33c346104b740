/** Inserts rows in which most columns are NULL. Binds only the others: binding a value costs as much as storing it. */
import type { Column, Value } from '../../core/layout.ts';
import type { Sqlite, Statement } from './database.ts';

/** Maximum number of prepared statements. Usual rows need a few. */
const MOST_STATEMENTS = 100;

export class RowWriter {
  readonly #database: Sqlite;
  readonly #table: string;
  readonly #columns: readonly Column[];
  /** Keyed by a bit mask of the bound columns. */
  readonly #statements = new Map<number, Statement>();

  /** Accepts up to 31 columns. The remaining columns of the table get their defaults. */
  constructor(database: Sqlite, table: string, columns: readonly Column[]) {
    this.#database = database;
    this.#table = table;
    this.#columns = columns;
  }

  /** Inserts a row; `values` in the order of the columns. */
  insert(values: readonly Value[]): void {
    const bound: Value[] = [];
    let bits = 0;
    for (let at = 0; at < values.length; at++) {
      const value = values[at] as Value;
      if (value === null) continue;
      bits |= 1 << at;
      bound.push(value);
    }
    this.#statementFor(bits).run(bound);
  }

  #statementFor(bits: number): Statement {
    let statement = this.#statements.get(bits);
    if (statement === undefined) {
      const names = this.#columns.filter((_, at) => (bits & (1 << at)) !== 0).map(({ name }) => name);
      const places = names.map(() => '?').join(', ');
      statement = this.#database.prepare(`INSERT INTO ${this.#table} (${names.join(', ')}) VALUES (${places})`);
      if (this.#statements.size >= MOST_STATEMENTS) this.#statements.clear();
      this.#statements.set(bits, statement);
    }
    return statement;
  }
}
