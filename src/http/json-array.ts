/** Converts a stream of events to a JSON array of their data, for Google clients without `alt=sse`. Pure. */

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const DATA = Buffer.from('data:');
const BEGIN = Buffer.from('[');
const SEPARATOR = Buffer.from(',\r\n');
const END = Buffer.from(']');
/** Replaces a keep-alive comment. JSON permits white space between items. */
const NOTHING = Buffer.from('\n');

/** The state of the current line. */
type Line =
  /** The line may begin with `data:`, of which `matched` bytes have arrived. */
  | { readonly kind: 'prefix'; readonly matched: number }
  /** A space may follow the prefix. */
  | { readonly kind: 'data'; readonly isAtStart: boolean }
  | { readonly kind: 'other'; readonly isComment: boolean };

const NEW_LINE: Line = { kind: 'prefix', matched: 0 };

/** Accepts events cut at any byte, and buffers no data. */
export class JsonArray {
  readonly contentType = 'application/json; charset=utf-8';
  #line: Line = NEW_LINE;
  #items = 0;
  /** The current event has data, which may span several lines. */
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

  /** Reads to the end of the line or of the bytes. Returns the offset where it stopped. */
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
    // The LF of a CRLF does not end a second line.
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
