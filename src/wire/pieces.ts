/**
 * Splits a stream of Google's dialect into events. Its hosts send server-sent events or, unless they are asked for those, an
 * array of JSON. The first byte decides, since a host may ignore the form that a request asks for.
 */
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../core/json-text.ts';
import { type EventSplitter, type SseEvent, SseSplitter } from './sse.ts';

const NO_BYTES = Buffer.alloc(0);
/** White space, and the bytes of a byte order mark. */
const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);
/** A stream with more blanks before its first event counts as one of server-sent events. */
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

/** Makes an event of each object in an array, or of an object by itself. Takes chunks that are cut anywhere. */
class JsonSplitter implements EventSplitter {
  /** Its events have other bytes than the stream. */
  readonly isBetweenEvents = false;
  readonly #maxEventBytes: number;
  /** The part of the current object that has arrived. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** How many objects and arrays are open, from the current object on. */
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

  /** An object that is cut off is no event. */
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
    // A view would keep all of the chunk in memory.
    this.#pending.push(Buffer.from(bytes));
    this.#pendingBytes += bytes.length;
  }

  /** The event of the object that these bytes complete. An object that is too long is cut, so that it is no valid event. */
  #take(bytes: Buffer): SseEvent {
    // In valid JSON, only white space has line ends.
    const data = Buffer.concat([...this.#pending, bytes])
      .toString('utf8')
      .replaceAll(/[\r\n]/g, ' ');
    this.#pending = [];
    this.#pendingBytes = 0;
    return { bytes: Buffer.from(`data: ${data}\r\n\r\n`), data, name: undefined, complete: true };
  }
}
