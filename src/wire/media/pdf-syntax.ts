/**
 * Reads the values that a PDF consists of, keeps those that matter, and refuses what two readers could read
 * differently.
 */

/** A name is a string that begins with its slash. */
export type PdfValue = number | string | Reference | PdfArray | PdfDictionary | typeof UNKEPT;
export type PdfArray = readonly PdfValue[];
/** The members whose names matter. */
export type PdfDictionary = ReadonlyMap<string, PdfValue>;

/** A value that matters nowhere: no integer, no name below, and nothing within a member of another name. */
export const UNKEPT = null;

/** To an object, by its number. Most readers pass over the generation. */
export class Reference {
  readonly number: number;

  constructor(number: number) {
    this.number = number;
  }
}

/** What makes pages that are in no page tree: forms that are laid out anew, attached files, templates, and ciphers. */
const UNCOUNTABLE: ReadonlySet<string> = new Set(
  names('Encrypt', 'XFA', 'NeedsRendering', 'EmbeddedFiles', 'EF', 'Collection', 'Templates'),
);
const MATTERING: ReadonlyMap<number, string> = new Map(
  [
    ...UNCOUNTABLE,
    ...names('Type', 'Pages', 'Page', 'Kids', 'Count', 'Root', 'Linearized'),
    ...names('ObjStm', 'N', 'First', 'XRef', 'W', 'Index', 'Size'),
    ...names('Length', 'Filter', 'FlateDecode', 'DecodeParms', 'Predictor', 'Columns', 'Colors', 'BitsPerComponent'),
    ...names('F', 'FFilter', 'FDecodeParms', 'DP'),
  ].map((name) => [hashOf(name), name]),
);

function names(...words: string[]): string[] {
  return words.map((word) => `/${word}`);
}

/** So that names need not become strings to be looked up. */
function hashOf(name: string): number {
  let hash = 0;
  for (let index = 1; index < name.length; index++) hash = nextHash(hash, name.charCodeAt(index));
  return hash;
}

function nextHash(hash: number, byte: number): number {
  return (Math.imul(hash, 31) + byte) | 0;
}

/** Ordinary files nest some ten levels. */
const MAX_NESTING = 64;
const MAX_KEYWORD_BYTES = 32;
const MAX_DIGITS = 10;

const [REGULAR, BLANK, DELIMITER, REFUSED] = [0, 1, 2, 3];
const CLASSES = new Uint8Array(256);
// Some readers take these control characters for blanks, and others do not: NUL, the vertical tab, the form feed.
CLASSES.fill(REFUSED, 0, 0x20);
for (const byte of Buffer.from('\t\n\r ')) CLASSES[byte] = BLANK;
for (const byte of Buffer.from('()<>[]{}/%')) CLASSES[byte] = DELIMITER;

export function isBlank(byte: number | undefined): boolean {
  return byte !== undefined && CLASSES[byte] === BLANK;
}

/** A byte that is a blank to some readers alone. The last two are to those that take the bytes for characters. */
export function isOddBlank(byte: number | undefined): boolean {
  return byte !== undefined && (CLASSES[byte] === REFUSED || byte === 0x85 || byte === 0xa0);
}

/** A byte that numbers, names and keywords consist of. */
export function isRegular(byte: number | undefined): boolean {
  return byte !== undefined && CLASSES[byte] === REGULAR;
}

