/** Converts JSON schemas to the subset that messages hosts enforce. */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';

/** Keywords that hosts reject. */
const UNENFORCED: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
]);

const FORMATS: readonly unknown[] = 'date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' ');
const MIN_ITEMS: readonly unknown[] = [0, 1];

/** Keywords that contain schemas, in maps or lists. */
const MAPS: readonly string[] = ['properties', '$defs', 'definitions'];
const LISTS: readonly string[] = ['anyOf', 'allOf'];

/**
 * Converts a schema. Unsupported constraints move to the description, where the model reads them, as in Anthropic's libraries.
 * Objects without `additionalProperties` are closed, because hosts require that. MAX_JSON_DEPTH bounds the recursion.
 */
export function enforceable(schema: Fields): Fields {
  const result: Record<string, unknown> = {};
  const unenforced: string[] = [];
  for (const [name, value] of Object.entries(schema)) {
    if (name === '$schema') continue;
    if (isEnforced(name, value)) result[name === 'oneOf' && !('anyOf' in schema) ? 'anyOf' : name] = fit(name, value);
    else unenforced.push(`${name}: ${JSON.stringify(value)}`);
  }
  if (isObjectSchema(schema)) result.additionalProperties ??= false;
  if (unenforced.length > 0) {
    const description = typeof schema.description === 'string' ? `${schema.description}\n\n` : '';
    result.description = `${description}{${unenforced.join(', ')}}`;
  }
  return result;
}

function isEnforced(name: string, value: unknown): boolean {
  if (name === 'format') return FORMATS.includes(value);
  if (name === 'minItems') return MIN_ITEMS.includes(value);
  return !UNENFORCED.has(name);
}

function isObjectSchema({ type, properties }: Fields): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || isObject(properties);
}

/** Converts the schemas in a keyword's value. */
function fit(name: string, value: unknown): unknown {
  if (MAPS.includes(name) && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fitOne(item)]));
  }
  if ((LISTS.includes(name) || name === 'oneOf') && Array.isArray(value)) return value.map(fitOne);
  return name === 'items' ? fitOne(value) : value;
}

function fitOne(schema: unknown): unknown {
  return isObject(schema) ? enforceable(schema) : schema;
}
