/** The operator's book: the operations of the CLI and the TUI on keys, account, usage and requests, for both stores. */
import { AccountBook } from './account-book.ts';
import { GroupBook } from './group-book.ts';
import type { HistoryQuery, HistorySlice } from './history.ts';
import { KeyBook } from './key-book.ts';
import { LevelBook } from './level-book.ts';
import { type Dialect, type Operation, type PartAtOnce, type PartLater, rows } from './operation.ts';
import { RequestBook } from './request-book.ts';
import { historyOf } from './rows.ts';
import { HISTORY_COLUMNS } from './sql.ts';
import { UsageBook } from './usage-book.ts';

type Parts = {
  readonly keys: KeyBook;
  readonly groups: GroupBook;
  readonly levels: LevelBook;
  readonly account: AccountBook;
  readonly usage: UsageBook;
  readonly requests: RequestBook;
  readonly history: HistoryBook;
};

export type Book = { readonly [Name in keyof Parts]: PartLater<Parts[Name]> };
export type BookAtOnce = { readonly [Name in keyof Parts]: PartAtOnce<Parts[Name]> };

type CarryOut = <T>(operation: Operation<T>) => Promise<T>;
type CarryOutAtOnce = <T>(operation: Operation<T>) => T;

export function openBook(dialect: Dialect, carryOut: CarryOut): Book {
  return mapped(partsOf(dialect), (part) => methodsOf(part, carryOut)) as Book;
}

export function openBookAtOnce(dialect: Dialect, carryOut: CarryOutAtOnce): BookAtOnce {
  return mapped(partsOf(dialect), (part) => methodsOf(part, carryOut)) as BookAtOnce;
}

/** Opens a part that each store implements. */
export function openPart<Part extends object>(part: Part, carryOut: CarryOut): PartLater<Part> {
  return methodsOf(part, carryOut) as PartLater<Part>;
}

function partsOf(dialect: Dialect): Parts {
  return {
    keys: new KeyBook(dialect),
    groups: new GroupBook(dialect),
    levels: new LevelBook(dialect),
    account: new AccountBook(dialect),
    usage: new UsageBook(dialect),
    requests: new RequestBook(dialect),
    history: new HistoryBook(dialect),
  };
}

function methodsOf(part: object, carryOut: (operation: Operation<unknown>) => unknown): object {
  return mapped(
    methodsIn(part),
    ({ value }) =>
      (...args: unknown[]) =>
        carryOut(value.apply(part, args)),
  );
}

/** The methods of a part's class and of its base classes. */
function methodsIn(part: object): Record<string, PropertyDescriptor> {
  const prototype = Object.getPrototypeOf(part);
  if (prototype === Object.prototype) return {};
  return { ...methodsIn(prototype), ...Object.getOwnPropertyDescriptors(prototype) };
}

function mapped<Value>(record: Readonly<Record<string, Value>>, map: (value: Value) => unknown): object {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}

class HistoryBook {
  readonly #slice: string;

  constructor({ isShared }: Dialect) {
    // Rows of other gateways are left out only afterwards: a search past them would have no bound.
    const own = `, CASE WHEN coalesce(node_id = (SELECT id FROM inf_gw.nodes WHERE name = $5), true) THEN 'own' END AS own`;
    this.#slice = `SELECT ${HISTORY_COLUMNS}${isShared ? own : ''} FROM inf_gw.journal
      WHERE admitted_at_ms >= $1 AND (admitted_at_ms, id) < ($2, $3) ORDER BY admitted_at_ms DESC, id DESC LIMIT $4`;
  }

  /** The latest admissions before a journal position. */
  *slice({ sinceMs, before, node, limit }: HistoryQuery): Operation<HistorySlice> {
    return historyOf(yield* rows(this.#slice, [sinceMs, before.admittedAtMs, before.row, limit, node]), limit);
  }
}
