/** The operator's book in a state file: its operations, carried out at once. */
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

/** More than the ledger ever asks; commands and the dashboard put some together. */
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

/** Numbers are given as integers, so that SQLite divides them as such. */
function rowsOf(database: Sqlite, text: string, values: Values): Row[] {
  const statement = preparedFor(database, text);
  const parameters = Object.fromEntries(values.map((value, index) => [index + 1, parameterOf(value)]));
  if (statement.reader) return statement.all(parameters) as Row[];
  statement.run(parameters);
  return [];
}

/** The ledger asks for an end user's limits with each that it has not in memory: to prepare that takes longer than to read it. */
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
