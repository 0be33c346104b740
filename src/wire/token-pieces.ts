/** Splits non-ASCII text into pieces, as o200k_base does before it merges bytes. */

/** Character sets of the encoding's pattern, as flags. Caseless letters and marks are in both UPPER and LOWER. */
const UPPER = 1;
const LOWER = 2;
const NUMBER = 4;
const BLANK = 8;
const LINE_END = 16;
/** Neither blank, letter nor number. Includes marks. */
const SIGN = 32;
/** May precede a word within its piece: neither line end, letter nor number. */
const LEAD = 64;

const SETS: readonly (readonly [RegExp, number])[] = [
  [/\p{Ll}/u, LOWER],
  [/[\p{Lu}\p{Lt}]/u, UPPER],
  [/\p{L}/u, UPPER | LOWER],
  [/\p{M}/u, UPPER | LOWER | SIGN | LEAD],
  [/\p{N}/u, NUMBER],
  [/[\r\n]/, BLANK | LINE_END],
  [/\s/, BLANK | LEAD],
];

/** Flags by code point, 0 until first use. Allocated with the first text, since 1.1 MB would burden each start. */
let flagsOf = new Uint8Array(0);
const CODE_POINTS = 0x110000;
const SPACE = 0x20;
const APOSTROPHE = 0x27;

/** The text in UTF-8, and its length in bytes. */
let bytes: Uint8Array;
let length = 0;
/** Bytes of the last read character. */
let width = 0;

/** Calls `take` with the start and the end of each piece of a text in UTF-8. */
export function eachPiece(text: Uint8Array, size: number, take: (start: number, end: number) => void): void {
  if (flagsOf.length === 0) flagsOf = new Uint8Array(CODE_POINTS);
  bytes = text;
  length = size;
  for (let start = 0; start < size; ) {
    const end = pieceEnd(start);
    take(start, end);
    start = end;
  }
}

/** Tries the alternatives of the pattern in order: a word, numbers, signs, blanks. */
function pieceEnd(start: number): number {
  const flags = flagsAt(start);
  const next = start + width;
  if ((flags & (UPPER | LOWER)) !== 0) return contractionEnd(wordEnd(start));
  if ((flags & LEAD) !== 0) {
    const end = wordEnd(next);
    if (end > next) return contractionEnd(end);
  }
  if ((flags & NUMBER) !== 0) return runEnd(runEnd(next, NUMBER, 1), NUMBER, 1);
  const signs = bytes[start] === SPACE ? next : start;
  const end = runEnd(signs, SIGN);
  return end > signs ? lineEnd(end) : blankEnd(start);
}

/** Returns the flags of the character at an offset, 0 after the end. */
function flagsAt(at: number): number {
  if (at >= length) return 0;
  const code = codeAt(at);
  const flags = flagsOf[code] as number;
  if (flags !== 0) return flags;
  const character = String.fromCodePoint(code);
  const found = SETS.find(([set]) => set.test(character))?.[1] ?? SIGN | LEAD;
  flagsOf[code] = found;
  return found;
}

function codeAt(at: number): number {
  const first = bytes[at] as number;
  if (first < 0x80) {
    width = 1;
    return first;
  }
  const second = (bytes[at + 1] as number) & 63;
  if (first < 0xe0) {
    width = 2;
    return ((first & 31) << 6) | second;
  }
  const third = (bytes[at + 2] as number) & 63;
  if (first < 0xf0) {
    width = 3;
    return ((first & 15) << 12) | (second << 6) | third;
  }
  width = 4;
  return ((first & 7) << 18) | (second << 12) | (third << 6) | ((bytes[at + 3] as number) & 63);
}

/** Returns the end of a run of at most `most` characters of a set. */
function runEnd(start: number, set: number, most = Infinity): number {
  let at = start;
  for (let count = 0; count < most && (flagsAt(at) & set) !== 0; count++) at += width;
  return at;
}

/**
 * Returns the end of upper-case letters and following lower-case ones. Without the latter, a word ends with its last letter
 * that also counts as lower case.
 */
function wordEnd(start: number): number {
  let at = start;
  let uncased = 0;
  let flags = flagsAt(at);
  for (; (flags & UPPER) !== 0; flags = flagsAt(at)) {
    at += width;
    if ((flags & LOWER) !== 0) uncased = at;
  }
  if ((flags & LOWER) !== 0) return runEnd(at, LOWER);
  return uncased === 0 ? at : uncased;
}

/** Returns the end of a contraction such as `'s`, which belongs to the preceding word, in either case. */
function contractionEnd(at: number): number {
  if (bytes[at] !== APOSTROPHE || at + 1 >= length) return at;
  const first = String.fromCharCode(bytes[at + 1] as number).toLowerCase();
  if ('sdmt'.includes(first)) return at + 2;
  if (at + 2 >= length) return at;
  const both = first + String.fromCharCode(bytes[at + 2] as number).toLowerCase();
  return both === 'll' || both === 've' || both === 're' ? at + 3 : at;
}

/** Returns the end of line ends and slashes, which belong to the preceding signs. */
function lineEnd(start: number): number {
  let at = start;
  while (at < length && '\r\n/'.includes(String.fromCharCode(bytes[at] as number))) at++;
  return at;
}

/**
 * Returns the end of whitespace up to its last line end. Without a line end it excludes the last character, which belongs
 * to the next piece.
 */
function blankEnd(start: number): number {
  let at = start;
  let last = start;
  let line = 0;
  for (let flags = flagsAt(at); (flags & BLANK) !== 0; flags = flagsAt(at)) {
    last = at;
    at += width;
    if ((flags & LINE_END) !== 0) line = at;
  }
  if (line > 0) return line;
  return at === length || last === start ? at : last;
}