export function isDigit(byte: number | undefined): byte is number {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function isPrintable(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x20 && byte < 0x7f;
}

const [OPEN_TEXT, CLOSE_TEXT, BACKSLASH, LETTER_R] = [0x28, 0x29, 0x5c, 0x52];
const [OPEN_ARRAY, CLOSE_ARRAY, LESS, GREATER, SLASH] = [0x5b, 0x5d, 0x3c, 0x3e, 0x2f];
const [PERCENT, NEWLINE, RETURN, NUMBER_SIGN, ZERO, NINE] = [0x25, 0x0a, 0x0d, 0x23, 0x30, 0x39];
const [PLUS, MINUS, POINT] = [0x2b, 0x2d, 0x2e];
const KEYWORDS: ReadonlySet<string> = new Set(['true', 'false', 'null']);
const HEX_TEXT = /^[\da-fA-F\t\n\r ]*$/;
/** An escape that nobody needs, of a letter or digit, hides a name from readers that do not resolve escapes. */
const NEEDLESS_ESCAPE = /#(?:3\d|[46][1-9a-fA-F]|[57][\daA])/;
const NO_MEMBERS: PdfDictionary = new Map();

/** What may still be read, which bounds the time. Whoever reads on elsewhere takes off the bytes that were read. */
export interface Allowance {
  bytes: number;
  values: number;
}

/** Reads values one after the other. Every method returns undefined for what it refuses. */
export class PdfSyntax {
  readonly bytes: Buffer;
  at: number;
  readonly #end: number;
  readonly #allowance: Allowance;

  constructor(bytes: Buffer, at: number, allowance: Allowance = { bytes: bytes.length, values: 0 }) {
    this.bytes = bytes;
    this.at = at;
    this.#end = Math.min(at + allowance.bytes, bytes.length);
    this.#allowance = allowance;
  }

  value(isKept = true, nesting = 0): PdfValue | undefined {
    this.skipBlanks();
    if (this.at >= this.#end || nesting > MAX_NESTING || --this.#allowance.values < 0) return undefined;
    const byte = this.bytes[this.at] as number;
    if (byte === SLASH) return this.#name();
    if (CLASSES[byte] === REGULAR) return this.#numberOrKeyword(isKept);
    if (byte === LESS) return this.bytes[this.at + 1] === LESS ? this.#dictionary(isKept, nesting) : this.#hexText();
    if (byte === OPEN_ARRAY) return this.#array(isKept, nesting);
    return byte === OPEN_TEXT ? this.#text() : undefined;
  }

  /** The keyword or number that is next, without passing over it if it is empty. */
  word(): string {
    this.skipBlanks();
    const start = this.at;
    const end = Math.min(this.#end, start + MAX_KEYWORD_BYTES);
    while (this.at < end && CLASSES[this.bytes[this.at] as number] === REGULAR) this.at++;
    return this.bytes.toString('latin1', start, this.at);
  }

  /** The integer that is next, without a sign. */
  integer(): number | undefined {
    this.skipBlanks();
    const start = this.at;
    let number = 0;
    const end = Math.min(this.#end, start + MAX_DIGITS);
    for (let byte = this.bytes[start]; this.at < end && isDigit(byte); byte = this.bytes[++this.at]) {
      number = number * 10 + byte - ZERO;
    }
    return this.at > start && !isRegular(this.bytes[this.at]) ? number : undefined;
  }

  /** And comments, if they are such that all readers see where they end. */
  skipBlanks(): void {
    while (this.at < this.#end) {
      const byte = this.bytes[this.at] as number;
      if (CLASSES[byte] === BLANK) this.at++;
      else if (byte !== PERCENT || !this.#skipComment()) return;
    }
  }

  #skipComment(): boolean {
    let end = this.at;
    while (end < this.#end && isPrintable(this.bytes[end])) end++;
    if (this.bytes[end] === RETURN) end++;
    if (end >= this.#end || this.bytes[end] !== NEWLINE) return false;
    this.at = end + 1;
    return true;
  }

  #name(): string | typeof UNKEPT | undefined {
    const start = ++this.at;
    let hash = 0;
    let hasEscape = false;
    for (; this.at < this.#end && isRegular(this.bytes[this.at]); this.at++) {
      const byte = this.bytes[this.at] as number;
      hash = nextHash(hash, byte);
      if (byte === NUMBER_SIGN) hasEscape = true;
    }
    if (hasEscape && NEEDLESS_ESCAPE.test(this.bytes.toString('latin1', start, this.at))) return undefined;
    const name = MATTERING.get(hash);
    return name !== undefined && this.#isAt(name, start - 1) ? name : UNKEPT;
  }

  /** Whether what was read since `start` is this name. */
  #isAt(name: string, start: number): boolean {
    if (this.at - start !== name.length) return false;
    for (let index = 0; index < name.length; index++) {
      if (this.bytes[start + index] !== name.charCodeAt(index)) return false;
    }
    return true;
  }

  #numberOrKeyword(isKept: boolean): PdfValue | undefined {
    const start = this.at;
    const integer = this.integer();
    if (integer !== undefined) return this.#isReference() && isKept ? new Reference(integer) : integer;
    this.at = start;
    if (this.#isNumber()) return UNKEPT;
    this.at = start;
    return KEYWORDS.has(this.word()) ? UNKEPT : undefined;
  }

  /** Whether a number follows that is no count of anything, which is then passed over. */
  #isNumber(): boolean {
    if (this.bytes[this.at] === PLUS || this.bytes[this.at] === MINUS) this.at++;
    const whole = this.#skipDigits();
    if (this.bytes[this.at] === POINT) this.at++;
    const isNumber = whole + this.#skipDigits() > 0;
    return isNumber && !isRegular(this.bytes[this.at]);
  }

  #skipDigits(): number {
    const start = this.at;
    while (this.at < this.#end && isDigit(this.bytes[this.at])) this.at++;
    return this.at - start;
  }

  /** Whether a generation and an R follow, which are then passed over. */
  #isReference(): boolean {
    const start = this.at;
    if (this.integer() !== undefined) {
      this.skipBlanks();
      if (this.at < this.#end && this.bytes[this.at] === LETTER_R && !isRegular(this.bytes[this.at + 1])) {
        this.at++;
        return true;
      }
    }
    this.at = start;
    return false;
  }

  #array(isKept: boolean, nesting: number): PdfArray | typeof UNKEPT | undefined {
    this.at++;
    const items: PdfValue[] | typeof UNKEPT = isKept ? [] : UNKEPT;
    while (true) {
      this.skipBlanks();
      if (this.bytes[this.at] === CLOSE_ARRAY) break;
      const item = this.value(isKept, nesting + 1);
      if (item === undefined) return undefined;
      items?.push(item);
    }
    this.at++;
    return items;
  }

  /** Of two members with the same name readers take the first or the last. */
  #dictionary(isKept: boolean, nesting: number): PdfDictionary | typeof UNKEPT | undefined {
    this.at += 2;
    let members: Map<string, PdfValue> | undefined;
    while (true) {
      this.skipBlanks();
      const byte = this.bytes[this.at];
      if (byte === GREATER && this.bytes[this.at + 1] === GREATER) break;
      const name = byte === SLASH ? this.#name() : undefined;
      if (name === undefined || (name !== UNKEPT && (UNCOUNTABLE.has(name) || members?.has(name)))) return undefined;
      const value = this.value(isKept && name !== UNKEPT, nesting + 1);
      if (value === undefined) return undefined;
      if (!isKept || name === UNKEPT) continue;
      members ??= new Map();
      members.set(name, value);
    }
    this.at += 2;
    return isKept ? (members ?? NO_MEMBERS) : UNKEPT;
  }

  /** Parentheses within it are balanced or escaped. */
  #text(): typeof UNKEPT | undefined {
    let open = 0;
    while (this.at < this.#end) {
      const byte = this.bytes[this.at++];
      if (byte === BACKSLASH) this.at++;
      else if (byte === OPEN_TEXT) open++;
      else if (byte === CLOSE_TEXT && --open === 0) return UNKEPT;
    }
    return undefined;
  }

  #hexText(): typeof UNKEPT | undefined {
    const close = this.bytes.subarray(0, this.#end).indexOf(GREATER, this.at);
    if (close < 0 || !HEX_TEXT.test(this.bytes.toString('latin1', this.at + 1, close))) return undefined;
    this.at = close + 1;
    return UNKEPT;
  }
}
