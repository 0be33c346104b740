/** Collects what a translation meets in a request that the host's dialect cannot say. */
import { isObject } from '../core/json.ts';
import { printableName } from '../core/printable.ts';
import type { Fields } from '../dialects/dialect.ts';
import type { Said } from './request.ts';

/** For what has no counterpart at all. */
export const UNSAYABLE = 'not translated for the provider of this model, which speaks another dialect; leave it out';

/** The most unknown names in the header about them. */
const MOST_UNKNOWN = 8;
/** A name that a header may hold, and not a long one. */
const PLAIN_NAME = /^[\w.-]{1,64}$/;

const FULL_DETAILS: readonly unknown[] = [undefined, 'auto', 'high', 'original'];

export class Findings {
  #problem: string | undefined;
  readonly #ignored = new Set<string>();
  #unknown = 0;

  /** The first problem, as `n: …`. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The names of fields that are left out. */
  get ignored(): readonly string[] {
    return [...this.#ignored];
  }

  refuse(where: string, what: string): void {
    this.#problem ??= `${where}: ${what}`;
  }

  ignore(name: string): void {
    this.#ignored.add(name);
  }

  /** Leaves out how much of an image is to be seen, at a host that sees as much of it as it can. */
  ignoreDetail({ value, field }: Said<unknown>): void {
    if (!FULL_DETAILS.includes(value)) this.ignore(field);
  }

  /** The values of a list, of which the host takes so many at most. */
  atMost(most: number, list: Said<readonly unknown[]> | undefined): readonly unknown[] | undefined {
    if (list !== undefined && list.value.length > most) this.refuse(list.field, `this model takes at most ${most}`);
    return list?.value;
  }

  /** The host's name of a tier. Undefined for none, and for one that it does not have, which is refused. */
  tier(tiers: ReadonlyMap<unknown, string | undefined>, tier: unknown): string | undefined {
    if (tier !== undefined && !tiers.has(tier)) {
      this.refuse('service_tier', `expected one of ${[...tiers.keys()].join(', ')}`);
    }
    return tiers.get(tier);
  }

  /** Leaves out a field that nobody knows. Its name, which the sender has chosen, may be none to show. */
  ignoreUnknown(scope: string, name: string): void {
    const full = `${scope}.${name}`;
    if (this.#ignored.has(full)) return;
    const isShown = PLAIN_NAME.test(name) && this.#unknown < MOST_UNKNOWN;
    this.ignore(isShown ? full : `${scope}.*`);
    if (isShown) this.#unknown++;
  }

  /**
   * Refuses every field of an object that is not known: it could change the meaning or the price.
   * `where`: empty for the body.
   */
  expectOnly(known: ReadonlySet<string>, fields: Fields, where: string): void {
    for (const [name, value] of Object.entries(fields)) {
      if (known.has(name) || saysNothing(value)) continue;
      this.refuse(where === '' ? printableName(name) : `${where}.${printableName(name)}`, UNSAYABLE);
    }
  }

  /** The value if it is a string; otherwise a problem, and an empty string. */
  text(value: unknown, where: string): string {
    if (typeof value === 'string') return value;
    this.refuse(where, 'expected a string');
    return '';
  }

  /** Undefined if the field is absent or refused. */
  flag(value: unknown, where: string): boolean | undefined {
    if (typeof value === 'boolean') return value;
    if (value !== undefined && value !== null) this.refuse(where, 'expected true or false');
    return undefined;
  }

  /** Undefined if the field is absent or refused. */
  object(value: unknown, where: string): Fields | undefined {
    if (isObject(value)) return value;
    if (value !== undefined && value !== null) this.refuse(where, 'expected an object');
    return undefined;
  }

  /** Empty if the field is absent or refused. */
  array(value: unknown, where: string): readonly unknown[] {
    if (Array.isArray(value)) return value;
    if (value !== undefined && value !== null) this.refuse(where, 'expected an array');
    return [];
  }
}

/** Client libraries give these back for what an answer did not have, or write them for what they do not use. */
export function saysNothing(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

/** The fields that say something. */
export function present(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}
