/**
 * The names of fields, in one spelling: Google's hosts read `max_output_tokens` as they read `maxOutputTokens`, and what
 * is checked has to be what they read. Some may read other mixtures, and of two members of one name either.
 */
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  endOfString,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipSpace,
} from '../../core/json-text.ts';
import { printableName } from '../../core/printable.ts';
import { applyEdits, type Edit } from '../../wire/members.ts';

/** What these hold is not of the format: the names in it are those of a schema, of a tool or of the client. */
const FREE: ReadonlySet<string> = new Set([
  ...['args', 'response', 'parameters', 'parametersJsonSchema', 'responseSchema', 'responseJsonSchema', 'schema'],
  ...['labels', 'partMetadata', 'headers'],
]);

export type Spelled = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly problem: string };

/** `maxOutputTokens` for `max_output_tokens`, and for any other place of the underscores. */
export function camelCase(name: string): string {
  return name.replace(/_+(.?)/gs, (_, letter: string) => letter.toUpperCase());
}

/** `google_search` for `googleSearch`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** An object or array on the way. */
interface Level {
  readonly isObject: boolean;
  readonly isFree: boolean;
  readonly names: Set<string>;
  /** The name of the member that is being read. */
  name: string;
  /** Whether the next string is a name. */
  expectsName: boolean;
}

/** The text of a JSON object with the names of the format in camel case. Everything else keeps its bytes. Reads it once. */
export function spelled(text: string): Spelled {
  const edits: Edit[] = [];
  const levels: Level[] = [];
  for (let at = skipSpace(text, 0); at < text.length; at++) {
    const level = levels.at(-1);
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        if (level?.expectsName === true) {
          const problem = readName(text, at, end, level, edits);
          if (problem !== undefined) return { ok: false, problem };
        }
        at = end - 1;
        break;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        levels.push(within(level, text.charCodeAt(at) === OPEN_BRACE));
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        levels.pop();
        break;
      case COMMA:
        if (level !== undefined) level.expectsName = level.isObject;
        break;
      case COLON:
        if (level !== undefined) level.expectsName = false;
    }
  }
  return { ok: true, text: applyEdits(text, edits) };
}

/** A name between its quotes, without its escapes: `max_tokens` for `max\u005ftokens`. */
function nameIn(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}

function within(level: Level | undefined, isObject: boolean): Level {
  const isFree = level !== undefined && (level.isFree || FREE.has(level.name));
  // What is in an array has the name of the array.
  return { isObject, isFree, names: new Set(), name: isObject ? '' : (level?.name ?? ''), expectsName: isObject };
}

/** The problem with a name that stands twice in an object, in one spelling or in two. */
function readName(text: string, start: number, end: number, level: Level, edits: Edit[]): string | undefined {
  if (level.isFree) return undefined;
  const written = nameIn(text, start, end);
  const name = camelCase(written);
  if (name !== written) edits.push({ start, end, replacement: JSON.stringify(name) });
  const isTwice = level.names.has(name);
  level.names.add(name);
  level.name = name;
  return isTwice ? `${printableName(written)}: stands twice in one object` : undefined;
}
