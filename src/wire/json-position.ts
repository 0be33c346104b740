/** Finds the position of a JSON syntax error for messages, since V8 does not always report it. */

import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../core/json-text.ts';

// All are sticky: they match only at their `lastIndex`.
const SPACE = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** An incomplete number. */
const NUMBER_START = /-?(?:(?:0|[1-9]\d*)(?:(?:\.\d+)?[eE][+-]?|\.)?)?/y;
const LITERALS = ['true', 'false', 'null'];
/** The characters of a string up to an escape or its end. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON strings may not contain them.
const PLAIN = /[^"\\\0-\x1f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;
const ESCAPE_START = /\\(?:u[\dA-Fa-f]{0,3})?/y;

/**
 * Returns the offset of the first character that cannot continue JSON, or the length of a valid or truncated text.
 * Iterative, so any nesting depth is safe.
 */
export function findSyntaxError(text: string): number {
  /** Expected closing brackets, the innermost last. */
  const open: number[] = [];
  let at = skip(SPACE, text, 0);
  while (true) {
    const opened = text.charCodeAt(at);
    if (opened === OPEN_BRACE || opened === OPEN_BRACKET) {
      const close = opened === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET;
      at = skip(SPACE, text, at + 1);
      if (text.charCodeAt(at) !== close) {
        open.push(close);
        if (close === CLOSE_BRACKET) continue;
        const value = valueOfMember(text, at);
        if (!value.ok) return value.at;
        at = value.at;
        continue;
      }
      at++;
    } else {
      const scalar = opened === QUOTE ? endOfString(text, at) : endOfScalar(text, at);
      if (!scalar.ok) return scalar.at;
      at = scalar.at;
    }
    const next = afterValue(text, at, open);
    if (!next.ok) return next.at;
    at = next.at;
  }
}

/** The offset where parsing continues or fails. */
interface Step {
  readonly ok: boolean;
  readonly at: number;
}

/** Closes the containers that end after a value, and moves to the next value. Fails at the end of the text, too. */
function afterValue(text: string, from: number, open: number[]): Step {
  let at = skip(SPACE, text, from);
  while (open.length > 0 && text.charCodeAt(at) === open.at(-1)) {
    open.pop();
    at = skip(SPACE, text, at + 1);
  }
  if (open.length === 0 || text.charCodeAt(at) !== COMMA) return { ok: false, at };
  at = skip(SPACE, text, at + 1);
  return open.at(-1) === CLOSE_BRACE ? valueOfMember(text, at) : { ok: true, at };
}

/** Moves from the name of a member to its value. */
function valueOfMember(text: string, from: number): Step {
  const name = text.charCodeAt(from) === QUOTE ? endOfString(text, from) : { ok: false, at: from };
  if (!name.ok) return name;
  const colon = skip(SPACE, text, name.at);
  if (text.charCodeAt(colon) !== COLON) return { ok: false, at: colon };
  return { ok: true, at: skip(SPACE, text, colon + 1) };
}

function endOfString(text: string, from: number): Step {
  let at = skip(PLAIN, text, from + 1);
  while (text.charCodeAt(at) === BACKSLASH) {
    const end = skip(ESCAPE, text, at);
    if (end === at) return { ok: false, at: skip(ESCAPE_START, text, at) };
    at = skip(PLAIN, text, end);
  }
  return text.charCodeAt(at) === QUOTE ? { ok: true, at: at + 1 } : { ok: false, at };
}

function endOfScalar(text: string, from: number): Step {
  const literal = LITERALS.find((word) => text[from] === word[0]);
  if (literal !== undefined) {
    const at = from + commonLength(literal, text.slice(from, from + literal.length));
    return { ok: at === from + literal.length, at };
  }
  const [end, start] = [skip(NUMBER, text, from), skip(NUMBER_START, text, from)];
  return end > from && end >= start ? { ok: true, at: end } : { ok: false, at: start };
}

/** Returns the length of the common prefix. */
function commonLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

/** Returns the offset after a match at `from`. */
function skip(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : from;
}

/** Returns `line N, column M` of an offset, both from 1. Columns count characters. */
export function positionAt(text: string, offset: number): string {
  let line = 1;
  let start = 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) {
    line++;
    start = at + 1;
  }
  let column = 1;
  for (let at = start; at < offset; at++) {
    // The second half of a surrogate pair is not a separate character.
    if (!isSecondHalf(text, at)) column++;
  }
  return `line ${line}, column ${column}`;
}

function isSecondHalf(text: string, at: number): boolean {
  const [first, second] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  return first >= 0xd800 && first <= 0xdbff && second >= 0xdc00 && second <= 0xdfff;
}
