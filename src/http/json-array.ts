/** A stream of events as one JSON array of their data: what Google's clients get that do not ask for events. Pure. */

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const DATA = Buffer.from('data:');
const BEGIN = Buffer.from('[');
const SEPARATOR = Buffer.from(',\r\n');
const END = Buffer.from(']');
/** In the place of a comment that keeps a connection open. White space may stand between all items. */
const NOTHING = Buffer.from('\n');

/** What is known of the line that is being read. */
type Line =
  /** It may begin with `data:`, of which this many bytes have come. */
  | { readonly kind: 'prefix'; readonly matched: number }
  /** A space may follow the prefix. */
  | { readonly kind: 'data'; readonly isAtStart: boolean }
  | { readonly kind: 'other'; readonly isComment: boolean };

const NEW_LINE: Line = { kind: 'prefix', matched: 0 };

/** Takes events that are cut anywhere, and keeps nothing of them. */
export class JsonArray {
  readonly contentType = 'application/json; charset=utf-8';
  #line: Line = NEW_LINE;
  #items = 0;
  /** Of the current event: its data may stand in several lines. */
  #hasData = false;
  /** The last byte was a CR: an LF that follows is part of the same line end. */
  #isAfterCr = false;

  push(bytes: Buffer): Buffer {
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) at = this.#read(bytes, at, pieces);
    return Buffer.concat(pieces);
  }

  end(): Buffer {
    return this.#items === 0 ? Buffer.concat([BEGIN, END]) : END;
  }

  /** Reads from here to the end of the line, or as much of it as is there. Returns where it has stopped. */
  #read(bytes: Buffer, at: number, pieces: Buffer[]): number {
    const code = bytes[at] as number;
    if (code === LF || code === CR) return this.#endLine(at, code, pieces);
    this.#isAfterCr = false;
    const line = this.#line;
    if (line.kind === 'prefix') {
      const matched = line.matched + 1;
      if (code !== DATA[line.matched]) this.#line = { kind: 'other', isComment: line.matched === 0 && code === 0x3a };
      else if (matched < DATA.length) this.#line = { kind: 'prefix', matched };
      else this.#beginData(pieces);
      return at + 1;
    }
    const end = endOfLine(bytes, at);
    if (line.kind === 'data') {
      pieces.push(bytes.subarray(line.isAtStart && code === SPACE ? at + 1 : at, end));
      this.#line = { kind: 'data', isAtStart: false };
    }
    return end;
  }

  #beginData(pieces: Buffer[]): void {
    this.#line = { kind: 'data', isAtStart: true };
    if (this.#hasData) return;
    this.#hasData = true;
    pieces.push(this.#items++ === 0 ? BEGIN : SEPARATOR);
  }

  #endLine(at: number, code: number, pieces: Buffer[]): number {
    const line = this.#line;
    // The LF of a CRLF ends no line of its own.
    const isRest = code === LF && this.#isAfterCr;
    this.#isAfterCr = code === CR;
    if (isRest) return at + 1;
    if (line.kind === 'data' || (line.kind === 'other' && line.isComment)) pieces.push(NOTHING);
    if (line.kind === 'prefix' && line.matched === 0) this.#hasData = false;
    this.#line = NEW_LINE;
    return at + 1;
  }
}

function endOfLine(bytes: Buffer, from: number): number {
  const ends = [bytes.indexOf(LF, from), bytes.indexOf(CR, from)].filter((end) => end >= 0);
  return ends.length === 0 ? bytes.length : Math.min(...ends);
}
