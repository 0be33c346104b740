/** Collects the untranslatable parts of a request: one problem, and ignored fields. */
import { isObject } from '../core/json.ts';
import { printableName } from '../core/printable.ts';
import type { Fields } from '../dialects/dialect.ts';
import type { Sourced } from './request.ts';

/** Error text for fields without an equivalent. */
export const UNTRANSLATABLE =
  'not translated for the provider of this model, which speaks another dialect; leave it out';

/** Maximum number of unknown field names in the response header. */
const MOST_UNKNOWN = 8;
/** Names that are short and safe in a header. */
const PLAIN_NAME = /^[\w.-]{1,64}$/;

const FULL_DETAILS: readonly unknown[] = [undefined, 'auto', 'high', 'original'];

export class Findings {
  #problem: string | undefined;
  readonly #ignored = new Set<string>();
  #unknown = 0;

  /** The first problem, such as `n: …`. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Names of ignored fields. */
  get ignored(): readonly string[] {
    return [...this.#ignored];
  }

  refuse(where: string, what: string): void {
    this.#problem ??= `${where}: ${what}`;
  }

  ignore(name: string): void {
    this.#ignored.add(name);
  }

  /** Ignores the detail level of an image, at a host that always uses full detail. */
  ignoreDetail({ value, field }: Sourced<unknown>): void {
    if (!FULL_DETAILS.includes(value)) this.ignore(field);
  }

  /** Returns a list, which may have at most `most` entries. */
  atMost(most: number, list: Sourced<readonly unknown[]> | undefined): readonly unknown[] | undefined {
    if (list !== undefined && list.value.length > most) this.refuse(list.field, `this model takes at most ${most}`);
    return list?.value;
  }

  /** Returns the host's name of a tier. Undefined without a tier; an unknown tier is refused. */
  tier(tiers: ReadonlyMap<unknown, string | undefined>, tier: unknown): string | undefined {
    if (tier !== undefined && !tiers.has(tier)) {
      this.refuse('service_tier', `expected one of ${[...tiers.keys()].join(', ')}`);
    }
    return tiers.get(tier);
  }

  /** Ignores an unknown field. Its name comes from the sender, so it may be unsafe to show. */
  ignoreUnknown(scope: string, name: string): void {
    const full = `${scope}.${name}`;
    if (this.#ignored.has(full)) return;
    const isShown = PLAIN_NAME.test(name) && this.#unknown < MOST_UNKNOWN;
    this.ignore(isShown ? full : `${scope}.*`);
    if (isShown) this.#unknown++;
  }

  /** Refuses unknown fields, which could change the meaning or the price. `where`: empty for the body. */
  expectOnly(known: ReadonlySet<string>, fields: Fields, where: string): void {
    for (const [name, value] of Object.entries(fields)) {
      if (known.has(name) || isEmptyValue(value)) continue;
      this.refuse(where === '' ? printableName(name) : `${where}.${printableName(name)}`, UNTRANSLATABLE);
    }
  }

  /** Returns a string. Other values are a problem. */
  text(value: unknown, where: string): string {
    if (typeof value === 'string') return value;
    this.refuse(where, 'expected a string');
    return '';
  }

  /** Returns a boolean; undefined if absent or refused. */
  flag(value: unknown, where: string): boolean | undefined {
    if (typeof value === 'boolean') return value;
    if (value !== undefined && value !== null) this.refuse(where, 'expected true or false');
    return undefined;
  }

  /** Returns an object; undefined if absent or refused. */
  object(value: unknown, where: string): Fields | undefined {
    if (isObject(value)) return value;
    if (value !== undefined && value !== null) this.refuse(where, 'expected an object');
    return undefined;
  }

  /** Returns an array; empty if absent or refused. */
  array(value: unknown, where: string): readonly unknown[] {
    if (Array.isArray(value)) return value;
    if (value !== undefined && value !== null) this.refuse(where, 'expected an array');
    return [];
  }
}

/** Whether a value is empty. Client libraries send such values for unused fields. */
export function isEmptyValue(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

/** Removes absent fields. */
export function present(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}
