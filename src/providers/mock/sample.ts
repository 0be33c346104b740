/**
 * A small value that a JSON schema allows: what the mock answers where a client asks for structured output. Pure.
 * Keywords that would need a search, such as `not` and `if`, are passed over.
 */
import { isObject, objectOf } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { decoded } from '../secrets.ts';
import { matchOf } from './pattern-match.ts';

/** How deep a value may be at most. Schemas that refer to themselves ask for any depth. */
const MAX_DEPTH = 24;
/** How many parts of a schema are looked at, whatever a client sends. */
const MAX_VISITS = 20_000;
/** How many items, characters or fields are made, however many a schema asks for. */
const MAX_MADE = 1_000;

/** Stands for a value that would be too deep, or that cannot be: another alternative is tried. */
const NONE = Symbol('none');

/** A value of this schema; undefined if none was found. The smallest depth that works is taken. */
export function sampleOf(schema: unknown): unknown {
  const visits = { left: MAX_VISITS };
  for (let depth = 1; depth <= MAX_DEPTH && visits.left > 0; depth++) {
    const value = new Sampler(schema, visits).value(schema, depth, 0);
    if (value !== NONE) return value;
  }
  return undefined;
}

class Sampler {
  readonly #root: unknown;
  readonly #visits: { left: number };

  constructor(root: unknown, visits: { left: number }) {
    this.#root = root;
    this.#visits = visits;
  }

  /** A value at most this deep. The `variant`s of a schema differ where it leaves room. */
  value(schema: unknown, depth: number, variant: number): unknown {
    if (schema === false || depth <= 0 || this.#visits.left-- <= 0) return NONE;
    if (!isObject(schema)) return 'text';
    for (const plain of this.#alternatives(schema)) {
      const value = this.#plain(plain, depth, variant);
      if (value !== NONE) return value;
    }
    return NONE;
  }

  /** The schema without references, `allOf`, `anyOf` and `oneOf`: one for each way to satisfy them. */
  *#alternatives(schema: Fields): Generator<Fields> {
    if (this.#visits.left-- <= 0) return;
    const { $ref: reference, allOf, anyOf, oneOf, ...own } = schema;
    if (typeof reference === 'string') {
      const target = this.#target(reference);
      const others = { ...own, ...(allOf !== undefined && { allOf }), ...(anyOf !== undefined && { anyOf }) };
      if (isObject(target) && target !== schema)
        yield* this.#alternatives(both(target, { ...others, ...some({ oneOf }) }));
      return;
    }
    if (Array.isArray(allOf) && allOf.length > 0) {
      const [first, ...rest] = allOf;
      const remaining = { ...own, ...some({ anyOf, oneOf }), ...(rest.length > 0 && { allOf: rest }) };
      for (const part of this.#alternatives(objectOf(first))) yield* this.#alternatives(both(remaining, part));
      return;
    }
    const choices = Array.isArray(anyOf) ? anyOf : oneOf;
    if (!Array.isArray(choices)) return yield own;
    const remaining = { ...own, ...(Array.isArray(anyOf) && some({ oneOf })) };
    for (const choice of choices) yield* this.#alternatives(isObject(choice) ? both(remaining, choice) : remaining);
  }

  /** What `#/$defs/name` points to. Other documents are not fetched. */
  #target(reference: string): unknown {
    if (!reference.startsWith('#')) return undefined;
    const steps = reference.slice(1).split('/').slice(1);
    return steps.reduce<unknown>((at, step) => {
      const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
      return (isObject(at) || Array.isArray(at)) && Object.hasOwn(at, name) ? Reflect.get(at, name) : undefined;
    }, this.#root);
  }

  #plain(schema: Fields, depth: number, variant: number): unknown {
    if ('const' in schema) return isOneOf(typesOf(schema), schema.const) ? schema.const : NONE;
    if (Array.isArray(schema.enum)) {
      const fitting = schema.enum.filter((value) => isOneOf(typesOf(schema), value));
      return fitting.length === 0 ? NONE : fitting[variant % fitting.length];
    }
    for (const type of typesOf(schema)) {
      const value = this.#ofType(type, schema, depth, variant);
      if (value !== NONE) return value;
    }
    return NONE;
  }

  #ofType(type: string, schema: Fields, depth: number, variant: number): unknown {
    switch (type) {
      case 'object':
        return this.#object(schema, depth);
      case 'array':
        return this.#array(schema, depth);
      case 'string':
        return stringOf(schema, variant);
      case 'integer':
      case 'number':
        return numberOf(schema, type === 'integer', variant);
      case 'boolean':
        return variant % 2 === 0;
      case 'null':
        return null;
      default:
        return NONE;
    }
  }

