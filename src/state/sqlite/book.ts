/** The operator's book for a state file; operations run synchronously. */
import { type BookAtOnce, openBookAtOnce } from '../book.ts';
import type { Dialect, Operation, Values } from '../operation.ts';
import type { Row } from '../rows.ts';
import { immediately, type Sqlite, type Statement } from './database.ts';
import { ADMISSION_DAY, ADMISSION_MONTH } from './sql.ts';

export const DIALECT: Dialect = {
  isShared: false,
  forUpdate: '',
  admissionDay: ADMISSION_DAY,
  admissionMonth: ADMISSION_MONTH,
  least: 'min',
  greatest: 'max',
  jsonArray: 'json_group_array',
  jsonObject: 'json_object',
  textsIn: (column) => `json_each(${column})`,
  isAnyOf: (column, parameter) => `${column} IN (SELECT value FROM json_each(${parameter}))`,
};

/** More statements than the ledger uses; the CLI and the TUI build some dynamically. */
const MOST_STATEMENTS = 100;
const STATEMENTS = new WeakMap<Sqlite, Map<string, Statement>>();

/** The book on an open state file. */
export function bookOf(database: Sqlite): BookAtOnce {
  return openBookAtOnce(DIALECT, (operation) => carryOut(database, operation));
}

export function carryOut<T>(database: Sqlite, operation: Operation<T>): T {
  let step = operation.next();
  while (step.done !== true) {
    const asked = step.value;
    const answer =
      'work' in asked
        ? immediately(database, () => carryOut(database, asked.work))
        : rowsOf(database, asked.text, asked.values);
    step = operation.next(answer);
  }
  return step.value;
}

/** Binds numbers as integers, so that SQLite uses integer division. */
function rowsOf(database: Sqlite, text: string, values: Values): Row[] {
  const statement = preparedFor(database, text);
  const parameters = Object.fromEntries(values.map((value, index) => [index + 1, parameterOf(value)]));
  if (statement.reader) return statement.all(parameters) as Row[];
  statement.run(parameters);
  return [];
}

/**
 * Caches prepared statements: the ledger reads an end user's limits whenever they are not in memory, and preparing takes
 * longer than reading.
 */
function preparedFor(database: Sqlite, text: string): Statement {
  const prepared = STATEMENTS.get(database) ?? new Map<string, Statement>();
  STATEMENTS.set(database, prepared);
  let statement = prepared.get(text);
  if (statement === undefined) {
    statement = database.prepare(text.replaceAll('inf_gw.', ''));
    if (statement.reader) statement.safeIntegers();
    if (prepared.size >= MOST_STATEMENTS) prepared.clear();
    prepared.set(text, statement);
  }
  return statement;
}

function parameterOf(value: Values[number]): unknown {
  if (typeof value === 'number') return BigInt(value);
  return Array.isArray(value) ? JSON.stringify(value) : value;
}
