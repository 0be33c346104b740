/** Estimates the tokens of texts without a tokenizer, and never by much too few, whatever the text is. */
import { Buffer } from 'node:buffer';
import {
  decodeCharacters,
  decodeLetters,
  decodeSigns,
  decodeWords,
  KEY_MASK,
  MAX_LETTERS,
  MAX_SIGNS,
  SIGN_CODES,
  slotOfSigns,
  slotOfWord,
} from './token-tables.ts';
import { CHARACTERS, LETTERS, SIGNS, UNIT, WORDS } from './token-weights.ts';

/**
 * The tokens of a text, as o200k_base counts them: for any text at least 0.9 of its count, and for English, code and JSON of
 * some hundred tokens at most 1.3. The text is cut where the tokenizer cuts it. A piece that the tables know weighs what it
 * counts; any other weighs as much as the worst piece of the same letters, in the same order, could count.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(weigh(text) / UNIT);
}

/** The tokens of several texts together, rounded up once. */
export function estimateTokensOf(texts: Iterable<string>): number {
  let weight = 0;
  for (const text of texts) weight += weigh(text);
  return Math.ceil(weight / UNIT);
}

const words = decodeWords(WORDS);
const signs = decodeSigns(SIGNS);
const letters = decodeLetters(LETTERS);
const characters = decodeCharacters(CHARACTERS);

/** What a character is to the tokenizer's cutting. */
const LOWER = 0;
const UPPER = 1;
const DIGIT = 2;
const BLANK = 3;
const SIGN = 4;
const BEYOND = 5;
const KINDS = Uint8Array.from({ length: 1 << 16 }, (_, code) => {
  if (code >= 128) return BEYOND;
  const character = String.fromCharCode(code);
  if (character >= 'a' && character <= 'z') return LOWER;
  if (character >= 'A' && character <= 'Z') return UPPER;
  if (character >= '0' && character <= '9') return DIGIT;
  return /\s/.test(character) ? BLANK : SIGN;
});

const TAB = 0x09;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const APOSTROPHE = 0x27;
const SLASH = 0x2f;

/** What comes before a word within its piece. A form's bits are shifted by it, so that a sign reads as the start. */
const NOTHING = 0;
const ONE_SPACE = 1;

/** Signs of which a long run is few tokens. */
const RULES = new Set(Array.from('-=*#_./', (sign) => sign.charCodeAt(0)));
/** A run of one of them is at most two tokens and one for every 16 (measured to 1,000 signs). */
const RULE_SIGNS_PER_TOKEN = 16;
/** Stands for the two signs that end a line in some files. */
const LINE_END = -1;
/** A run of one kind of blank is at most one token and one for so many blanks (measured to 1,000). */
const BLANKS_PER_TOKEN = new Map([
  [SPACE, 16],
  [TAB, 16],
  [NEWLINE, 8],
  [LINE_END, 4],
]);

/** UTF-16 units that are weighed at once. A longer text is cut, at a cost of at most a token for each cut. */
const MOST_UNITS = 16_384;
/** Comes after the last unit: not a character, and so no part of a word. */
const END = 0xffff;
/** The text being weighed: to read it from here takes a third of the time that reading it from a string takes. */
const units = new Uint16Array(MOST_UNITS + 1);
const unitBytes = Buffer.from(units.buffer);
/** What has been weighed of it, in parts of a token. */
let weight = 0;

function weigh(text: string): number {
  weight = 0;
  for (let start = 0; start < text.length; start += MOST_UNITS) {
    const part = text.length <= MOST_UNITS ? text : text.slice(start, start + MOST_UNITS);
    unitBytes.write(part, 0, 'utf16le');
    units[part.length] = END;
    weighUnits(part.length);
  }
  return weight;
}

function weighUnits(length: number): void {
  for (let at = 0; at < length; ) {
    const kind = KINDS[units[at] as number] as number;
    if (kind <= UPPER) at = weighWord(at, NOTHING, false);
    else if (kind === BLANK) at = weighBlanks(at, length);
    else if (kind === SIGN) at = weighSigns(at, false);
    else if (kind === DIGIT) at = weighDigits(at);
    else at = weighBeyond(at, length);
  }
}

