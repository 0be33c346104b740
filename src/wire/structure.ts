/**
 * Bounds the depth and size of JSON before parsing: millions of brackets cost a parser seconds and
 * gigabytes.
 */
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../core/json-text.ts';
import { MAX_JSON_DEPTH } from './members.ts';

/**
 * The most objects, arrays, strings and commas. Ten thousand messages, each with an image, have
 * 250,000.
 */
export const MAX_JSON_PARTS = 500_000;
/**
 * The same for a response: 8,000 tokens with the 20 likeliest alternatives of each have as many.
 * They take half a second to parse at worst.
 */
export const MAX_RESPONSE_PARTS = 2_000_000;
/** The same for an event of a stream, which takes 30 ms at worst: there may be one after another. */
export const MAX_EVENT_PARTS = 100_000;

/**
 * The bytes that matter outside of strings; all others are 0. Looking them up instead of comparing
 * makes long numbers and blanks twice as fast to pass over.
 */
const STRUCTURAL = new Uint8Array(256);
for (const byte of [QUOTE, OPEN_BRACE, OPEN_BRACKET, CLOSE_BRACE, CLOSE_BRACKET, COMMA]) STRUCTURAL[byte] = 1;

/** Which limit the text exceeds, or undefined. The bytes need not be valid JSON. */
export function excessOf(bytes: Buffer, maxParts = MAX_JSON_PARTS): 'depth' | 'parts' | undefined {
  let depth = 0;
  let parts = 0;
  let backslash = nextOf(BACKSLASH, bytes, 0);
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (STRUCTURAL[byte] === 0) continue;
    if (byte === QUOTE) {
      parts++;
      if (backslash < at) backslash = nextOf(BACKSLASH, bytes, at);
      // Strings can be megabytes of base64, which has no escapes: jump to the closing quote.
      const quote = nextOf(QUOTE, bytes, at + 1);
      at = quote < backslash ? quote : endOfEscaped(bytes, at + 1);
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      parts++;
      if (++depth > MAX_JSON_DEPTH) return 'depth';
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth--;
    } else if (byte === COMMA) {
      parts++;
    }
    if (parts > maxParts) return 'parts';
  }
  return undefined;
}

/** The next offset of a byte, or the length if there is none. */
function nextOf(byte: number, bytes: Buffer, from: number): number {
  const at = bytes.indexOf(byte, from);
  return at < 0 ? bytes.length : at;
}

/** The offset of the closing quote of a string with escapes. */
function endOfEscaped(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}