  /** The fields that are required, and as many others as make up `minProperties`. */
  #object(schema: Fields, depth: number): unknown {
    const properties = objectOf(schema.properties);
    const names = new Set(stringsIn(schema.required));
    const dependent = objectOf(schema.dependentRequired);
    for (const name of names) for (const other of stringsIn(dependent[name])) names.add(other);
    const least = Math.min(countOf(schema.minProperties) ?? 0, MAX_MADE);
    for (const name of Object.keys(properties)) if (names.size < least) names.add(name);
    const { additionalProperties: others = true } = schema;
    for (let i = 1; names.size < least && others !== false; i++) names.add(`field${i}`);
    const found: [string, unknown][] = [];
    for (const name of names) {
      const value = this.value(Object.hasOwn(properties, name) ? properties[name] : others, depth - 1, 0);
      if (value === NONE) return NONE;
      found.push([name, value]);
    }
    return Object.fromEntries(found);
  }

  /** The fewest items. */
  #array(schema: Fields, depth: number): unknown {
    const { prefixItems, items, contains } = schema;
    const first: readonly unknown[] = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
    const other = Array.isArray(items) ? schema.additionalItems : items;
    const holding = contains === undefined ? 0 : (countOf(schema.minContains) ?? 1);
    const length = Math.min(MAX_MADE, Math.max(countOf(schema.minItems) ?? 0, holding));
    const found: unknown[] = [];
    for (let i = 0; i < length; i++) {
      const own = i < first.length ? first[i] : (other ?? true);
      const item = i < holding && isObject(contains) ? both(objectOf(own), contains) : own;
      const value = this.value(item, depth - 1, schema.uniqueItems === true ? i : 0);
      if (value === NONE) return NONE;
      found.push(value);
    }
    return found;
  }
}

