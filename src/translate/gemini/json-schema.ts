/** Google's form of schemas as JSON schemas. */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { camelCase } from '../../dialects/gemini/gemini-names.ts';

/** They say nothing of what is valid. */
const LEFT_OUT: ReadonlySet<string> = new Set(['propertyOrdering', 'example', 'nullable', 'type']);

/** Hosts take numbers of 64 bits as texts. */
const COUNTS: ReadonlySet<string> = new Set([
  ...['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'],
]);

/** The recursion is bounded by MAX_JSON_DEPTH. */
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
