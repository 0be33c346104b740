/** Cycles through a list of choices. Pure. */

export function after<T>(list: readonly T[], item: T): T {
  return list[(list.indexOf(item) + 1) % list.length] as T;
}

export function before<T>(list: readonly T[], item: T): T {
  return list[(list.indexOf(item) + list.length - 1) % list.length] as T;
}
