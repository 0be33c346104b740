/** The tables of the token estimate, unpacked from the strings that scripts/token-weights makes. */

/** Letters of the longest word in the table: five bits each, in two keys of 30 bits. */
export const MAX_LETTERS = 12;
/** Signs of the longest run in the table: six bits each, in one key. */
export const MAX_SIGNS = 5;
/** Signs that are often one token with the word after them. */
export const KNOWN_LEADS = '._(\t';
/** The bit of a word that may be more than one token besides a sign before it. */
export const UNSAFE_LEADS = 1 << KNOWN_LEADS.length;
export const KEY_MASK = 0x3fffffff;

/** Slots are over twice as many as words, so that a search seldom takes more than one step. */
const WORD_SLOTS = 1 << 15;
const SIGN_SLOTS = 1 << 12;

/** Words by their letters. `forms` is 0 where a slot is free. */
export interface WordTable {
  /** Two keys for each slot: the last six letters, and those before them. */
  readonly keys: Int32Array;
  /** A bit for each way of writing the word that is one token: see formOf in scripts/token-weights/words.ts. */
  readonly forms: Uint8Array;
  /** A bit for each of KNOWN_LEADS with which the word in lower case is one token, and UNSAFE_LEADS. */
  readonly leads: Uint8Array;
}

export function slotOfWord(low: number, high: number): number {
  return (Math.imul(low, 0x9e3779b1) ^ Math.imul(high, 0x85ebca6b)) >>> 17;
}

export function slotOfSigns(key: number): number {
  return Math.imul(key, 0x9e3779b1) >>> 20;
}

/** The characters that stand for numbers, from 0. Lower-case letters are free for letters and for repetition. */
export const DIGITS = '!"#%&()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_{|}~';
const VALUES = new Uint8Array(128);
for (let value = 0; value < DIGITS.length; value++) VALUES[DIGITS.charCodeAt(value)] = value;

/** Each word is how many letters it shares with the one before it, its other letters, its forms, and its leads if any. */
export function decodeWords(packed: string): WordTable {
  const table = {
    keys: new Int32Array(2 * WORD_SLOTS),
    forms: new Uint8Array(WORD_SLOTS),
    leads: new Uint8Array(WORD_SLOTS),
  };
  const word = new Uint8Array(MAX_LETTERS);
  for (let at = 0; at < packed.length; at++) {
    let length = VALUES[packed.charCodeAt(at++)] as number;
    while (packed.charCodeAt(at) >= 97 && packed.charCodeAt(at) <= 122) word[length++] = packed.charCodeAt(at++) & 31;
    const forms = VALUES[packed.charCodeAt(at)] as number;
    const next = VALUES[packed.charCodeAt(at + 1)] as number;
    // No word shares so many letters with the one before it: the digit is of leads.
    if (next > MAX_LETTERS) at++;
    addWord(table, word, length, forms, next > MAX_LETTERS ? next - MAX_LETTERS : 0);
  }
  return table;
}

function addWord(table: WordTable, word: Uint8Array, length: number, forms: number, leads: number): void {
  let low = 0;
  let high = 0;
  for (let i = 0; i < length; i++) {
    high = ((high << 5) | (low >>> 25)) & KEY_MASK;
    low = ((low << 5) | (word[i] as number)) & KEY_MASK;
  }
  let slot = slotOfWord(low, high);
  while (table.forms[slot] !== 0) slot = (slot + 1) & (WORD_SLOTS - 1);
  table.keys[2 * slot] = low;
  table.keys[2 * slot + 1] = high;
  table.forms[slot] = forms;
  table.leads[slot] = leads;
}

/** Code of a sign within a key, from 1; 0 for what no run in the table has. */
export const SIGN_CODES = new Uint8Array(128);
'\n\r !"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'.split('').forEach((sign, i) => {
  SIGN_CODES[sign.charCodeAt(0)] = i + 1;
});

