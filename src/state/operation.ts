/**
 * Operations on the state, written once for both stores. An operation is a generator that yields statements; the store
 * runs them. SQLite runs them synchronously, as the ledger requires; PostgreSQL asynchronously.
 */
import type { Nanos } from '../core/money.ts';
import type { Row } from './rows.ts';

/** Arrays are parameters of {@link Dialect.isAnyOf}. */
export type Values = readonly (string | number | bigint | null | readonly string[])[];

/** A statement in PostgreSQL syntax, with parameters from `$1` on. For SQLite the schema prefix `inf_gw` is removed. */
interface Statement {
  readonly text: string;
  readonly values: Values;
}

/** Committed as a whole or rolled back. */
interface Transaction {
  readonly work: Operation<unknown>;
}

export type Operation<Result> = Generator<Statement | Transaction, Result, unknown>;

/** Runs a statement and returns its rows. */
export function* rows(text: string, values: Values = []): Operation<Row[]> {
  return (yield { text, values }) as Row[];
}

/** Runs `work` in a transaction. Transactions cannot be nested. */
export function* transaction<Result>(work: Operation<Result>): Operation<Result> {
  return (yield { work }) as Result;
}

/** The methods of a part, made asynchronous. */
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

/** The differences between the two stores. */
export interface Dialect {
  /**
   * Whether several gateways share the state. If so, rows of requests record their gateway, keys and the account record
   * their open holds, hold times are in microseconds, and long reads do not block this process.
   */
  readonly isShared: boolean;
  /** Row lock at the end of a SELECT, held until the transaction ends. SQLite has a single writer and needs no lock. */
  readonly forUpdate: '' | 'FOR UPDATE';
  /** Expressions for the UTC day and month of a journal row's admission. */
  readonly admissionDay: string;
  readonly admissionMonth: string;
  /** The functions for the smallest and the largest of several integers. */
  readonly least: string;
  readonly greatest: string;
  /** The aggregate that builds a JSON array, and the function that builds a JSON object. */
  readonly jsonArray: string;
  readonly jsonObject: string;
  /** Expands a column with a JSON array of texts into rows with a `value`; NULL yields no rows. */
  textsIn(column: string): string;
  /** Whether a column equals one of the texts of a parameter. */
  isAnyOf(column: string, parameter: string): string;
}

/** Stops the decisions of all gateways until the transaction ends. */
export function* stopDecisions({ isShared }: Dialect): Operation<void> {
  if (isShared) yield* rows('SELECT FROM inf_gw.lock_account()');
}

/**
 * The facts that gateways of a shared state know about some keys, read before an edit. Gateways decide no requests until
 * the edit ends.
 */
export function* factsBefore({ isShared }: Dialect, keyIds: readonly string[]): Operation<string | null> {
  if (!isShared) return null;
  const [row] = yield* rows('SELECT inf_gw.facts_before($1) AS facts', [keyIds]);
  return row?.facts as string | null;
}

/** An edit: the keys it changed, the earlier facts about them, and the amount it added to the account. */
export interface Edit {
  readonly keyIds: readonly string[];
  readonly before: string | null;
  readonly addedNanos: Nanos;
}

/**
 * Logs an edit as the last step of its transaction. Gateways that share a state apply it in log order, and a gateway that
 * starts to follow the log can reconstruct the state before it. The gateway of a SQLite file detects the change without a
 * log entry.
 */
export function* logEdit({ isShared }: Dialect, { keyIds, before, addedNanos }: Edit): Operation<void> {
  if (isShared) yield* rows('SELECT inf_gw.log_edit($1, $2, $3)::text', [keyIds, before, addedNanos]);
}

/** Changes stored levels. Gateways decide no requests until the transaction ends, and every gateway receives the change. */
export function* edited(dialect: Dialect, keyIds: readonly string[], write: Operation<unknown>): Operation<void> {
  const before = yield* factsBefore(dialect, keyIds);
  yield* write;
  yield* logEdit(dialect, { keyIds, before, addedNanos: 0n });
}
