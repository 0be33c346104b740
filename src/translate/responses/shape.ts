/** Lists of known and ignored fields of an object. */
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import type { Findings } from '../findings.ts';

export interface Shape {
  /** Prefix of ignored field names, such as `tools`. */
  readonly scope: string;
  /** Translated fields, and fields without an effect on the answer. */
  readonly known: ReadonlySet<string>;
  readonly ignored: ReadonlySet<string>;
}

/** `known`, `ignored`: names separated by blanks. */
export function shapeOf(scope: string, known: string, ignored?: string): Shape {
  return { scope, known: new Set(known.split(' ')), ignored: new Set(ignored?.split(' ')) };
}

/** Reports ignored fields and refuses unknown ones. */
export function expectShape(shape: Shape, fields: Fields, where: string, findings: Findings): void {
  const { scope, known, ignored } = shape;
  for (const name of Object.keys(fields)) {
    if (known.has(name)) continue;
    const value = fields[name];
    if (!ignored.has(name)) findings.expectOnly(known, { [name]: value }, where);
    else if (!isUnset(value)) findings.ignore(`${scope}.${name}`);
  }
}

/** Returns the type of an item, part or tool for messages. */
export function shownType({ type }: Fields): string {
  return typeof type === 'string' ? printableName(type) : 'a type that is no string';
}

/** Whether a value is empty. Client libraries send such values by default. */
export function isUnset(value: unknown): boolean {
  if (value === undefined || value === null || value === false) return true;
  return Array.isArray(value) && value.length === 0;
}
