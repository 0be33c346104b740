/** Converts the text fields of forms to JSON types. */
import type { FormFile, JsonBody } from '../wire/body.ts';
import type { Fields } from './dialect.ts';

export function isFile(value: unknown): value is FormFile {
  return typeof value === 'object' && value !== null && 'bytes' in value && Buffer.isBuffer(value.bytes);
}

const NUMBER = /^-?\d{1,15}(?:\.\d{1,15})?$/;

/** Converts the named fields to numbers or booleans. Other texts stay unchanged, so that the checks report them. */
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

/** Returns the files in the named fields, single or in a list. */
export function filesIn(fields: Fields, names: readonly string[]): readonly FormFile[] {
  return names.flatMap((name) => fields[name] ?? []).filter(isFile);
}

/** Returns the problem with the first field that has a file instead of a text or the reverse; undefined if all are valid. */
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
