/**
 * Normalizes the names of fields. Google's hosts read `max_output_tokens` and `maxOutputTokens` alike, and the checks must
 * see the same fields. Some hosts may accept other mixtures, and of a repeated name either member.
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

/** Fields whose members are names of a schema, a tool or the client rather than of the format. */
const FREE: ReadonlySet<string> = new Set([
  ...['args', 'response', 'parameters', 'parametersJsonSchema', 'responseSchema', 'responseJsonSchema', 'schema'],
  ...['labels', 'partMetadata', 'headers'],
]);

export type Spelled = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly problem: string };

/** Returns `maxOutputTokens` for `max_output_tokens`, and for any other position of the underscores. */
export function camelCase(name: string): string {
  return name.replace(/_+(.?)/gs, (_, letter: string) => letter.toUpperCase());
}

/** Returns `google_search` for `googleSearch`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** An open object or array of the scan. */
interface Level {
  readonly isObject: boolean;
  readonly isFree: boolean;
  readonly names: Set<string>;
  /** The current member's name. */
  name: string;
  /** Whether the next string is a name. */
  expectsName: boolean;
}

/** Converts the format's names in a JSON object to camel case, in one pass. Other bytes stay unchanged. */
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

/** Returns a quoted name without its escapes: `max_tokens` for `max\u005ftokens`. */
function nameIn(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}

function within(level: Level | undefined, isObject: boolean): Level {
  const isFree = level !== undefined && (level.isFree || FREE.has(level.name));
  // Items of an array inherit its name.
  return { isObject, isFree, names: new Set(), name: isObject ? '' : (level?.name ?? ''), expectsName: isObject };
}

/** Returns the problem with a name that occurs twice in an object, in one or two spellings. */
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
