/** Bounds the depth and size of JSON before parsing: millions of brackets would cost a parser seconds and gigabytes. */
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../core/json-text.ts';
import { MAX_JSON_DEPTH } from './members.ts';

/** Maximum objects, arrays, strings and commas. Ten thousand messages, each with an image, have 250,000. */
export const MAX_JSON_PARTS = 500_000;
/** Maximum for a response: 8,000 tokens with 20 alternatives each reach it. Parsing takes half a second at worst. */
export const MAX_RESPONSE_PARTS = 2_000_000;
/** Maximum for a stream event. Events can follow one another without a pause, and one takes 30 ms at worst. */
export const MAX_EVENT_PARTS = 100_000;

/** Marks the bytes that matter outside of strings. The lookup skips long numbers and blanks twice as fast as comparisons. */
const STRUCTURAL = new Uint8Array(256);
for (const byte of [QUOTE, OPEN_BRACE, OPEN_BRACKET, CLOSE_BRACE, CLOSE_BRACKET, COMMA]) STRUCTURAL[byte] = 1;

/** Returns the limit that the text exceeds, or undefined. The bytes may be invalid JSON. */
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
      // Strings can be megabytes of base64 without escapes: jump to the closing quote.
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

/** Returns the next offset of a byte, or the length without one. */
function nextOf(byte: number, bytes: Buffer, from: number): number {
  const at = bytes.indexOf(byte, from);
  return at < 0 ? bytes.length : at;
}

/** Returns the offset of the closing quote of a string with escapes. */
function endOfEscaped(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}
