/** Parses the answers on one connection, only as far as the load generator needs. */

const LF = 0x0a;
const END_OF_HEAD = '\r\n\r\n';
const END_OF_LINE = '\r\n';
/** Of the body of an answer that is no 200. */
const MAX_SHOWN_BYTES = 400;

/** The position within an answer. In a chunked body, a line with its length precedes each chunk. */
type Place = 'head' | 'body' | 'chunk_size' | 'chunk' | 'chunk_end' | 'last_chunk_end';

/**
 * Reads one answer at a time: `take` returns true when it is complete, and the next bytes start
 * another one.
 */
export class ResponseReader {
  status = 0;
  /** Bytes of the body so far. */
  bodyBytes = 0;
  /** Line feeds in the body so far: an event of a stream has two. */
  lineFeeds = 0;
  /** The beginning of a body that says why there was no 200. */
  #shown = '';
  #place: Place = 'head';
  /** How many bytes are missing from the body, the chunk, or the line break after it. */
  #left = 0;
  #pending: Buffer | undefined;

  /** What went wrong; undefined if the answer is a 200. */
  get failure(): string | undefined {
    return this.status === 200 ? undefined : `the server answered ${this.status}: ${this.#shown}`;
  }

  /** True if these bytes complete the answer. Keeps no reference to them. */
  take(received: Buffer): boolean {
    const bytes = this.#pending === undefined ? received : Buffer.concat([this.#pending, received]);
    this.#pending = undefined;
    let at = 0;
    while (at < bytes.length) {
      const taken = this.#isAtLine() ? this.#takeLine(bytes, at) : this.#takeBody(bytes, at);
      if (taken === 0) {
        this.#pending = Buffer.from(bytes.subarray(at));
        return false;
      }
      at += taken;
      if (this.#isComplete()) {
        this.#place = 'head';
        return true;
      }
    }
    return false;
  }

  #isAtLine(): boolean {
    return this.#place === 'head' || this.#place === 'chunk_size';
  }

  #isComplete(): boolean {
    return this.#left === 0 && (this.#place === 'body' || this.#place === 'last_chunk_end');
  }

  /**
   * Takes a head, or a line with the length of a chunk. Returns the bytes taken; 0 while it is
   * incomplete.
   */
  #takeLine(bytes: Buffer, from: number): number {
    const end = bytes.indexOf(this.#place === 'head' ? END_OF_HEAD : END_OF_LINE, from, 'latin1');
    if (end < 0) return 0;
    const text = bytes.toString('latin1', from, end);
    if (this.#place === 'head') {
      this.#beginBody(text);
      return end + END_OF_HEAD.length - from;
    }
    const size = Number.parseInt(text, 16);
    this.#place = size === 0 ? 'last_chunk_end' : 'chunk';
    this.#left = size === 0 ? END_OF_LINE.length : size;
    return end + END_OF_LINE.length - from;
  }

  #beginBody(head: string): void {
    this.status = Number(head.slice(9, 12));
    this.bodyBytes = 0;
    this.lineFeeds = 0;
    this.#shown = '';
    const length = /\ncontent-length: *(\d+)/i.exec(head)?.[1];
    this.#place = length === undefined ? 'chunk_size' : 'body';
    this.#left = Number(length ?? 0);
  }

  /**
   * Takes what has arrived of a body, a chunk, or the line break after it. Returns the bytes taken.
   */
  #takeBody(bytes: Buffer, from: number): number {
    const taken = Math.min(this.#left, bytes.length - from);
    this.#left -= taken;
    if (this.#place === 'body') this.bodyBytes += taken;
    if (this.status !== 200 && (this.#place === 'body' || this.#place === 'chunk')) {
      this.#shown = (this.#shown + bytes.toString('utf8', from, from + taken)).slice(0, MAX_SHOWN_BYTES);
    }
    if (this.#place === 'chunk') this.#readChunk(bytes, from, from + taken);
    if (this.#left === 0 && this.#place !== 'body') this.#endPart();
    return taken;
  }

  #readChunk(bytes: Buffer, from: number, to: number): void {
    this.bodyBytes += to - from;
    for (let at = bytes.indexOf(LF, from); at >= 0 && at < to; at = bytes.indexOf(LF, at + 1)) this.lineFeeds++;
  }

  #endPart(): void {
    if (this.#place === 'chunk') {
      this.#place = 'chunk_end';
      this.#left = END_OF_LINE.length;
    } else if (this.#place === 'chunk_end') {
      this.#place = 'chunk_size';
    }
  }
}
