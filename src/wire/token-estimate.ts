/** Estimates the tokens of texts fast, and for any text to at least 0.9 of the exact count. */
import { Buffer } from 'node:buffer';
import { countTokens } from './byte-pairs.ts';
import { eachPiece } from './token-pieces.ts';
import { blankWeight, NEWLINE, RETURN, SPACE, signWeight } from './token-runs.ts';
import {
  BLANK,
  DIGIT,
  END,
  fillTables,
  KEY_MASK,
  KINDS,
  LEAD_OF,
  LEADS_SHIFT,
  letters,
  MAX_LETTERS,
  MAX_SIGNS,
  MORE_SHIFT,
  NOTHING,
  ONE_SPACE,
  OTHER_SIGN,
  placeBehind,
  placeOfWord,
  SIGN,
  SIGN_CODES,
  signs,
  slotOfSigns,
  UNSAFE_LEADS,
  UPPER,
  words,
} from './token-tables.ts';
import { UNIT } from './token-weights.ts';

/**
 * Estimates a text's tokens in o200k_base: at least 0.9 of the count for any text, and at most 1.5 for running text of some
 * hundred tokens in any language (docs/limits.md). Non-ASCII text is counted with the vocabulary's first tokens. ASCII text
 * is split like in the tokenizer. A piece in the tables weighs its count; any other piece weighs as much as the worst piece
 * with the same letters in the same order.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(weigh(text) / UNIT);
}

/** Returns the weight of a text, for adding up pieces: a whole number of {@link WEIGHT_PER_TOKEN}ths of a token. */
export function tokenWeight(text: string): number {
  return weigh(text);
}

export const WEIGHT_PER_TOKEN = UNIT;

/** Estimates the tokens of several texts, rounded up once. */
export function estimateTokensOf(texts: Iterable<string>): number {
  let weight = 0;
  for (const text of texts) weight += weigh(text);
  return Math.ceil(weight / UNIT);
}

const APOSTROPHE = 0x27;
const SLASH = 0x2f;

/** UTF-16 units per pass. Longer texts are split, at a cost of at most a token per split. */
const MOST_UNITS = 16_384;
/** The current text. Reading it from here takes a third of the time of reading a string. */
const units = new Uint16Array(MOST_UNITS + 1);
const unitBytes = Buffer.from(units.buffer);
/** The current text in UTF-8, if it is not ASCII. */
const bytes = Buffer.allocUnsafeSlow(3 * MOST_UNITS);
/** The weight of its processed part, in fractions of a token. */
let weight = 0;

function weigh(text: string): number {
  fillTables();
  let sum = 0;
  for (let start = 0; start < text.length; start += MOST_UNITS) {
    const part = text.length <= MOST_UNITS ? text : text.slice(start, start + MOST_UNITS);
    unitBytes.write(part, 0, 'utf16le');
    units[part.length] = END;
    weight = 0;
    sum += weighAscii(part.length) ? weight : UNIT * countBeyond(part);
  }
  return sum;
}

function countBeyond(text: string): number {
  let tokens = 0;
  eachPiece(bytes, bytes.write(text), (start, end) => {
    tokens += countTokens(bytes, start, end);
  });
  return tokens;
}

/** Returns false at the first non-ASCII character. */
function weighAscii(length: number): boolean {
  for (let at = 0; at < length; ) {
    const code = units[at] as number;
    // The common case: words separated by one space.
    if (code === SPACE && ((units[at + 1] as number) - 97) >>> 0 < 26) {
      at = weighSpaced(at + 1);
      continue;
    }
    const kind = KINDS[code] as number;
    if (kind <= UPPER) at = weighWord(at, NOTHING);
    else if (kind === BLANK) at = weighBlanks(at, length);
    else if (kind === SIGN) at = weighSigns(at, false);
    else if (kind === DIGIT) at = weighDigits(at);
    else return false;
  }
  return true;
}

/** Weighs a lower-case word after a space: the common case of weighWord. */
function weighSpaced(start: number): number {
  let at = start;
  let low = 0;
  let high = 0;
  let code = units[at] as number;
  do {
    high = (high << 5) | (low >>> 25);
    low = ((low << 5) | (code & 31)) & KEY_MASK;
    code = units[++at] as number;
  } while ((code - 97) >>> 0 < 26);
  const known = at - start <= MAX_LETTERS ? knownTokens(low, high & KEY_MASK, LOWER_SPACED, ONE_SPACE) : 0;
  if (known > 0) weight += UNIT * known;
  else weighUnknownWord(start, start, at);
  return code === APOSTROPHE ? weighContraction(at) : at;
}

