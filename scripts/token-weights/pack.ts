/** Packs the tables of the token estimate into strings: src/wire/token-tables.ts unpacks them. */
import { DIGITS, MAX_LETTERS, SIGN_CODES, SPLIT_BY_SPACE } from '../../src/wire/token-tables.ts';
import { splitCharacters } from './splits.ts';
import type { Vocabulary } from './vocabulary.ts';
import type { Word } from './words.ts';

const MOST_REPEATS = 26;

function digit(value: number): string {
  const found = DIGITS[value];
  if (found === undefined) throw new Error(`${value} is no digit: they go to ${DIGITS.length - 1}`);
  return found;
}

/** Each word is how many letters it shares with the one before it, its other letters, its forms, and its leads if any. */
export function packWords(words: readonly Word[]): string {
  let packed = '';
  let previous = '';
  for (const { letters, forms, leads } of words) {
    let shared = 0;
    while (shared < previous.length && previous[shared] === letters[shared]) shared++;
    packed += digit(shared) + letters.slice(shared) + digit(forms) + (leads === 0 ? '' : digit(MAX_LETTERS + leads));
    previous = letters;
  }
  return packed;
}

/** Signs as digits of their codes; a letter sets runs apart. */
export function packSigns(runs: readonly string[]): string {
  const packed = runs.map((run) => Array.from(run, (sign) => digit(SIGN_CODES[sign.charCodeAt(0)] as number)).join(''));
  return packed.join('x');
}

/** Numbers as digits; a lower-case letter stands for so many more of the same. */
function packNumbers(numbers: Iterable<number>): string {
  let packed = '';
  let last = -1;
  let repeats = 0;
  const flush = (): void => {
    for (; repeats > 0; repeats -= MOST_REPEATS) packed += String.fromCharCode(96 + Math.min(repeats, MOST_REPEATS));
    repeats = 0;
  };
  for (const number of numbers) {
    if (number === last) repeats++;
    else {
      flush();
      packed += digit(number);
      last = number;
    }
  }
  flush();
  return packed;
}

export function packWeights(weights: Int32Array): string {
  return packNumbers(weights);
}

const FIRST = 0x80;
const LAST = 0xffff;
/** Of each half of a character in two units: four bytes are four tokens at most. */
const SURROGATE_TOKENS = 2;
/** gpt-tokenizer drops it as it looks tokens up, and so never finds one that has it. */
const BYTE_ORDER_MARK = 0xfeff;

/** Three characters are a digit, of two bits each. */
export function packCharacters(vocabulary: Vocabulary): string {
  const splits = splitCharacters(vocabulary, FIRST, LAST);
  const numbers: number[] = [];
  for (let code = FIRST; code <= LAST; code += 3) {
    const [a, b, c] = [code, code + 1, code + 2].map((each) => characterTokens(vocabulary, each, splits.has(each))) as [
      number,
      number,
      number,
    ];
    numbers.push(a | (b << 2) | (c << 4));
  }
  return packNumbers(numbers);
}

/** The tokens of a character, alone or split by another. A number gets one more: it may keep digits beside it from being three to a token. */
function characterTokens(vocabulary: Vocabulary, code: number, isSplit: boolean): number {
  if (code > LAST) return 0;
  if (code === BYTE_ORDER_MARK) return 3;
  if (code >= 0xd800 && code <= 0xdfff) return SURROGATE_TOKENS;
  const character = String.fromCharCode(code);
  const tokens = vocabulary.encode(character).length;
  if (/\p{N}/u.test(character)) return Math.min(3, tokens + 1);
  // A space is counted as one. It may take a part of the character with it into a token.
  if (isSplit) return Math.min(3, tokens + 1);
  if (vocabulary.encode(` ${character}`).length <= tokens + 1) return tokens;
  return tokens === 1 ? SPLIT_BY_SPACE : Math.min(3, tokens + 1);
}
