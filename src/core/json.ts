/** Parses untrusted JSON. */
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  endOfScalar,
  endOfString,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipSpace,
} from './json-text.ts';

/** Parses a JSON text. Undefined if it is malformed; the value is wrapped, since it may be null. */
export function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: readJson(text) };
  } catch {
    return undefined;
  }
}

/**
 * JSON.parse for untrusted text. V8 reads a name with an escape as its raw first characters, backslash included, if the
 * previously parsed object had that name at the same position (nodejs/node#63785): `"max_token\u0073"` would be invisible to the
 * gateway and valid for the host. Texts with escaped names are therefore parsed here. Throws a SyntaxError.
 */
export function readJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return hasEscapedName(text) ? readByNames(text) : value;
}

/** Visits only strings with escapes, so the cost is small compared with parsing. The text must be valid JSON. */
function hasEscapedName(text: string): boolean {
  let at = text.indexOf('\\');
  while (at >= 0) {
    const end = endOfString(text, at);
    if (text.charCodeAt(skipSpace(text, end)) === COLON) return true;
    at = text.indexOf('\\', end);
  }
  return false;
}

/**
 * Matches integers that a double may round, but not the fractions of embeddings. The length is fixed because V8's regular
 * expressions give up on a repetition of millions of digits.
 */
const LONG_INTEGER = /(?<![\d.eE+])\d{16}/;

/** Minimum depth of call arguments in requests and answers. Every number that the gateway itself reads is less deep. */
const LEVELS_OF_ARGUMENTS = 4;

/**
 * Preserves long integers in the arguments of calls: integers that a double would round keep their spelling, and JSON.stringify
 * writes them unchanged. 64-bit ids are common.
 */
export function withLongIntegers<Value>(text: string, value: Value, levels = LEVELS_OF_ARGUMENTS): Value {
  return LONG_INTEGER.test(text) ? (readByNames(text, levels) as Value) : value;
}

/** Parses the arguments of a call without loss of precision. Undefined unless they are an object. */
export function parseArguments(text: string): Record<string, unknown> | undefined {
  const value = parseJson(text)?.value;
  return isObject(value) ? withLongIntegers(text, value, 0) : undefined;
}

/** Missing from the type declarations. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

function longInteger(source: string, value: unknown): unknown {
  const isLong = typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source);
  const isRounded = isLong && String(value) !== source;
  return isRounded ? rawJSON(source) : value;
}

type Holder = unknown[] | Record<string, unknown>;

/** Parses valid JSON of any depth. Long integers below depth `exactFrom` keep their spelling. */
function readByNames(text: string, exactFrom = Number.POSITIVE_INFINITY): unknown {
  const root: unknown[] = [];
  /** The open containers, the innermost last. */
  const open: Holder[] = [root];
  let name = '';
  for (let at = skipSpace(text, 0); at < text.length; at = skipSeparators(text, at)) {
    const code = text.charCodeAt(at);
    if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      open.pop();
      at++;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      const holder = code === OPEN_BRACE ? {} : [];
      add(open.at(-1) as Holder, name, holder);
      open.push(holder);
      at++;
    } else {
      const end = code === QUOTE ? endOfString(text, at) : endOfScalar(text, at);
      const source = text.slice(at, end);
      const parsed: unknown = JSON.parse(source);
      const scalar = open.length > exactFrom ? longInteger(source, parsed) : parsed;
      at = skipSpace(text, end);
      if (text.charCodeAt(at) === COLON) name = scalar as string;
      else add(open.at(-1) as Holder, name, scalar);
    }
  }
  return root[0];
}

function add(holder: Holder, name: string, value: unknown): void {
  if (Array.isArray(holder)) holder.push(value);
  // An assignment to __proto__ would set no field.
  else Object.defineProperty(holder, name, { value, configurable: true, enumerable: true, writable: true });
}

function skipSeparators(text: string, from: number): number {
  let at = skipSpace(text, from);
  while (text.charCodeAt(at) === COMMA || text.charCodeAt(at) === COLON) at = skipSpace(text, at + 1);
  return at;
}

/** True for a JSON object: neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the object, or an empty object for any other value. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

/** Returns the objects in an array; an empty array for any other value. */
export function objectsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
