/** The fields of forms, which are texts, as what they are in JSON. */
import type { FormFile, JsonBody } from '../wire/body.ts';
import type { Fields } from './dialect.ts';

export function isFile(value: unknown): value is FormFile {
  return typeof value === 'object' && value !== null && 'bytes' in value && Buffer.isBuffer(value.bytes);
}

const NUMBER = /^-?\d{1,15}(?:\.\d{1,15})?$/;

/** With these fields as numbers, or as true and false, where they say one. What is no such thing stays a text, for the checks. */
export function typedForm(body: JsonBody, names: ReadonlySet<string>): JsonBody {
  const fields = Object.entries(body.fields).map(([name, value]) => [name, names.has(name) ? typed(value) : value]);
  return { ...body, fields: Object.fromEntries(fields) };
}

function typed(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (value === 'true' || value === 'True') return true;
  if (value === 'false' || value === 'False') return false;
  return NUMBER.test(value) ? Number(value) : value;
}

/** The files in fields of these names, each alone or in a list. */
export function filesIn(fields: Fields, names: readonly string[]): readonly FormFile[] {
  return names.flatMap((name) => fields[name] ?? []).filter(isFile);
}

/** A field that should be a text and is a file, or the other way round; undefined if there is none. */
export function misplacedFile(fields: Fields, files: ReadonlySet<string>): string | undefined {
  for (const [name, value] of Object.entries(fields)) {
    const values = Array.isArray(value) ? value : [value];
    if (!files.has(name) && values.some(isFile)) return `${name}: expected a text, and no file`;
    if (files.has(name) && !values.every((each) => isFile(each) && each.bytes.length > 0)) {
      return `${name}: expected a file`;
    }
  }
  return undefined;
}