/** Keys of the runs of signs that are one token, in slots; 0 where a slot is free. Runs are set apart by a letter. */
export function decodeSigns(packed: string): Int32Array {
  const table = new Int32Array(SIGN_SLOTS);
  for (const run of packed.split('x')) {
    let key = 0;
    for (let i = 0; i < run.length; i++) key = (key << 6) | (VALUES[run.charCodeAt(i)] as number);
    let slot = slotOfSigns(key);
    while (table[slot] !== 0) slot = (slot + 1) & (SIGN_SLOTS - 1);
    table[slot] = key;
  }
  return table;
}

const LETTERS = 27;

/** Weights of letters, in units, by five bits for each letter: those of lower-case, of upper-case, of the turn between. */
export interface LetterWeights {
  readonly lower: Uint8Array;
  readonly upper: Uint8Array;
  readonly turn: Uint8Array;
}

/** Weights stand one after another as digits; a lower-case letter repeats the one before it 2 to 27 times in all. */
export function decodeLetters(packed: string): LetterWeights {
  const cells = new Uint8Array(LETTERS ** 3 + 2 * LETTERS ** 2);
  let count = 0;
  for (let at = 0; at < packed.length; at++) {
    const code = packed.charCodeAt(at);
    if (code >= 97 && code <= 122) {
      const next = count + code - 96;
      cells.fill(cells[count - 1] as number, count, next);
      count = next;
    } else cells[count++] = VALUES[code] as number;
  }
  const table = { lower: new Uint8Array(1 << 15), upper: new Uint8Array(1 << 10), turn: new Uint8Array(1 << 10) };
  let at = 0;
  for (let x = 0; x < LETTERS; x++)
    for (let y = 0; y < LETTERS; y++) at = copyRow(cells, at, table.lower, (x << 10) | (y << 5));
  for (let y = 0; y < LETTERS; y++) at = copyRow(cells, at, table.upper, y << 5);
  for (let y = 0; y < LETTERS; y++) at = copyRow(cells, at, table.turn, y << 5);
  return table;
}

function copyRow(cells: Uint8Array, from: number, to: Uint8Array, start: number): number {
  for (let z = 0; z < LETTERS; z++) to[start + z] = cells[from + z] as number;
  return from + LETTERS;
}

/** Stands for a character of one token that a space before it splits in two. */
export const SPLIT_BY_SPACE = 0;

/** The tokens of each UTF-16 unit from U+0080 on: three to a digit, of two bits each, repeated as weights are. */
export function decodeCharacters(packed: string): Uint8Array {
  const table = new Uint8Array(1 << 16);
  let to = 128;
  let last = 0;
  for (let at = 0; at < packed.length; at++) {
    const code = packed.charCodeAt(at);
    const isRepeat = code >= 97 && code <= 122;
    if (!isRepeat) last = VALUES[code] as number;
    for (let n = isRepeat ? code - 96 : 1; n > 0; n--) {
      table[to++] = last & 3;
      table[to++] = (last >> 2) & 3;
      table[to++] = last >> 4;
    }
  }
  return table;
}

/** What a character is to the tokenizer's cutting. */
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

/** Comes after the last unit: not a character, and so no part of a word. */
export const END = 0xffff;

/** Whether a character beyond ASCII may be a letter or a mark. Known not to be: punctuation, arrows, mathematics, lines. */
export function mayJoin(code: number): boolean {
  return !((code >= 0x2000 && code <= 0x206f) || (code >= 0x2190 && code <= 0x2bff) || code === END);
}

/** Armenian, Hebrew, Arabic; the scripts of India, Thailand, Georgia, Ethiopia and Cambodia among others; and the rest. */
export const SEMITIC = 1;
export const INDIC = 2;

/** Scripts of which tokens begin or end within a character, so that a run of them may have one more. */
export function scriptOf(code: number): number {
  if (code < 0x0530 || code >= 0x2000) return 0;
  return code < 0x0900 ? SEMITIC : INDIC;
}

/** What comes before a word within its piece. Other signs follow from 3 on: those of KNOWN_LEADS. */
export const NOTHING = 0;
export const ONE_SPACE = 1;
export const OTHER_SIGN = 2;
export const LEAD_OF = new Uint8Array(128).fill(OTHER_SIGN);
Array.from(KNOWN_LEADS).forEach((sign, i) => {
  LEAD_OF[sign.charCodeAt(0)] = OTHER_SIGN + 1 + i;
});
