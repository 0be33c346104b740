/** The tables of the token estimate, unpacked from the output of scripts/token-weights. */
import { Buffer } from 'node:buffer';
import { brotliDecompressSync } from 'node:zlib';
import { packedTables } from './token-weights.ts';

/** Letters of the longest word in the table: five bits each, in two keys of 30 bits. */
export const MAX_LETTERS = 12;
export const KEY_MASK = 0x3fffffff;
/** Signs of the longest run in the table: six bits each, in one key. */
export const MAX_SIGNS = 5;
/** Maximum tokens of a word in a known form. */
export const MOST_TOKENS = 4;
/** Signs that often form one token with the next word. */
export const KNOWN_LEADS = '._(\t-';
/** The bit of a word that may be several tokens after a sign. */
export const UNSAFE_LEADS = 1 << KNOWN_LEADS.length;

/** More than twice as many slots as words, so that a search seldom takes a second step. */
const WORD_SLOTS = 1 << 17;
const SIGN_SLOTS = 1 << 13;

/** Integers of a slot of words. */
const SLOT = 3;
/** Positions of the additional tokens and the leads in the last integer of a slot. */
export const MORE_SHIFT = 6;
export const LEADS_SHIFT = 8;

/**
 * A hash table of words. A slot is three adjacent integers, so that a search reads one cache line: the last six letters,
 * the letters before them, and the forms of the word; all 0 in a free slot. The last integer has a bit for each form that
 * is one token (formBit in token-estimate.ts), the maximum additional tokens of the other forms except upper case (0 for
 * unknown), a bit for each of KNOWN_LEADS that forms one token with the lower-case word, and UNSAFE_LEADS.
 */
export let words = new Int32Array(0);

/** A hash table of single-token runs of signs; 0 in a free slot. */
export const signs = new Int32Array(SIGN_SLOTS);

/** Weights of letters in units, by five bits per letter: lower case, upper case, and the change between them. */
export const letters = {
  lower: new Uint8Array(1 << 15),
  upper: new Uint8Array(1 << 10),
  turn: new Uint8Array(1 << 10),
};

let isFilled = false;

/** Fills the tables at the first estimate, so that it does not delay a start. */
export function fillTables(): void {
  if (isFilled) return;
  words = new Int32Array(SLOT * WORD_SLOTS);
  const packed = packedTables();
  fillWords(unpack(packed.words));
  fillSigns(unpack(packed.signs));
  fillLetters(unpack(packed.letters));
  isFilled = true;
}

/** Decodes base64 and decompresses Brotli. */
export function unpack(packed: string): Buffer {
  return brotliDecompressSync(Buffer.from(packed, 'base64'));
}

/** Returns the first slot to search for a word. */
export function placeOfWord(low: number, high: number): number {
  return SLOT * ((Math.imul(low, 0x9e3779b1) ^ Math.imul(high, 0x85ebca6b)) >>> 15);
}

/** Returns the next slot. */
export function placeBehind(at: number): number {
  return at === SLOT * (WORD_SLOTS - 1) ? 0 : at + SLOT;
}

export function slotOfSigns(key: number): number {
  return Math.imul(key, 0x9e3779b1) >>> 19;
}

/** Set in the byte after a word's letters. */
export const ABOVE_LETTERS = 128;
/** Position of the additional tokens in a word's first byte. */
export const ABOVE_SHARED_SHIFT = 4;

/** The two keys of each prefix of the previous word. A word only adds its other letters. */
const lows = new Int32Array(MAX_LETTERS + 1);
const highs = new Int32Array(MAX_LETTERS + 1);

/**
 * Fills the word table. Each word has a byte with the length of the prefix shared with the previous word and its additional
 * tokens, a byte from 1 per other letter, a byte of its single-token forms, and a byte of its leads. One loop without
 * calls: V8 compiles it while it runs, which makes it three times as fast.
 */
function fillWords(packed: Uint8Array): void {
  for (let at = 0; at < packed.length; at += 2) {
    const first = packed[at++] as number;
    let length = first & ((1 << ABOVE_SHARED_SHIFT) - 1);
    let low = lows[length] as number;
    let high = highs[length] as number;
    for (let letter = packed[at] as number; letter < ABOVE_LETTERS; letter = packed[++at] as number) {
      high = ((high << 5) | (low >>> 25)) & KEY_MASK;
      low = ((low << 5) | letter) & KEY_MASK;
      lows[++length] = low;
      highs[length] = high;
    }
    let place = placeOfWord(low, high);
    while (words[place + 2] !== 0) place = placeBehind(place);
    const forms = (packed[at] as number) - ABOVE_LETTERS;
    const more = first >> ABOVE_SHARED_SHIFT;
    words[place] = low;
    words[place + 1] = high;
    words[place + 2] = forms | (more << MORE_SHIFT) | ((packed[at + 1] as number) << LEADS_SHIFT);
  }
}

/** Code of a sign within a key, from 1; 0 for signs that the table lacks. */
export const SIGN_CODES = new Uint8Array(128);
'\n\r !"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'.split('').forEach((sign, i) => {
  SIGN_CODES[sign.charCodeAt(0)] = i + 1;
});

/** Fills the sign table from 32-bit big-endian keys. */
function fillSigns(packed: Buffer): void {
  for (let at = 0; at < packed.length; at += 4) {
    const key = packed.readInt32BE(at);
    let slot = slotOfSigns(key);
    while (signs[slot] !== 0) slot = (slot + 1) & (SIGN_SLOTS - 1);
    signs[slot] = key;
  }
}

/** The letters, and 0 for the start of a word. */
const ALPHABET = 27;

/** Fills the letter weights, one byte each, in the order of scripts/token-weights/cells.ts. */
function fillLetters(packed: Uint8Array): void {
  let at = 0;
  for (let x = 0; x < ALPHABET; x++)
    for (let y = 0; y < ALPHABET; y++) at = copyRow(packed, at, letters.lower, (x << 10) | (y << 5));
  for (let y = 0; y < ALPHABET; y++) at = copyRow(packed, at, letters.upper, y << 5);
  for (let y = 0; y < ALPHABET; y++) at = copyRow(packed, at, letters.turn, y << 5);
}

function copyRow(cells: Uint8Array, from: number, to: Uint8Array, start: number): number {
  for (let z = 0; z < ALPHABET; z++) to[start + z] = cells[from + z] as number;
  return from + ALPHABET;
}

/** Character classes of the tokenizer's splitting. */
const LOWER = 0;
export const UPPER = 1;
export const DIGIT = 2;
export const BLANK = 3;
export const SIGN = 4;
const BEYOND = 5;
export const KINDS = new Uint8Array(1 << 16).fill(BEYOND);
for (let code = 0; code < 128; code++) KINDS[code] = kindOf(String.fromCharCode(code));

function kindOf(character: string): number {
  if (character >= 'a' && character <= 'z') return LOWER;
  if (character >= 'A' && character <= 'Z') return UPPER;
  if (character >= '0' && character <= '9') return DIGIT;
  return /\s/.test(character) ? BLANK : SIGN;
}

/** Follows the last unit. It is not a character, so it ends every word. */
export const END = 0xffff;

/** The lead of a word within its piece. The signs of KNOWN_LEADS follow from 3. */
export const NOTHING = 0;
export const ONE_SPACE = 1;
export const OTHER_SIGN = 2;
export const LEAD_OF = new Uint8Array(128).fill(OTHER_SIGN);
Array.from(KNOWN_LEADS).forEach((sign, i) => {
  LEAD_OF[sign.charCodeAt(0)] = OTHER_SIGN + 1 + i;
});
