/**
 * Splits a stream of Google's dialect into events. Its hosts send server-sent events or, by default, a JSON array. The
 * first byte decides, since a host may ignore the requested format.
 */
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../core/json-text.ts';
import { type EventSplitter, type SseEvent, SseSplitter } from './sse.ts';

const NO_BYTES = Buffer.alloc(0);
/** Whitespace, and the bytes of a byte order mark. */
const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);
/** After more blanks the stream counts as server-sent events. */
const MAX_BLANK_BYTES = 64 * 1024;

export class PieceSplitter implements EventSplitter {
  readonly #maxEventBytes: number;
  #blanks: Buffer = NO_BYTES;
  #splitter: EventSplitter | undefined;

  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  get pendingBytes(): number {
    return this.#splitter?.pendingBytes ?? 0;
  }

  get isBetweenEvents(): boolean {
    return this.#splitter?.isBetweenEvents ?? false;
  }

  push(chunk: Buffer): SseEvent[] {
    if (this.#splitter !== undefined) return this.#splitter.push(chunk);
    const first = chunk.find((code) => !BLANKS.has(code));
    const bytes = Buffer.concat([this.#blanks, chunk]);
    if (first === undefined && bytes.length <= MAX_BLANK_BYTES) {
      this.#blanks = bytes;
      return [];
    }
    this.#blanks = NO_BYTES;
    const isJson = first === OPEN_BRACKET || first === OPEN_BRACE;
    this.#splitter = isJson ? new JsonSplitter(this.#maxEventBytes) : new SseSplitter(this.#maxEventBytes);
    return this.#splitter.push(bytes);
  }

  end(): SseEvent | undefined {
    return this.#splitter?.end();
  }
}

/** Turns each object in an array, or a single object, into an event. Chunks may end at any byte. */
class JsonSplitter implements EventSplitter {
  /** The events differ from the bytes of the stream. */
  readonly isBetweenEvents = false;
  readonly #maxEventBytes: number;
  /** The received part of the current object. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** Number of open objects and arrays, including the current object. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  push(chunk: Buffer): SseEvent[] {
    const events: SseEvent[] = [];
    let start = this.#depth > 0 ? 0 : chunk.length;
    for (let at = 0; at < chunk.length; at++) {
      const before = this.#depth;
      this.#read(chunk[at] as number);
      if (before === 0 && this.#depth > 0) start = at;
      if (before === 0 || this.#depth > 0) continue;
      events.push(this.#take(chunk.subarray(start, at + 1)));
      start = chunk.length;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
    if (this.#pendingBytes > this.#maxEventBytes) events.push(this.#take(NO_BYTES));
    return events;
  }

  /** Ignores a truncated object. */
  end(): undefined {}

  #read(code: number): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (code === BACKSLASH) this.#isEscaped = true;
      else if (code === QUOTE) this.#isInString = false;
    } else if (code === QUOTE) {
      this.#isInString = true;
    } else if (code === OPEN_BRACE || (code === OPEN_BRACKET && this.#depth > 0)) {
      this.#depth++;
    } else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && this.#depth > 0) {
      this.#depth--;
    }
  }

  #keep(bytes: Buffer): void {
    // A view would keep the whole chunk in memory.
    this.#pending.push(Buffer.from(bytes));
    this.#pendingBytes += bytes.length;
  }

  /**
   * Returns the event of the object that these bytes complete. An oversized object is truncated, which makes the event
   * invalid.
   */
  #take(bytes: Buffer): SseEvent {
    // Valid JSON has line ends only in whitespace.
    const data = Buffer.concat([...this.#pending, bytes])
      .toString('utf8')
      .replaceAll(/[\r\n]/g, ' ');
    this.#pending = [];
    this.#pendingBytes = 0;
    return { bytes: Buffer.from(`data: ${data}\r\n\r\n`), data, name: undefined, complete: true };
  }
}
