/** Server-sent events: splits a byte stream into events, and parses their fields. */

/**
 * An event with its trailing blank lines, or a piece of an oversized one. Concatenated, the bytes of all events are the
 * stream.
 */
export interface SseEvent {
  readonly bytes: Buffer;
  /** The event's data lines, joined; undefined for comments, blank lines and oversized events. */
  readonly data: string | undefined;
  /** The value of the `event` field. */
  readonly name: string | undefined;
  /** False for all but the last piece of an oversized event. */
  readonly complete: boolean;
}

/** Bytes of an event to buffer for parsing. Longer events are oversized and forwarded in pieces. */
export const MAX_EVENT_BYTES = 1024 * 1024;
/** The limit for streams whose events may contain whole images. */
export const MAX_IMAGE_EVENT_BYTES = 64 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const NO_BYTES = Buffer.alloc(0);

/** Splits a stream into events. */
export interface EventSplitter {
  /** The bytes of the incomplete event at the end. */
  readonly pendingBytes: number;
  /** Whether the next byte starts an event whose end can be found without earlier bytes. */
  readonly isBetweenEvents: boolean;
  /** Returns the events that this chunk completes. */
  push(chunk: Buffer): SseEvent[];
  /** Returns the remaining event if the stream ends without a blank line. */
  end(): SseEvent | undefined;
}

/** Accepts LF, CRLF and CR as line ends. Chunks may end at any byte. */
export class SseSplitter implements EventSplitter {
  readonly #maxEventBytes: number;
  #pending: Buffer = NO_BYTES;
  #lineIsEmpty = true;
  #lastWasCr = false;
  #atStart = true;
  /** Whether the current event exceeds the maximum. */
  #oversized = false;

  constructor(maxEventBytes = MAX_EVENT_BYTES) {
    this.#maxEventBytes = maxEventBytes;
  }

  push(chunk: Buffer): SseEvent[] {
    const held = this.#pending.length;
    const bytes = held === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const hasCr = this.#lastWasCr || chunk.includes(CR);
    const ends = hasCr ? this.#endsOfAnyLines(bytes, held) : this.#endsOfLfLines(bytes, held);
    const events: SseEvent[] = [];
    let start = 0;
    for (const end of ends) {
      events.push(this.#event(bytes.subarray(start, end)));
      start = end;
    }
    this.#pending = kept(bytes.subarray(start));
    if (this.#oversized || this.#pending.length > this.#maxEventBytes) events.push(...this.#takeOversized());
    return events;
  }

  get isBetweenEvents(): boolean {
    return this.#pending.length === 0 && !this.#oversized && !this.#lastWasCr && !this.#atStart;
  }

  get pendingBytes(): number {
    return this.#pending.length;
  }

  end(): SseEvent | undefined {
    if (this.#pending.length === 0) return undefined;
    const event = this.#event(this.#pending);
    this.#pending = NO_BYTES;
    return event;
  }

  /** Returns the ends of events in bytes without CR, the common case: jumps between line ends. */
  #endsOfLfLines(bytes: Buffer, from: number): number[] {
    const ends: number[] = [];
    let at = from;
    while (at < bytes.length) {
      const lineEnd = bytes.indexOf(LF, at);
      if (lineEnd < 0) {
        this.#lineIsEmpty = false;
        break;
      }
      const isBlank = lineEnd === at && this.#lineIsEmpty;
      this.#lineIsEmpty = true;
      at = lineEnd + 1;
      if (!isBlank) continue;
      at = endOfBlanks(bytes, at);
      ends.push(at);
    }
    return ends;
  }

  /** Returns the ends of events with any line ends, byte by byte. */
  #endsOfAnyLines(bytes: Buffer, from: number): number[] {
    const ends: number[] = [];
    for (let at = from; at < bytes.length; ) {
      if (!this.#endsEvent(bytes[at++] as number)) continue;
      at = endOfBlanks(bytes, at);
      this.#lastWasCr = bytes[at - 1] === CR;
      ends.push(at);
    }
    return ends;
  }

  /** Reads one byte; returns whether it completes the blank line after an event. */
  #endsEvent(byte: number): boolean {
    if (byte === LF && this.#lastWasCr) {
      this.#lastWasCr = false;
      return false;
    }
    this.#lastWasCr = byte === CR;
    const endsLine = byte === LF || byte === CR;
    const endsEvent = endsLine && this.#lineIsEmpty;
    this.#lineIsEmpty = endsLine;
    return endsEvent;
  }

  #takeOversized(): SseEvent[] {
    const bytes = this.#pending;
    this.#pending = NO_BYTES;
    this.#oversized = true;
    return bytes.length === 0 ? [] : [{ bytes, data: undefined, name: undefined, complete: false }];
  }

  #event(bytes: Buffer): SseEvent {
    if (this.#oversized) {
      this.#oversized = false;
      return { bytes, data: undefined, name: undefined, complete: true };
    }
    const isFirst = this.#atStart;
    this.#atStart = false;
    return new WholeEvent(bytes, isFirst);
  }
}

/** An event that parses its fields on first use, since most events are never parsed. */
class WholeEvent implements SseEvent {
  readonly bytes: Buffer;
  readonly complete = true;
  readonly #isFirst: boolean;
  #fields: ReturnType<typeof readFields> | undefined;

  constructor(bytes: Buffer, isFirst: boolean) {
    this.bytes = bytes;
    this.#isFirst = isFirst;
  }

  get data(): string | undefined {
    return this.#read().data;
  }

  get name(): string | undefined {
    return this.#read().name;
  }

  #read(): ReturnType<typeof readFields> {
    if (this.#fields === undefined) {
      const text = this.bytes.toString('utf8', 0, startOfBlanks(this.bytes));
      this.#fields = readFields(this.#isFirst && text.startsWith('\ufeff') ? text.slice(1) : text);
    }
    return this.#fields;
  }
}

/** Returns the end of blank lines. They belong to the preceding event, since each would cost as much as an event. */
function endOfBlanks(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === LF || bytes[at] === CR) at++;
  return at;
}

/** Returns the start of the trailing line ends. */
function startOfBlanks(bytes: Buffer): number {
  let end = bytes.length;
  while (bytes[end - 1] === LF || bytes[end - 1] === CR) end--;
  return end;
}

/** Copies a small slice outside of Node's 64 KB pool, since a slice keeps its whole buffer in memory. */
function kept(rest: Buffer): Buffer {
  if (rest.length >= rest.buffer.byteLength / 2) return rest;
  const copy = Buffer.allocUnsafeSlow(rest.length);
  rest.copy(copy);
  return copy;
}

function readFields(text: string): { data: string | undefined; name: string | undefined } {
  const data: string[] = [];
  let name: string | undefined;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const colon = line.indexOf(':');
    if (colon === 0 || line === '') continue;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') data.push(value);
    else if (field === 'event') name = value;
  }
  return { data: data.length === 0 ? undefined : data.join('\n'), name };
}

export const DONE_EVENT = 'data: [DONE]\n\n';
export const DONE = '[DONE]';

export function dataEvent(data: string): string {
  return `data: ${data}\n\n`;
}

/** Formats an event with one line of data and an optional name. */
export function namedEvent(name: string | undefined, data: string): string {
  return name === undefined ? dataEvent(data) : `event: ${name}\n${dataEvent(data)}`;
}
