/** Inserts rows of which most columns are NULL. Binds only the other columns: a bound value costs as much as storing it. */
import type { Column, Value } from '../../core/layout.ts';
import type { Sqlite, Statement } from './database.ts';

/** Maximum number of prepared statements. Usual rows need a few. */
const MOST_STATEMENTS = 100;

export class RowWriter {
  readonly #database: Sqlite;
  readonly #table: string;
  readonly #columns: readonly Column[];
  /** By a number with a bit for each bound column. */
  readonly #statements = new Map<number, Statement>();

  /** `columns`: at most 31. All other columns of the table get their defaults. */
  constructor(database: Sqlite, table: string, columns: readonly Column[]) {
    this.#database = database;
    this.#table = table;
    this.#columns = columns;
  }

  /** Inserts a row. `values`: one for each column, in their order. */
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