/** Upper-case letters, then lower-case ones, and a contraction. `lead` is what came before them within their piece. */
function weighWord(start: number, lead: number, isJoined: boolean): number {
  let at = start;
  let low = 0;
  let high = 0;
  let code = units[at] as number;
  while (code >= 65 && code <= 90) {
    high = (high << 5) | (low >>> 25);
    low = ((low << 5) | (code & 31)) & KEY_MASK;
    code = units[++at] as number;
  }
  const uppers = at - start;
  while (code >= 97 && code <= 122) {
    high = (high << 5) | (low >>> 25);
    low = ((low << 5) | (code & 31)) & KEY_MASK;
    code = units[++at] as number;
  }
  const count = at - start;
  const mayBeKnown =
    (uppers <= 1 || uppers === count) && count <= MAX_LETTERS && !isJoined && (code < 128 || !mayJoin(code));
  if (mayBeKnown && isKnown(low, high & KEY_MASK, formBit(lead, uppers))) weight += UNIT;
  else weighUnknownWord(start, start + uppers, at);
  return code === APOSTROPHE ? weighContraction(at) : at;
}

function weighUnknownWord(start: number, turn: number, end: number): void {
  const { lower, upper, turn: turning } = letters;
  let before = 0;
  let at = start;
  for (; at < turn; at++) {
    before = ((before << 5) | ((units[at] as number) & 31)) & 0x7fff;
    weight += upper[before & 0x3ff] as number;
  }
  if (at > start && at < end) {
    before = ((before << 5) | ((units[at++] as number) & 31)) & 0x7fff;
    weight += turning[before & 0x3ff] as number;
  }
  for (; at < end; at++) {
    before = ((before << 5) | ((units[at] as number) & 31)) & 0x7fff;
    weight += lower[before] as number;
  }
}

/** `'s` and its like belong to the word before them, whatever follows. */
function weighContraction(at: number): number {
  const first = (units[at + 1] as number) | 32;
  if (first === 0x73 || first === 0x64 || first === 0x6d || first === 0x74) {
    weight += UNIT;
    return at + 2;
  }
  const second = (units[at + 2] as number) | 32;
  const isLong = first === 0x6c ? second === 0x6c : (first === 0x76 || first === 0x72) && second === 0x65;
  if (!isLong) return at;
  weight += 3 * UNIT;
  return at + 3;
}

/** Three digits are a token. Of what other scripts count with, each is beyond ASCII. */
function weighDigits(start: number): number {
  let at = start + 1;
  while (KINDS[units[at] as number] === DIGIT) at++;
  weight += UNIT * Math.ceil((at - start) / 3);
  return at;
}

/**
 * White space up to its last line end is one piece, and what follows is one but for its last character. That one goes with
 * the word after it, as a space does with signs; else it is a token.
 */
function weighBlanks(start: number, length: number): number {
  let at = start + 1;
  while (KINDS[units[at] as number] === BLANK) at++;
  const last = units[at - 1] as number;
  const isSplit = at < length && last !== NEWLINE && last !== RETURN;
  if (at - start > 1 || !isSplit) weight += blankWeight(start, isSplit ? at - 1 : at);
  if (!isSplit) return at;
  const kind = KINDS[units[at] as number] as number;
  if (kind <= UPPER && last === SPACE) return weighWord(at, ONE_SPACE, false);
  if (kind === SIGN && last === SPACE) return weighSigns(at, true);
  weight += UNIT;
  return kind <= UPPER ? weighWord(at, NOTHING, false) : at;
}

