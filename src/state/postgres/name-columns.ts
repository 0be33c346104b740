/** Who the settled requests of a batch were for, as the database takes it: arrays, one for each column. */

/** Of the requests that say so. */
export interface NameColumns {
  readonly id: string[];
  readonly admittedAtMs: number[];
  readonly user: string[];
  readonly tag: string[];
  readonly app: string[];
}

export function noNames(): NameColumns {
  return { id: [], admittedAtMs: [], user: [], tag: [], app: [] };
}

/** The arguments of `enter_names` after the requests that have ended, in their order; none if no request has a name. */
export function nameArgumentsOf(names: NameColumns): unknown[] {
  return names.id.length === 0 ? [] : Object.values(names);
}