/** Weighs upper-case letters, then lower-case ones, and a contraction. `lead`: the preceding sign within the piece. */
function weighWord(start: number, lead: number): number {
  let at = start;
  let low = 0;
  let high = 0;
  let code = units[at] as number;
  while ((code - 65) >>> 0 < 26) {
    high = (high << 5) | (low >>> 25);
    low = ((low << 5) | (code & 31)) & KEY_MASK;
    code = units[++at] as number;
  }
  const uppers = at - start;
  while ((code - 97) >>> 0 < 26) {
    high = (high << 5) | (low >>> 25);
    low = ((low << 5) | (code & 31)) & KEY_MASK;
    code = units[++at] as number;
  }
  const count = at - start;
  const mayBeKnown = (uppers <= 1 || uppers === count) && count <= MAX_LETTERS;
  const known = mayBeKnown ? knownTokens(low, high & KEY_MASK, formBit(lead, uppers), lead) : 0;
  if (known > 0) weight += UNIT * known;
  else {
    if (lead >= OTHER_SIGN) weight += UNIT;
    weighUnknownWord(start, start + uppers, at);
  }
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

/** Weighs `'s` and other contractions, which belong to the preceding word, whatever follows. */
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

/** Weighs digits: three are a token. */
function weighDigits(start: number): number {
  let at = start + 1;
  while (KINDS[units[at] as number] === DIGIT) at++;
  weight += UNIT * Math.ceil((at - start) / 3);
  return at;
}

/**
 * Weighs whitespace. Up to its last line end it is one piece, and the rest except its last character is another. The last
 * character belongs to the next word or, if it is a space, to following signs; otherwise it is a token.
 */
function weighBlanks(start: number, length: number): number {
  let at = start + 1;
  while (KINDS[units[at] as number] === BLANK) at++;
  const last = units[at - 1] as number;
  const isSplit = at < length && last !== NEWLINE && last !== RETURN;
  if (at - start > 1 || !isSplit) weight += blankWeight(units, start, isSplit ? at - 1 : at);
  if (!isSplit) return at;
  const kind = KINDS[units[at] as number] as number;
  if (kind <= UPPER && last === SPACE) return weighWord(at, ONE_SPACE);
  if (kind === SIGN && last === SPACE) return weighSigns(at, true);
  if (kind <= UPPER) return weighWord(at, LEAD_OF[last] as number);
  weight += UNIT;
  return at;
}

/**
 * Weighs a run of signs with the space before it, and line ends and slashes after it. A single sign belongs to the next
 * word.
 */
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
  if (count === 1 && (KINDS[code] as number) <= UPPER) return weighWord(at, LEAD_OF[units[start] as number] as number);
  for (; code === NEWLINE || code === RETURN || code === SLASH; code = units[++at] as number)
    key = (key << 6) | (SIGN_CODES[code] as number);
  const total = at - start + (hasSpace ? 1 : 0);
  if (isCoded && total <= MAX_SIGNS && isKnownRun(key)) weight += UNIT;
  else weight += signWeight(units, start, at) + (hasSpace ? UNIT : 0);
  return at;
}

/** The bit of a lower-case word after a space, and the lowest bit of upper-case words. */
const LOWER_SPACED = 2;
const LEAST_UPPER = 1 << 4;

/** Returns the bit of a word's form: lower case, capitalized or upper case; at the start of a piece or after a space. */
function formBit(lead: number, uppers: number): number {
  const way = uppers === 0 ? 0 : uppers === 1 ? 1 : 2;
  return (lead === ONE_SPACE ? 2 : 1) << (2 * way);
}

/** Returns the tokens of a word and the sign before it, or 0 if unknown. */
function knownTokens(low: number, high: number, form: number, lead: number): number {
  let at = placeOfWord(low, high);
  for (;;) {
    const ways = words[at + 2] as number;
    if (ways === 0) return 0;
    if (words[at] === low && words[at + 1] === high) return tokensOf(ways, form, lead);
    at = placeBehind(at);
  }
}

function tokensOf(ways: number, form: number, lead: number): number {
  const isOne = (ways & form) !== 0;
  if (lead < OTHER_SIGN) {
    if (isOne) return 1;
    const more = (ways >> MORE_SHIFT) & 3;
    return form < LEAST_UPPER && more > 0 ? 1 + more : 0;
  }
  const leads = ways >> LEADS_SHIFT;
  if (form === 1 && lead > OTHER_SIGN && ((leads >> (lead - OTHER_SIGN - 1)) & 1) === 1) return 1;
  return isOne && (leads & UNSAFE_LEADS) === 0 ? 2 : 0;
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
