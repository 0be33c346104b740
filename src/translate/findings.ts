/** Collects what a translation meets in a request that the host's dialect cannot say. */
import { printableName } from '../core/printable.ts';
import type { Fields } from '../dialects/dialect.ts';

/** For what has no counterpart at all. */
export const UNSAYABLE = 'the provider of this model has no such field; leave it out';

export class Findings {
  #problem: string | undefined;
  readonly #ignored = new Set<string>();

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

  /** Refuses every field of an object that is not known: it could change the meaning or the price. */
  expectOnly(known: ReadonlySet<string>, fields: Fields, where: string): void {
    for (const [name, value] of Object.entries(fields)) {
      if (!known.has(name) && !saysNothing(value)) this.refuse(`${where}.${printableName(name)}`, UNSAYABLE);
    }
  }

  /** The value if it is a string; otherwise a problem, and an empty string. */
  text(value: unknown, where: string): string {
    if (typeof value === 'string') return value;
    this.refuse(where, 'expected a string');
    return '';
  }
}

/** Client libraries give these back for what an answer did not have. */
function saysNothing(value: unknown): boolean {
  return value === null || (Array.isArray(value) && value.length === 0);
}
