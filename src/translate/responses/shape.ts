/** Which fields of an object a translation knows, and which it leaves out by intent. */
import type { Fields } from '../../dialects/dialect.ts';
import type { Findings } from '../chat-messages/findings.ts';

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
export function expectShape({ scope, known, ignored }: Shape, fields: Fields, where: string, findings: Findings): void {
  const rest = Object.entries(fields).filter(([name, value]) => {
    if (!ignored.has(name)) return true;
    if (!isUnset(value)) findings.ignore(`${scope}.${name}`);
    return false;
  });
  findings.expectOnly(known, Object.fromEntries(rest), where);
}

/** Whether a value says nothing. Client libraries send such values unasked. */
export function isUnset(value: unknown): boolean {
  if (value === undefined || value === null || value === false) return true;
  return Array.isArray(value) && value.length === 0;
}