/** A run of signs with the space before it, and line ends and slashes after it. A single one goes with a word after it. */
function weighSigns(start: number, hasSpace: boolean): number {
  let at = start;
  let key = hasSpace ? (SIGN_CODES[SPACE] as number) : 0;
  let isCoded = true;
  let code = units[at] as number;
  do {
    const sign = SIGN_CODES[code] as number;
    if (sign === 0) isCoded = false;
    key = (key << 6) | sign;
    code = units[++at] as number;
  } while (KINDS[code] === SIGN);
  const count = at - start + (hasSpace ? 1 : 0);
  if (count === 1 && (KINDS[code] as number) <= UPPER) {
    weight += UNIT;
    return weighWord(at, NOTHING, false);
  }
  for (; code === NEWLINE || code === RETURN || code === SLASH; code = units[++at] as number)
    key = (key << 6) | (SIGN_CODES[code] as number);
  const total = at - start + (hasSpace ? 1 : 0);
  const isAlone = (code < 128 || code === END) && (start === 0 || (units[start - 1] as number) < 128);
  if (isCoded && isAlone && total <= MAX_SIGNS && isKnownRun(key)) weight += UNIT;
  else weight += signWeight(start, at) + (hasSpace ? UNIT : 0);
  return at;
}

/** Characters beyond ASCII, each for itself. A word after one that may belong to it is unlike any in the table. */
function weighBeyond(start: number, length: number): number {
  let at = start;
  let tokens = 0;
  let code = units[at] as number;
  let isIndic = false;
  while (code >= 128 && at < length) {
    tokens += characters[code] as number;
    // Tokens of these scripts may begin or end within a character: a run of them has one more at most.
    const wasIndic = isIndic;
    isIndic = code >= 0x0900 && code <= 0x1fff;
    if (isIndic && !wasIndic) tokens++;
    code = units[++at] as number;
  }
  weight += UNIT * tokens;
  return (KINDS[code] as number) <= UPPER ? weighWord(at, NOTHING, mayJoin(units[at - 1] as number)) : at;
}

/** The bit of a word's way of writing: lower case, with a capital, upper case; at the start of a piece, or after a space. */
function formBit(lead: number, uppers: number): number {
  const way = uppers === 0 ? 0 : uppers === 1 ? 1 : 2;
  return (lead === ONE_SPACE ? 2 : 1) << (2 * way);
}

function isKnown(low: number, high: number, form: number): boolean {
  let slot = slotOfWord(low, high);
  for (;;) {
    const forms = words.forms[slot] as number;
    if (forms === 0) return false;
    if (words.low[slot] === low && words.high[slot] === high) return (forms & form) !== 0;
    slot = (slot + 1) & (words.forms.length - 1);
  }
}

function isKnownRun(key: number): boolean {
  let slot = slotOfSigns(key);
  for (;;) {
    const found = signs[slot] as number;
    if (found === key) return true;
    if (found === 0) return false;
    slot = (slot + 1) & (signs.length - 1);
  }
}

/** Each kind of blank in a run is a token, and more of the same hardly more. */
function blankWeight(start: number, end: number): number {
  let sum = 0;
  let last = 0;
  for (let at = start; at < end; at++) {
    let code = units[at] as number;
    if (code === RETURN && at + 1 < end && units[at + 1] === NEWLINE) {
      code = LINE_END;
      at++;
    }
    sum += UNIT / (code === last ? (BLANKS_PER_TOKEN.get(code) ?? 1) : 1);
    last = code;
  }
  return sum;
}

/** Each sign is a token at most, and of a ruled line far less. */
function signWeight(start: number, end: number): number {
  let sum = 0;
  for (let at = start; at < end; ) {
    const code = units[at] as number;
    const from = at;
    do at++;
    while (at < end && units[at] === code);
    const most = at - from;
    sum += UNIT * (RULES.has(code) ? Math.min(most, 2 + most / RULE_SIGNS_PER_TOKEN) : most);
  }
  return sum;
}

/** Whether a character beyond ASCII may be a letter or a mark. Known not to be: punctuation, arrows, mathematics, lines. */
function mayJoin(code: number): boolean {
  return !((code >= 0x2000 && code <= 0x206f) || (code >= 0x2190 && code <= 0x2bff) || code === END);
}
