/** Reads the answers on one connection, as little of them as the load generator has to know. */

const LF = 0x0a;
const END_OF_HEAD = '\r\n\r\n';
const END_OF_LINE = '\r\n';

/** Where in an answer the reader stands. Chunks of a chunked body have a line with their length before them. */
type Place = 'head' | 'body' | 'chunk_size' | 'chunk' | 'chunk_end' | 'last_chunk_end';

/** One answer at a time: `take` tells when it is complete, and the next bytes begin another one. */
export class ResponseReader {
  status = 0;
  /** Bytes of the body so far. */
  bodyBytes = 0;
  /** Line feeds in the body so far: an event of a stream has two. */
  lineFeeds = 0;
  #place: Place = 'head';
  /** What is missing of the body, of a chunk, or of the line end after it. */
  #left = 0;
  #pending: Buffer | undefined;

  /** True when these bytes complete the answer. Keeps none of them beyond the call. */
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

  /** Takes a head, or a line with the length of a chunk; 0 where it is not all there. */
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
    const length = /\ncontent-length: *(\d+)/i.exec(head)?.[1];
    this.#place = length === undefined ? 'chunk_size' : 'body';
    this.#left = Number(length ?? 0);
  }

  /** Takes what there is of a body, of a chunk, or of its line end. */
  #takeBody(bytes: Buffer, from: number): number {
    const taken = Math.min(this.#left, bytes.length - from);
    this.#left -= taken;
    if (this.#place === 'body') this.bodyBytes += taken;
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
