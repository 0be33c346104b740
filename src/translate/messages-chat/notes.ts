/** Collects what chat completions cannot say while a messages request is translated. */
import { isObject } from '../../core/json.ts';
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { Findings, UNSAYABLE } from '../findings.ts';

export class Notes extends Findings {
  /** An object, or undefined if the field is absent or refused. */
  object(value: unknown, where: string): Fields | undefined {
    if (isObject(value)) return value;
    if (value !== undefined && value !== null) this.refuse(where, 'expected an object');
    return undefined;
  }

  /** An array, empty if the field is absent or refused. */
  array(value: unknown, where: string): readonly unknown[] {
    if (Array.isArray(value)) return value;
    if (value !== undefined && value !== null) this.refuse(where, 'expected an array');
    return [];
  }

  /**
   * Refuses whatever an object says beyond the known fields. Markers of the prompt cache may stand
   * in all of them, and only save money. `where`: empty for the body.
   */
  allow(known: readonly string[], fields: Fields, where: string): void {
    for (const [name, value] of Object.entries(fields)) {
      if (known.includes(name) || saysNothing(value)) continue;
      const path = where === '' ? printableName(name) : `${where}.${printableName(name)}`;
      if (name === 'cache_control') this.ignore(name);
      else this.refuse(path, UNSAYABLE);
    }
  }
}

/** The fields that say something. */
export function present(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}

/** Clients write these for fields that they do not use. */
function saysNothing(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}
