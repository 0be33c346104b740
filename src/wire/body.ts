/** A request body as JSON text: checked as a text, kept as it came, and read where the gateway acts on it. */
import { isUtf8 } from 'node:buffer';
import { isObject, parseJson } from '../core/json.ts';
import { MAX_JSON_DEPTH, type Member, membersOf, TooDeep } from './members.ts';
import { excessOf, MAX_JSON_PARTS } from './structure.ts';

/** A JSON object, with its text. */
export interface JsonBody {
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly members: readonly Member[];
}

export type BodyResult =
  | { readonly ok: true; readonly body: JsonBody }
  | { readonly ok: false; readonly problem: string };

/** A shorter body is parsed in some ten milliseconds, whatever it is; its depth is found later, and it cannot be too rich. */
const LONG_BODY_BYTES = 256 * 1024;

/** Reads a body. Refuses what is not UTF-8, not JSON, not an object, too deep, or names a field twice. */
export function readJsonBody(bytes: Buffer): BodyResult {
  if (bytes.length === 0) return problem('The body is empty; expected a JSON object.');
  if (!isUtf8(bytes)) return problem('The body is not valid UTF-8.');
  const excess = bytes.length > LONG_BODY_BYTES ? excessOf(bytes) : undefined;
  if (excess !== undefined) return excess === 'depth' ? TOO_DEEP : TOO_RICH;
  const text = bytes.toString('utf8');
  const parsed = parseJson(text);
  if (parsed === undefined) return problem('The body is not valid JSON.');
  const fields = parsed.value;
  if (!isObject(fields)) return problem('The body is not a JSON object.');
  try {
    const members = membersOf(text, 0);
    const repeated = firstRepeated(members);
    // Gateway and upstream might each read another one of the two.
    if (repeated !== undefined) return problem(`The field ${JSON.stringify(repeated)} stands in the body twice.`);
    return { ok: true, body: { text, fields, members } };
  } catch (error) {
    if (error instanceof TooDeep) return TOO_DEEP;
    throw error;
  }
}

const TOO_DEEP = problem(`The body is nested more than ${MAX_JSON_DEPTH} levels deep.`);
const TOO_RICH = problem(`The body has more than ${MAX_JSON_PARTS} objects, arrays, strings and commas.`);

function firstRepeated(members: readonly Member[]): string | undefined {
  const seen = new Set<string>();
  for (const { key } of members) {
    if (seen.has(key)) return key;
    seen.add(key);
  }
  return undefined;
}

function problem(message: string): BodyResult {
  return { ok: false, problem: message };
}
