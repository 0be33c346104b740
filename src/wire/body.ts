/** Parses and validates a request body as JSON, and keeps its original text. */
import { isUtf8 } from 'node:buffer';
import { isObject, parseJson } from '../core/json.ts';
import { findSyntaxError, positionAt } from './json-position.ts';
import { MAX_JSON_DEPTH, type Member, membersOf, NestingError } from './members.ts';
import { excessOf, MAX_JSON_PARTS } from './structure.ts';

/** A file in a form field. Its bytes are a view of the body. */
export interface FormFile {
  readonly bytes: Buffer;
}

/** A form in its original bytes. */
export interface Form {
  readonly boundary: string;
  readonly bytes: Buffer;
  /** Position of each field that is not a file. */
  readonly places: ReadonlyMap<string, { readonly start: number; readonly end: number }>;
}

/** A JSON object with its original text, or the fields of a form. */
export interface JsonBody {
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly members: readonly Member[];
  /** The form that contains the fields; undefined for JSON. */
  readonly form?: Form;
}

export type BodyResult =
  | { readonly ok: true; readonly body: JsonBody }
  | { readonly ok: false; readonly problem: string };

/**
 * Longer bodies are checked before parsing. A shorter one parses in about ten milliseconds, whatever its content, and
 * cannot contain too many parts; its depth is checked after parsing.
 */
const LONG_BODY_BYTES = 256 * 1024;

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

function startsWithMark(body: Buffer): boolean {
  return BYTE_ORDER_MARK.every((byte, at) => body[at] === byte);
}

/**
 * Parses a body. It must be UTF-8 and a JSON object, not too deep, without duplicate fields. A leading byte order mark is
 * skipped and is not part of the text.
 */
export function readJsonBody(body: Buffer): BodyResult {
  const bytes = startsWithMark(body) ? body.subarray(BYTE_ORDER_MARK.length) : body;
  if (bytes.length === 0) return problem('The request body is empty. Expected a JSON object.');
  if (!isUtf8(bytes)) return problem(`The request body is not valid UTF-8: ${positionOfInvalidUtf8(bytes)}.`);
  const excess = bytes.length > LONG_BODY_BYTES ? excessOf(bytes) : undefined;
  if (excess !== undefined) return excess === 'depth' ? TOO_DEEP : TOO_MANY_PARTS;
  const text = bytes.toString('utf8');
  const parsed = parseJson(text);
  if (parsed === undefined) {
    return problem(`The request body is not valid JSON: ${positionAt(text, findSyntaxError(text))}.`);
  }
  const fields = parsed.value;
  if (!isObject(fields)) return problem('The request body is not a JSON object.');
  try {
    const members = membersOf(text, 0);
    const duplicate = findDuplicate(members);
    // The gateway and the upstream might each read a different one.
    if (duplicate !== undefined) return problem(`Duplicate field in the request body: ${JSON.stringify(duplicate)}.`);
    return { ok: true, body: { text, fields, members } };
  } catch (error) {
    if (error instanceof NestingError) return TOO_DEEP;
    throw error;
  }
}

const TOO_DEEP = problem(`The request body is nested more than ${MAX_JSON_DEPTH} levels deep.`);
const TOO_MANY_PARTS = problem(`The request body has more than ${MAX_JSON_PARTS} objects, arrays, strings and commas.`);

/** Returns the position of the first invalid UTF-8. */
function positionOfInvalidUtf8(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  // toString replaces each invalid sequence with U+FFFD, which valid text may also contain.
  let at = -1;
  let byteAt = 0;
  do {
    const next = text.indexOf(REPLACEMENT, at + 1);
    byteAt += Buffer.byteLength(text.slice(Math.max(0, at), next));
    at = next;
  } while (bytes.subarray(byteAt, byteAt + REPLACEMENT_BYTES.length).equals(REPLACEMENT_BYTES));
  return positionAt(text, at);
}

const REPLACEMENT = '\ufffd';
const REPLACEMENT_BYTES = Buffer.from(REPLACEMENT);

/** Up to this number of members, comparing each with the ones before it is faster than building a Set. */
const FEW_MEMBERS = 12;

/** Returns the first name that occurs twice among the members of an object. */
export function findDuplicate(members: readonly Member[]): string | undefined {
  if (members.length <= FEW_MEMBERS) return findDuplicateOfFew(members);
  const seen = new Set<string>();
  for (const { key } of members) {
    if (seen.has(key)) return key;
    seen.add(key);
  }
  return undefined;
}

function findDuplicateOfFew(members: readonly Member[]): string | undefined {
  for (let at = 1; at < members.length; at++) {
    const { key } = members[at] as Member;
    for (let before = 0; before < at; before++) if (members[before]?.key === key) return key;
  }
  return undefined;
}

function problem(message: string): BodyResult {
  return { ok: false, problem: message };
}
