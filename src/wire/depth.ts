/** How deep a JSON text is nested, found before it is parsed: millions of brackets would cost a parser seconds and gigabytes. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** True where more than `levels` objects and arrays stand within each other. The bytes need not be valid JSON. */
export function isDeeperThan(levels: number, bytes: Buffer): boolean {
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = closingQuote(bytes, at);
      if (at < 0) return false;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > levels) return true;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth--;
    }
  }
  return false;
}

/** Jumps from quote to quote: bodies can be megabytes of base64. Below 0 where the string does not end. */
function closingQuote(bytes: Buffer, start: number): number {
  let at = start;
  while (true) {
    at = bytes.indexOf(QUOTE, at + 1);
    let backslashes = 0;
    while (bytes[at - 1 - backslashes] === BACKSLASH) backslashes++;
    if (at < 0 || backslashes % 2 === 0) return at;
  }
}
