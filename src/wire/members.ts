/** Locates the members of a JSON object in its text, so that edits leave other bytes unchanged. */
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  endOfScalar,
  endOfString,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipSpace,
} from '../core/json-text.ts';

/** A member of an object. Offsets are into the text; `end` is exclusive. */
export interface Member {
  readonly key: string;
  readonly keyStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** Deeper than any request or tool schema in use. Recursive code relies on this limit. */
export const MAX_JSON_DEPTH = 200;

/** Thrown for JSON that is nested more than {@link MAX_JSON_DEPTH} levels deep. */
export class NestingError extends Error {
  override name = 'NestingError';
}

/**
 * Returns the members of the object at `start`, in order, including duplicates. The text must be valid JSON. Throws a
 * NestingError.
 */
export function membersOf(text: string, start: number): Member[] {
  const members: Member[] = [];
  let at = skipSpace(text, skipSpace(text, start) + 1);
  while (text.charCodeAt(at) !== CLOSE_BRACE) {
    const keyStart = at;
    const keyEnd = endOfString(text, at);
    const colon = skipSpace(text, keyEnd);
    const valueStart = skipSpace(text, colon + 1);
    const valueEnd = endOfValue(text, valueStart);
    members.push({ key: stringAt(text, keyStart, keyEnd), keyStart, valueStart, valueEnd });
    at = skipSpace(text, valueEnd);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return members;
}

/** Decodes a JSON string. Most names have no escapes; skipping JSON.parse for these halves the time to read an object. */
function stringAt(text: string, start: number, end: number): string {
  const plain = text.slice(start + 1, end - 1);
  return plain.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : plain;
}

/** Yields the members of each object in the array at `start`, in one pass. Otherwise like membersOf. */
export function* membersOfEach(text: string, start: number): Generator<readonly Member[]> {
  let at = skipSpace(text, skipSpace(text, start) + 1);
  while (text.charCodeAt(at) !== CLOSE_BRACKET) {
    const members = membersOf(text, at);
    yield members;
    const brace = skipSpace(text, members.at(-1)?.valueEnd ?? at + 1);
    at = skipSpace(text, brace + 1);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
}

/** Returns the offset of each element of the array at `start`. The text must be valid JSON. Throws a NestingError. */
function elementsOf(text: string, start: number): number[] {
  const starts: number[] = [];
  let at = skipSpace(text, skipSpace(text, start) + 1);
  while (text.charCodeAt(at) !== CLOSE_BRACKET) {
    starts.push(at);
    at = skipSpace(text, endOfValue(text, at));
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return starts;
}

/** Edits objects within valid JSON text. Caches each object and array on a path. */
export class ObjectEditor {
  readonly #text: string;
  readonly #members = new Map<number, readonly Member[]>();
  readonly #elements = new Map<number, readonly number[]>();

  constructor(text: string) {
    this.#text = text;
  }

  /**
   * Sets a member of the object at this path, resolving duplicates like parseJson. `value`: as JSON. Throws a NestingError.
   */
  set(path: readonly (string | number)[], key: string, value: string): Edit {
    const start = path.reduce<number>((at, step) => this.#step(at, step), 0);
    const members = this.#membersAt(start);
    const member = members.findLast((each) => each.key === key);
    if (member !== undefined) return { start: member.valueStart, end: member.valueEnd, replacement: value };
    const at = skipSpace(this.#text, start) + 1;
    const separator = members.length === 0 ? '' : ',';
    return { start: at, end: at, replacement: `${JSON.stringify(key)}:${value}${separator}` };
  }

  #step(start: number, step: string | number): number {
    if (typeof step === 'string') {
      return (this.#membersAt(start).findLast(({ key }) => key === step) as Member).valueStart;
    }
    const known = this.#elements.get(start) ?? elementsOf(this.#text, start);
    this.#elements.set(start, known);
    return known[step] as number;
  }

  #membersAt(start: number): readonly Member[] {
    const known = this.#members.get(start) ?? membersOf(this.#text, start);
    this.#members.set(start, known);
    return known;
  }
}

/**
 * Returns the position of the value at this path; of duplicate members the last, as in JSON.parse. Undefined if the path
 * does not exist or the text is nested too deeply. The text must be valid JSON.
 */
export function locate(
  text: string,
  path: readonly (string | number)[],
): { readonly start: number; readonly end: number } | undefined {
  try {
    let start = skipSpace(text, 0);
    for (const step of path) {
      const code = text.charCodeAt(start);
      if (code !== (typeof step === 'string' ? OPEN_BRACE : OPEN_BRACKET)) return undefined;
      const next =
        typeof step === 'string'
          ? membersOf(text, start).findLast(({ key }) => key === step)?.valueStart
          : elementsOf(text, start)[step];
      if (next === undefined) return undefined;
      start = next;
    }
    return { start, end: endOfValue(text, start) };
  } catch (error) {
    if (!(error instanceof NestingError)) throw error;
    return undefined;
  }
}

/** Replaces the text from `start` to `end`, exclusive, with `replacement`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/** Applies edits, which must not overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let result = '';
  let at = 0;
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    result += text.slice(at, edit.start) + edit.replacement;
    at = edit.end;
  }
  return result + text.slice(at);
}

function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return endOfScalar(text, start);
  let depth = 0;
  let at = start;
  while (true) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
      continue;
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      // The enclosing object is a level too.
      if (++depth >= MAX_JSON_DEPTH) throw new NestingError();
    } else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --depth === 0) {
      return at + 1;
    }
    at++;
  }
}
