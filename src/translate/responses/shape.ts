/** Which fields of an object a translation knows, and which it leaves out by intent. */
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import type { Findings } from '../findings.ts';

export interface Shape {
  /** For the names of ignored fields, such as `tools`. */
  readonly scope: string;
  /** Translated, or without an effect on the answer. */
  readonly known: ReadonlySet<string>;
  readonly ignored: ReadonlySet<string>;
}

/** `known`, `ignored`: names, separated by blanks. */
export function shapeOf(scope: string, known: string, ignored?: string): Shape {
  return { scope, known: new Set(known.split(' ')), ignored: new Set(ignored?.split(' ')) };
}

/** Notes the fields that are left out, and refuses those that are unknown. */
export function expectShape(shape: Shape, fields: Fields, where: string, findings: Findings): void {
  const { scope, known, ignored } = shape;
  for (const name of Object.keys(fields)) {
    if (known.has(name)) continue;
    const value = fields[name];
    if (!ignored.has(name)) findings.expectOnly(known, { [name]: value }, where);
    else if (!isUnset(value)) findings.ignore(`${scope}.${name}`);
  }
}

/** The type of an item, a part or a tool, for messages. */
export function shownType({ type }: Fields): string {
  return typeof type === 'string' ? printableName(type) : 'a type that is no string';
}

/** Whether a value says nothing. Client libraries send such values unasked. */
export function isUnset(value: unknown): boolean {
  if (value === undefined || value === null || value === false) return true;
  return Array.isArray(value) && value.length === 0;
}
