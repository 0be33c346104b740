/**
 * Where the body of a request ends in the bytes behind its head. Nothing is read here: the parser alone says what they mean,
 * and this only which of them it gets together, so that a body costs it one call for each read and not for each chunk.
 */
import type { IncomingHttpHeaders } from 'node:http';

/** What ends a line, and with another one a head or a body in chunks. The parser takes no other line ends. */
const LINE_END = Buffer.from('\r\n');
const BLANK_LINE = Buffer.from('\r\n\r\n');
/** What the end of a piece may be the beginning of. */
const PARTS_OF_BLANK_LINE = ['\r\n\r', '\r\n', '\r'];
/** Longer than the parser takes the line before a chunk. */
const MAX_LINE_BYTES = 32 * 1024;
/** More digits than a size has that the parser takes. */
const SIZE_DIGITS = 17;

/** The bytes up to the first blank line from `from` on, it included; without what may be the beginning of one if there is none. */
export function throughBlankLine(bytes: Buffer, from: number): { readonly length: number; readonly isFound: boolean } {
  const end = bytes.indexOf(BLANK_LINE, from);
  if (end >= 0) return { length: end + BLANK_LINE.length, isFound: true };
  const tail = bytes.toString('latin1', Math.max(from, bytes.length - BLANK_LINE.length));
  const part = PARTS_OF_BLANK_LINE.find((each) => tail.endsWith(each)) ?? '';
  return { length: bytes.length - part.length, isFound: false };
}

export class BodyExtent {
  readonly #isInChunks: boolean;
  /** What is to come of a body of declared length, or of the present chunk and its line end. */
  #leftBytes: number;
  #isInTrailers = false;

  constructor(headers: IncomingHttpHeaders) {
    this.#isInChunks = headers['transfer-encoding'] !== undefined;
    this.#leftBytes = this.#isInChunks ? 0 : Number(headers['content-length'] ?? 0);
  }

  /** How many of these bytes are of the body; 0 if more are needed to tell. They are taken. */
  take(bytes: Buffer): number {
    return this.#isInChunks ? this.#takeChunks(bytes) : this.#takeDeclared(bytes);
  }

  /** The parser has what was declared, and wants more: what that is only it can tell. */
  #takeDeclared(bytes: Buffer): number {
    if (this.#leftBytes === 0) return bytes.length;
    const length = Math.min(bytes.length, this.#leftBytes);
    this.#leftBytes -= length;
    return length;
  }

  #takeChunks(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length && !this.#isInTrailers) {
      const length = Math.min(bytes.length - at, this.#leftBytes);
      this.#leftBytes -= length;
      at += length;
      if (at === bytes.length) return at;
      const end = bytes.indexOf(LINE_END, at);
      if (end < 0) return bytes.length - at > MAX_LINE_BYTES ? bytes.length : at;
      const size = sizeIn(bytes, at, end);
      // The parser refuses it.
      if (size === undefined) return bytes.length;
      if (size === 0) this.#isInTrailers = true;
      else this.#leftBytes = size + LINE_END.length;
      // The end of the line before the trailers may be the first half of the blank line.
      at = size === 0 ? end : end + LINE_END.length;
    }
    return throughBlankLine(bytes, at).length;
  }
}

/** The size of a chunk, in the line from `from` to `end`. */
function sizeIn(bytes: Buffer, from: number, end: number): number | undefined {
  const digits = /^[\da-f]+/i.exec(bytes.toString('latin1', from, Math.min(end, from + SIZE_DIGITS)))?.[0];
  return digits === undefined || digits.length === SIZE_DIGITS ? undefined : Number.parseInt(digits, 16);
}
