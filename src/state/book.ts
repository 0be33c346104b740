/** The operator's book: what commands and dashboard do with keys, account, usage and requests, in either store. */
import { AccountBook } from './account.ts';
import { HistoryBook } from './history.ts';
import { KeyBook } from './keys.ts';
import type { Dialect, Operation } from './operation.ts';
import { RequestBook } from './requests.ts';
import { UsageBook } from './usage.ts';

interface Parts {
  readonly keys: KeyBook;
  readonly account: AccountBook;
  readonly usage: UsageBook;
  readonly requests: RequestBook;
  readonly history: HistoryBook;
}

/** The methods of a part, each of which takes its time. */
type PartLater<Part> = {
  readonly [Name in keyof Part]: Part[Name] extends (...args: infer Arguments) => Operation<infer Result>
    ? (...args: Arguments) => Promise<Result>
    : never;
};

type PartAtOnce<Part> = {
  readonly [Name in keyof Part]: Part[Name] extends (...args: infer Arguments) => Operation<infer Result>
    ? (...args: Arguments) => Result
    : never;
};

export type Book = { readonly [Name in keyof Parts]: PartLater<Parts[Name]> };
export type BookAtOnce = { readonly [Name in keyof Parts]: PartAtOnce<Parts[Name]> };

export function openBook(dialect: Dialect, carryOut: <T>(operation: Operation<T>) => Promise<T>): Book {
  return carriedOut(dialect, carryOut) as Book;
}

export function openBookAtOnce(dialect: Dialect, carryOut: <T>(operation: Operation<T>) => T): BookAtOnce {
  return carriedOut(dialect, carryOut) as BookAtOnce;
}

function carriedOut(dialect: Dialect, carryOut: (operation: Operation<unknown>) => unknown): object {
  const parts: Parts = {
    keys: new KeyBook(dialect),
    account: new AccountBook(dialect),
    usage: new UsageBook(dialect),
    requests: new RequestBook(dialect),
    history: new HistoryBook(dialect),
  };
  const methodsOf = (part: object) =>
    Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(part))).map(
      ([name, { value }]) => [name, (...args: unknown[]) => carryOut(value.apply(part, args))] as const,
    );
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, Object.fromEntries(methodsOf(part))]));
}
