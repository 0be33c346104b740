/**
 * What both stores do for operators, written once: an operation asks one statement after the other, and the store carries
 * it out. A file answers at once, as the ledger needs it, and a database later.
 */
import type { Nanos } from '../core/money.ts';
import type { Row } from './rows.ts';

/** An array is for {@link Dialect.isAnyOf}. */
export type Values = readonly (string | number | bigint | null | readonly string[])[];

/** As PostgreSQL reads it, with parameters from `$1` on. A file drops the schema of the tables, `inf_gw`. */
interface Statement {
  readonly text: string;
  readonly values: Values;
}

/** Everything or nothing. */
interface Transaction {
  readonly work: Operation<unknown>;
}

export type Operation<Result> = Generator<Statement | Transaction, Result, unknown>;

/** The rows that a statement returns. */
export function* rows(text: string, values: Values = []): Operation<Row[]> {
  return (yield { text, values }) as Row[];
}

/** Transactions do not contain others. */
export function* transaction<Result>(work: Operation<Result>): Operation<Result> {
  return (yield { work }) as Result;
}

/** The methods of a part, each of which takes its time. */
export type PartLater<Part> = {
  readonly [Name in keyof Part]: Part[Name] extends (...args: infer Arguments) => Operation<infer Result>
    ? (...args: Arguments) => Promise<Result>
    : never;
};

export type PartAtOnce<Part> = {
  readonly [Name in keyof Part]: Part[Name] extends (...args: infer Arguments) => Operation<infer Result>
    ? (...args: Arguments) => Result
    : never;
};

/** What the stores write differently. */
export interface Dialect {
  /**
   * Whether gateways share the state. Then requests know their gateway, and keys and the account what is open; times of
   * holds are in microseconds; and to read many rows keeps nobody here waiting.
   */
  readonly isShared: boolean;
  /** At the end of a SELECT: nobody else changes its rows until the transaction ends. A file has one writer at most. */
  readonly forUpdate: '' | 'FOR UPDATE';
  /** The UTC day, and the month, in which a row of the journal was admitted. */
  readonly admissionDay: string;
  readonly admissionMonth: string;
  /** The smallest, and the largest, of some integers. */
  readonly least: string;
  readonly greatest: string;
  /** The aggregate that makes an array of JSON, and the function that makes an object. */
  readonly jsonArray: string;
  readonly jsonObject: string;
  /** The texts of an array of JSON in a column, as rows with a `value`. None where it is NULL. */
  textsIn(column: string): string;
  /** Whether a column has one of the texts of a parameter. */
  isAnyOf(column: string, parameter: string): string;
}

/** Gateways decide nothing until the transaction ends. */
export function* stopDecisions({ isShared }: Dialect): Operation<void> {
  if (isShared) yield* rows('SELECT FROM inf_gw.lock_account()');
}

/** What gateways that share a state know of some keys before an edit of these. They decide nothing until that ends. */
export function* factsBefore({ isShared }: Dialect, keyIds: readonly string[]): Operation<string | null> {
  if (!isShared) return null;
  const [row] = yield* rows('SELECT inf_gw.facts_before($1) AS facts', [keyIds]);
  return row?.facts as string | null;
}

/** An edit: the keys that it has changed, what gateways knew of them before, and what it has added to the account. */
export interface Edit {
  readonly keyIds: readonly string[];
  readonly before: string | null;
  readonly addedNanos: Nanos;
}

/**
 * The last of a transaction that has changed something that gateways decide by: those that share a state hear of it in
 * the one order of all that they decide, and who begins to follow can tell what it was before. A file's own gateway
 * notices.
 */
export function* logEdit({ isShared }: Dialect, { keyIds, before, addedNanos }: Edit): Operation<void> {
  if (isShared) yield* rows('SELECT inf_gw.log_edit($1, $2, $3)::text', [keyIds, before, addedNanos]);
}

/** Changes what is stored of some levels. No gateway decides meanwhile, and each hears of it. */
export function* edited(dialect: Dialect, keyIds: readonly string[], write: Operation<unknown>): Operation<void> {
  const before = yield* factsBefore(dialect, keyIds);
  yield* write;
  yield* logEdit(dialect, { keyIds, before, addedNanos: 0n });
}
