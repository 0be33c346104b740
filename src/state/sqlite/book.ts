/** The operator's book in a state file: its operations, carried out at once. */
import { type BookAtOnce, openBookAtOnce } from '../book.ts';
import type { Dialect, Operation, Values } from '../operation.ts';
import type { Row } from '../rows.ts';
import { immediately, type Sqlite } from './database.ts';
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
  const statement = database.prepare(text.replaceAll('inf_gw.', ''));
  const parameters = Object.fromEntries(values.map((value, index) => [index + 1, parameterOf(value)]));
  if (statement.reader) return statement.safeIntegers().all(parameters) as Row[];
  statement.run(parameters);
  return [];
}

function parameterOf(value: Values[number]): unknown {
  if (typeof value === 'number') return BigInt(value);
  return Array.isArray(value) ? JSON.stringify(value) : value;
}
