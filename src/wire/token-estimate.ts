/** Estimates the tokens of texts: quickly, and for any text at least 0.9 of the exact count. */
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
 * The tokens of a text, as o200k_base counts them: at least 0.9 of its count for any text, and at most 1.5 for running text of
 * some hundred tokens, whatever its language (docs/limits.md). A text beyond ASCII is counted by the first tokens of that
 * vocabulary. One in ASCII is cut where the tokenizer cuts it. A piece that the tables know weighs what it counts; any other
 * weighs as much as the worst piece of the same letters, in the same order, could count.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(weigh(text) / UNIT);
}

/**
 * What a text weighs, for adding up the pieces of one: a whole number of {@link WEIGHT_PER_TOKEN}ths
 * of a token.
 */
export function tokenWeight(text: string): number {
  return weigh(text);
}

export const WEIGHT_PER_TOKEN = UNIT;

/** The tokens of several texts together, rounded up once. */
export function estimateTokensOf(texts: Iterable<string>): number {
  let weight = 0;
  for (const text of texts) weight += weigh(text);
  return Math.ceil(weight / UNIT);
}

const APOSTROPHE = 0x27;
const SLASH = 0x2f;

/** UTF-16 units that are weighed at once. A longer text is cut, at a cost of at most a token for each cut. */
const MOST_UNITS = 16_384;
/** The text being weighed: to read it from here takes a third of the time that reading it from a string takes. */
const units = new Uint16Array(MOST_UNITS + 1);
const unitBytes = Buffer.from(units.buffer);
/** The same in UTF-8, if it is beyond ASCII. */
const bytes = Buffer.allocUnsafeSlow(3 * MOST_UNITS);
/** What has been weighed of it, in parts of a token. */
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

/** False as soon as a character beyond ASCII shows up. */
function weighAscii(length: number): boolean {
  for (let at = 0; at < length; ) {
    const code = units[at] as number;
    // Most of a text is words with one space between them.
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

/** A word in lower case behind a space: the usual case of weighWord. */
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

/** Upper-case letters, then lower-case ones, and a contraction. `lead` is what came before them within their piece. */
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

/** Three digits are a token. */
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
  if (at - start > 1 || !isSplit) weight += blankWeight(units, start, isSplit ? at - 1 : at);
  if (!isSplit) return at;
  const kind = KINDS[units[at] as number] as number;
  if (kind <= UPPER && last === SPACE) return weighWord(at, ONE_SPACE);
  if (kind === SIGN && last === SPACE) return weighSigns(at, true);
  if (kind <= UPPER) return weighWord(at, LEAD_OF[last] as number);
  weight += UNIT;
  return at;
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
  if (count === 1 && (KINDS[code] as number) <= UPPER) return weighWord(at, LEAD_OF[units[start] as number] as number);
  for (; code === NEWLINE || code === RETURN || code === SLASH; code = units[++at] as number)
    key = (key << 6) | (SIGN_CODES[code] as number);
  const total = at - start + (hasSpace ? 1 : 0);
  if (isCoded && total <= MAX_SIGNS && isKnownRun(key)) weight += UNIT;
  else weight += signWeight(units, start, at) + (hasSpace ? UNIT : 0);
  return at;
}

/** The bit of a word in lower case behind a space, and the least one of a word in upper case. */
const LOWER_SPACED = 2;
const LEAST_UPPER = 1 << 4;

/** The bit of a word's way of writing: lower case, with a capital, upper case; at the start of a piece, or after a space. */
function formBit(lead: number, uppers: number): number {
  const way = uppers === 0 ? 0 : uppers === 1 ? 1 : 2;
  return (lead === ONE_SPACE ? 2 : 1) << (2 * way);
}

/** The tokens of a word and the sign before it, or 0 if they are not known. */
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