/** What is there of these fields. */
function some(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

const TIGHTER: Readonly<Record<string, (a: number, b: number) => number>> = {
  minimum: Math.max,
  exclusiveMinimum: Math.max,
  minLength: Math.max,
  minItems: Math.max,
  minProperties: Math.max,
  maximum: Math.min,
  exclusiveMaximum: Math.min,
  maxLength: Math.min,
  maxItems: Math.min,
  maxProperties: Math.min,
};

/** A schema for what both allow. */
function both(a: Fields, b: Fields): Fields {
  const joined: Record<string, unknown> = { ...a };
  for (const [name, value] of Object.entries(b)) {
    const other = a[name];
    joined[name] = other === undefined ? value : joinedValue(name, other, value);
  }
  return joined;
}

function joinedValue(name: string, a: unknown, b: unknown): unknown {
  const tighter = TIGHTER[name];
  if (tighter !== undefined && typeof a === 'number' && typeof b === 'number') return tighter(a, b);
  if (name === 'required') return [...new Set([...stringsIn(a), ...stringsIn(b)])];
  if (name === 'allOf' && Array.isArray(a) && Array.isArray(b)) return [...a, ...b];
  if (name === 'enum' && Array.isArray(a) && Array.isArray(b)) {
    const texts = new Set(b.map((value) => JSON.stringify(value)));
    return a.filter((value) => texts.has(JSON.stringify(value)));
  }
  if (name === 'type') return typesOf({ type: a }).filter((type) => typesOf({ type: b }).includes(type));
  if (name === 'properties' && isObject(a) && isObject(b)) {
    const shared = Object.keys(b).filter((key) => Object.hasOwn(a, key));
    return { ...a, ...b, ...Object.fromEntries(shared.map((key) => [key, { allOf: [a[key], b[key]] }])) };
  }
  if (name === 'items' && isObject(a) && isObject(b)) return { allOf: [a, b] };
  return a === false ? a : b;
}

/** Without a type, what its keywords are about. */
function typesOf(schema: Fields): readonly string[] {
  const { type } = schema;
  if (typeof type === 'string') return type === 'number' ? ['number', 'integer'] : [type];
  if (Array.isArray(type)) return stringsIn(type).flatMap((each) => typesOf({ type: each }));
  if ('const' in schema || 'enum' in schema)
    return ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];
  const has = (...names: readonly string[]) => names.some((name) => name in schema);
  if (has('properties', 'required', 'minProperties', 'additionalProperties')) return ['object'];
  if (has('items', 'prefixItems', 'minItems', 'contains')) return ['array'];
  if (has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf')) return ['number'];
  return ['string', 'object', 'array', 'number', 'integer', 'boolean', 'null'];
}

function isOneOf(types: readonly string[], value: unknown): boolean {
  if (value === null) return types.includes('null');
  if (Array.isArray(value)) return types.includes('array');
  if (typeof value === 'number')
    return types.includes('number') || (Number.isInteger(value) && types.includes('integer'));
  return types.includes(typeof value);
}

/** One of each format that hosts know. */
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
  url: 'https://example.com/',
  uuid: '3f2b8c1e-5d4a-4b7c-9e6f-0a1b2c3d4e5f',
};

function stringOf(schema: Fields, variant: number): unknown {
  const least = Math.min(countOf(schema.minLength) ?? 0, MAX_MADE);
  const most = countOf(schema.maxLength) ?? Number.POSITIVE_INFINITY;
  if (least > most) return NONE;
  if (typeof schema.pattern === 'string') {
    const match = matchOf(schema.pattern, least);
    if (match !== undefined) return match;
  }
  const known = typeof schema.format === 'string' ? FORMATS[schema.format] : undefined;
  if (known !== undefined) return known;
  const text = variant === 0 ? 'text' : `text${variant}`;
  return (text.length >= least ? text : text.padStart(least, 'x')).slice(text.length > most ? text.length - most : 0);
}

/** The number nearest to zero, or the `variant`th after it. */
function numberOf(schema: Fields, isInteger: boolean, variant: number): unknown {
  const bound = (value: unknown, otherwise: number) => (typeof value === 'number' ? value : otherwise);
  const least = bound(schema.minimum, Number.NEGATIVE_INFINITY);
  const above = bound(schema.exclusiveMinimum, Number.NEGATIVE_INFINITY);
  const most = bound(schema.maximum, Number.POSITIVE_INFINITY);
  const below = bound(schema.exclusiveMaximum, Number.POSITIVE_INFINITY);
  const fits = (value: number) => value >= least && value > above && value <= most && value < below;
  const multiple = bound(schema.multipleOf, 0);
  const step = multiple > 0 ? multiple : isInteger ? 1 : 0;
  const [low, high] = [Math.max(least, above), Math.min(most, below)];
  const start = low > 0 ? low : high < 0 ? high : 0;
  const rounded = step === 0 ? start : Math.round(start / step) * step;
  const between = Number.isFinite(low + high) ? (low + high) / 2 : start;
  const unit = step === 0 ? 1 : step;
  const near = [rounded, rounded + unit, rounded - unit, ...(step === 0 ? [between] : [])];
  const found = near.find((value) => fits(value) && (!isInteger || Number.isInteger(value)));
  if (found === undefined) return NONE;
  return fits(found + variant * unit) ? found + variant * unit : found;
}

function stringsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined;
}
