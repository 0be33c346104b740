/** Converts Google's schema format to JSON Schema. */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { camelCase } from '../../dialects/gemini/gemini-names.ts';

/** Keywords without an effect on validity, or converted separately. */
const LEFT_OUT: ReadonlySet<string> = new Set(['propertyOrdering', 'example', 'nullable', 'type']);

/** Keywords with 64-bit integers, which may be strings. */
const COUNTS: ReadonlySet<string> = new Set([
  ...['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'],
]);

/** Converts a schema. MAX_JSON_DEPTH bounds the recursion. */
export function jsonSchemaOf(schema: Fields): Fields {
  const named = Object.fromEntries(Object.entries(schema).map(([name, value]) => [camelCase(name), value]));
  const type =
    typeof named.type === 'string' && named.type !== 'TYPE_UNSPECIFIED' ? named.type.toLowerCase() : undefined;
  const isNullable = named.nullable === true;
  const others = Object.entries(named)
    .filter(([name]) => !LEFT_OUT.has(name))
    .map(([name, value]) => [name, keywordValue(name, value)]);
  return {
    ...(type !== undefined && { type: isNullable ? [type, 'null'] : type }),
    ...Object.fromEntries(others),
  };
}

function keywordValue(name: string, value: unknown): unknown {
  if (COUNTS.has(name)) return Number(value);
  if (name === 'items' && isObject(value)) return jsonSchemaOf(value);
  if (name === 'anyOf' && Array.isArray(value))
    return value.map((each) => (isObject(each) ? jsonSchemaOf(each) : each));
  if (name !== 'properties' || !isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, isObject(each) ? jsonSchemaOf(each) : each]),
  );
}
