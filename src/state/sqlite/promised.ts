/** Lets synchronous operations be used where others take time: each returns a promise. */

/** The methods of `T`, returning promises. */
export type Promised<T> = {
  readonly [Name in keyof T]: T[Name] extends (...args: infer Arguments) => infer Result
    ? (...args: Arguments) => Promise<Result>
    : never;
};

/** A method that throws becomes one that rejects. */
export function promised<T extends object>(store: T): Promised<T> {
  const methods = Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(store))).map(
    ([name, { value }]) => [name, async (...args: unknown[]) => value.apply(store, args)] as const,
  );
  return Object.fromEntries(methods) as Promised<T>;
}
