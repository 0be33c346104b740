/** Estimates the tokens of texts without a tokenizer, and never by much too few, whatever the text is. */
import { Buffer } from 'node:buffer';
import { blankWeight, NEWLINE, RETURN, SPACE, signWeight } from './token-runs.ts';
import {
  BLANK,
  DIGIT,
  decodeCharacters,
  decodeLetters,
  decodeSigns,
  decodeWords,
  END,
  INDIC,
  KEY_MASK,
  KINDS,
  LEAD_OF,
  MAX_LETTERS,
  MAX_SIGNS,
  mayJoin,
  NOTHING,
  ONE_SPACE,
  OTHER_SIGN,
  SEMITIC,
  SIGN,
  SIGN_CODES,
  SPLIT_BY_SPACE,
  scriptOf,
  slotOfSigns,
  slotOfWord,
  UNSAFE_LEADS,
  UPPER,
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

const words = decodeWords(WORDS);
const signs = decodeSigns(SIGNS);
const letters = decodeLetters(LETTERS);
const characters = decodeCharacters(CHARACTERS);

const APOSTROPHE = 0x27;
const SLASH = 0x2f;

/** UTF-16 units that are weighed at once. A longer text is cut, at a cost of at most a token for each cut. */
const MOST_UNITS = 16_384;
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
    const code = units[at] as number;
    // Most of a text is words with one space between them.
    if (code === SPACE && ((units[at + 1] as number) - 97) >>> 0 < 26) {
      at = weighWord(at + 1, ONE_SPACE, false);
      continue;
    }
    const kind = KINDS[code] as number;
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
  const mayBeKnown =
    (uppers <= 1 || uppers === count) && count <= MAX_LETTERS && !isJoined && (code < 128 || !mayJoin(code));
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
  if (at - start > 1 || !isSplit) weight += blankWeight(units, start, isSplit ? at - 1 : at);
  if (!isSplit) return at;
  const kind = KINDS[units[at] as number] as number;
  if (kind <= UPPER && last === SPACE) return weighWord(at, ONE_SPACE, false);
  if (kind === SIGN && last === SPACE) return weighSigns(at, true);
  if (kind <= UPPER) return weighWord(at, LEAD_OF[last] as number, false);
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
  if (count === 1 && (KINDS[code] as number) <= UPPER) {
    // After a sign beyond ASCII it is of one run with that, and not of the word.
    const isLead = start === 0 || (units[start - 1] as number) < 128;
    return weighWord(at, isLead ? (LEAD_OF[units[start] as number] as number) : OTHER_SIGN, false);
  }
  for (; code === NEWLINE || code === RETURN || code === SLASH; code = units[++at] as number)
    key = (key << 6) | (SIGN_CODES[code] as number);
  const total = at - start + (hasSpace ? 1 : 0);
  const isAlone = (code < 128 || code === END) && (start === 0 || (units[start - 1] as number) < 128);
  if (isCoded && isAlone && total <= MAX_SIGNS && isKnownRun(key)) weight += UNIT;
  else weight += signWeight(units, start, at) + (hasSpace ? UNIT : 0);
  return at;
}

/** Characters beyond ASCII, each for itself. A word after one that may belong to it is unlike any in the table. */
function weighBeyond(start: number, length: number): number {
  let at = start;
  let tokens = 0;
  let code = units[at] as number;
  let script = 0;
  if (characters[code] === SPLIT_BY_SPACE && start > 0 && units[start - 1] === SPACE) tokens++;
  while (code >= 128 && at < length) {
    tokens += (characters[code] as number) || 1;
    const before = script;
    script = scriptOf(code);
    if (script !== before && (script === INDIC || (script === SEMITIC && at > start))) tokens++;
    code = units[++at] as number;
  }
  // A digit of two units may keep those after it from being three to a token.
  if (KINDS[code] === DIGIT && ((units[at - 1] as number) & 0xfc00) === 0xdc00) tokens++;
  const isJoining = mayJoin(units[at - 1] as number);
  const isWord = (KINDS[code] as number) <= UPPER;
  // The last token counts with the word after it.
  weight += UNIT * (isWord ? tokens - 1 : tokens);
  if (isWord) return weighWord(at, OTHER_SIGN, isJoining);
  if (code !== APOSTROPHE || !isJoining) return at;
  // It contracts after a letter, and begins the next word after a sign: one more covers both.
  const after = weighContraction(at);
  if (after > at) weight += UNIT;
  return after;
}

/** The bit of a word's way of writing: lower case, with a capital, upper case; at the start of a piece, or after a space. */
function formBit(lead: number, uppers: number): number {
  const way = uppers === 0 ? 0 : uppers === 1 ? 1 : 2;
  return (lead === ONE_SPACE ? 2 : 1) << (2 * way);
}

/** The tokens of a word and the sign before it, or 0 if they are not known. */
function knownTokens(low: number, high: number, form: number, lead: number): number {
  let slot = slotOfWord(low, high);
  for (;;) {
    const forms = words.forms[slot] as number;
    if (forms === 0) return 0;
    if (words.keys[2 * slot] === low && words.keys[2 * slot + 1] === high) {
      if (lead < OTHER_SIGN) return (forms & form) === 0 ? 0 : 1;
      const leads = words.leads[slot] as number;
      if (form === 1 && lead > OTHER_SIGN && ((leads >> (lead - OTHER_SIGN - 1)) & 1) === 1) return 1;
      return (forms & form) === 0 || (leads & UNSAFE_LEADS) !== 0 ? 0 : 2;
    }
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
