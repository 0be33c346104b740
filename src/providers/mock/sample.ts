/** Fixed samples for JSON schemas: the mock's answers where a client asks for structured output. Pure. */
import { isObject, objectOf } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';

/** Maximum depth of a value: a schema that refers to itself allows any depth. */
const MAX_DEPTH = 24;
/** Maximum number of subschemas read per request. */
const MAX_VISITS = 20_000;
/** Maximum number of items or characters, even if a schema requires more. */
const MAX_LENGTH = 1_000;

/** No value is possible at this depth; the caller tries another alternative. */
const NONE = Symbol('none');

/** One string of each known format. */
const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  time: '12:00:00Z',
  duration: 'PT1H',
  email: 'someone@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '3f2b8c1e-5d4a-4b7c-9e6f-0a1b2c3d4e5f',
};

/** Returns the smallest value of a schema, with required fields only. Undefined if the bounds permit no value. */
export function sampleOf(schema: unknown): unknown {
  const sampler = new Sampler(schema);
  for (let depth = 1; depth <= MAX_DEPTH; depth++) {
    const value = sampler.value(schema, depth);
    if (value !== NONE) return value;
  }
  return undefined;
}

class Sampler {
  readonly #root: unknown;
  #visits = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  value(schema: unknown, depth: number): unknown {
    if (schema === false || depth <= 0 || ++this.#visits > MAX_VISITS) return NONE;
    if (!isObject(schema)) return 'text';
    const { $ref: reference, allOf, anyOf, oneOf = anyOf, ...own } = schema;
    if (typeof reference === 'string') return this.value(this.#target(reference), depth - 1);
    if (Array.isArray(allOf)) return this.value([own, ...allOf.map(objectOf)].reduce(joined), depth);
    if (Array.isArray(oneOf))
      return this.#first(
        oneOf.map((choice) => joined(own, objectOf(choice))),
        depth,
      );
    if ('const' in own) return own.const;
    if (Array.isArray(own.enum)) return own.enum[0] ?? NONE;
    return this.#ofType(own, depth);
  }

  #first(choices: readonly unknown[], depth: number): unknown {
    for (const choice of choices) {
      const value = this.value(choice, depth);
      if (value !== NONE) return value;
    }
    return NONE;
  }

  /** Resolves `#/$defs/name`. References to other documents are not resolved. */
  #target(reference: string): unknown {
    const [document, ...steps] = reference.split('/');
    if (document !== '#') return false;
    return steps.reduce<unknown>(
      (at, step) => objectOf(at)[step.replaceAll('~1', '/').replaceAll('~0', '~')],
      this.#root,
    );
  }

  #ofType(schema: Fields, depth: number): unknown {
    const [type = typeFor(schema)] = [schema.type].flat();
    switch (type) {
      case 'object':
        return this.#object(schema, depth);
      case 'array':
        return this.#array(schema, depth);
      case 'integer':
      case 'number':
        return numberOf(schema);
      case 'boolean':
        return true;
      case 'null':
        return null;
      default:
        return stringOf(schema);
    }
  }

  #object({ properties, required }: Fields, depth: number): unknown {
    const schemas = objectOf(properties);
    const names = Array.isArray(required) ? required.map(String) : [];
    const fields = names.map((name) => [name, this.value(schemas[name], depth - 1)] as const);
    return fields.some(([, value]) => value === NONE) ? NONE : Object.fromEntries(fields);
  }

  #array({ items, minItems = 0 }: Fields, depth: number): unknown {
    const length = Math.min(Number(minItems), MAX_LENGTH);
    if (!(length > 0)) return [];
    const item = this.value(items, depth - 1);
    return item === NONE ? NONE : Array.from({ length: Math.ceil(length) }, () => item);
  }
}

/** Merges two schemas, including their properties and required names. */
function joined(a: Fields, b: Fields): Fields {
  const required = [a.required, b.required].flatMap((names) => (Array.isArray(names) ? names : []));
  const properties = { ...objectOf(a.properties), ...objectOf(b.properties) };
  return { ...a, ...b, properties, required };
}

function typeFor(schema: Fields): string {
  if (Object.keys(objectOf(schema.properties)).length > 0) return 'object';
  return 'items' in schema ? 'array' : 'string';
}

function stringOf({ format, minLength = 0, maxLength = MAX_LENGTH }: Fields): string {
  return (
    FORMATS[String(format)] ?? 'text'.padEnd(Math.min(Number(minLength), MAX_LENGTH), 'x').slice(0, Number(maxLength))
  );
}

function numberOf({ minimum, exclusiveMinimum, maximum, multipleOf = 1 }: Fields): number {
  const least = Math.max(0, Number(minimum ?? 0), Number(exclusiveMinimum ?? -1) + 1);
  const step = Number(multipleOf);
  const value = Math.ceil(least / step) * step;
  return typeof maximum === 'number' && maximum < value ? maximum : value;
}
