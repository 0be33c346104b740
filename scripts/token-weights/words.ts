/** Lists the words and the runs of signs that the estimate knows exactly: those of one token, and frequent words of some more. */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { KNOWN_LEADS, MAX_LETTERS, MAX_SIGNS, MOST_TOKENS, UNSAFE_LEADS } from '../../src/wire/token-tables.ts';
import type { Vocabulary } from './vocabulary.ts';

const WORD = /^([^A-Za-z0-9\r\n\x80-\uffff])([a-z]+|[A-Z][a-z]*|[A-Z]+)$/;
/** Ways of writing a word, and so the bits of its entry: three cases, each at the start of a piece or after a space. */
const CASES = 3;

/** A word in lower case. */
export interface Word {
  readonly letters: string;
  /** A bit for each way of writing it that is one token. */
  readonly forms: number;
  /** The tokens beyond one that the other ways have at most, upper case aside; 0 for unknown. */
  readonly more: number;
  /** A bit for each of KNOWN_LEADS with which the word in lower case is one token, and UNSAFE_LEADS. */
  readonly leads: number;
}

/** How a word is written: 0 lower case, 1 with a capital, 2 upper case. A single capital is 1. */
function written(letters: string, way: number): string {
  if (way === 0) return letters;
  return way === 1 ? letters.slice(0, 1).toUpperCase() + letters.slice(1) : letters.toUpperCase();
}

/** Every sign of ASCII that may stand before a word and within its piece. */
const LEADS: readonly string[] = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).filter(
  (sign) => !/[A-Za-z0-9\r\n ]/.test(sign),
);
const endings = (...parts: string[]): string[] => parts.flatMap((part) => [part, part.toUpperCase()]);
const CONTRACTIONS: readonly string[] = [
  ...endings("'s", "'d", "'m", "'t", "'ll", "'ve", "'re"),
  ...["'Ll", "'lL", "'Ve", "'vE", "'Re", "'rE"],
];

/** Tokens that the estimate adds for a contraction: the longer ones come apart where they mix cases. */
function contractionPrice(end: string): number {
  return end.length === 2 ? 1 : 3;
}

/** Whether a piece is one token, and one with a contraction no more than the price of that. */
function isOne(vocabulary: Vocabulary, piece: string): boolean {
  return vocabulary.rank(piece) !== undefined && isWithin(vocabulary, piece, 1);
}

/** Whether a piece is at most so many tokens, and no more with a contraction but for the price of that. */
function isWithin(vocabulary: Vocabulary, piece: string, most: number): boolean {
  if (vocabulary.encode(piece).length > most) return false;
  return CONTRACTIONS.every(
    (end) =>
      staysApart(vocabulary, piece, end) || vocabulary.encode(piece + end).length <= most + contractionPrice(end),
  );
}

/** Whether a word is never more than one token besides the sign before it. */
function isSafe(vocabulary: Vocabulary, word: string): boolean {
  return LEADS.every((lead) => staysApart(vocabulary, lead, word) || vocabulary.encode(lead + word).length <= 2);
}

/** Whether a piece is two tokens, split just there. */
function staysApart(vocabulary: Vocabulary, left: string, right: string): boolean {
  const [a, b] = [vocabulary.rank(left), vocabulary.rank(right)];
  return a !== undefined && b !== undefined && vocabulary.mayFollow(a, b);
}

function formsOf(vocabulary: Vocabulary, letters: string): { forms: number; more: number } {
  let forms = 0;
  let most = 1;
  for (let way = 0; way < CASES; way++) {
    if (way === 2 && letters.length === 1) continue;
    const word = written(letters, way);
    for (const [piece, bit] of [
      [word, 1],
      [` ${word}`, 2],
    ] as const) {
      if (isOne(vocabulary, piece)) forms |= bit << (2 * way);
      else if (way < 2) while (most <= MOST_TOKENS && !isWithin(vocabulary, piece, most)) most++;
    }
  }
  return { forms, more: most <= MOST_TOKENS ? most - 1 : 0 };
}

function leadsOf(vocabulary: Vocabulary, letters: string, forms: number): number {
  let leads = 0;
  Array.from(KNOWN_LEADS).forEach((lead, i) => {
    if (isOne(vocabulary, lead + letters)) leads |= 1 << i;
  });
  for (let way = 0; way < CASES; way++) {
    if ((forms & (1 << (2 * way))) !== 0 && !isSafe(vocabulary, written(letters, way))) leads |= UNSAFE_LEADS;
  }
  return leads;
}

const FREQUENT = fileURLToPath(new URL('frequent/', import.meta.url));

/** Frequent words of languages that are written in ASCII and have few words of one token. */
function frequentWords(): string[] {
  return globSync('*.txt', { cwd: FREQUENT }).flatMap((file) =>
    readFileSync(FREQUENT + file, 'utf8')
      .trim()
      .split(/\s+/),
  );
}

/** So many words of the lowest ranks come first: each is then found where its search begins. */
const FIRST = 12_000;

/** All words that are one token with a blank or a sign before them, and the frequent ones. Tokens of letters alone are mostly parts of words. */
export function wordsOf(vocabulary: Vocabulary): Word[] {
  const tokens = vocabulary.tokens.flatMap((token) => WORD.exec(token)?.[2]?.toLowerCase() ?? []);
  const words = [...new Set([...tokens, ...frequentWords()])].filter((word) => word.length <= MAX_LETTERS);
  return [...words.slice(0, FIRST).toSorted(), ...words.slice(FIRST).toSorted()].flatMap((letters) => {
    const { forms, more } = formsOf(vocabulary, letters);
    const isKnown = forms > 0 || more > 0;
    return isKnown ? [{ letters, forms, more, leads: leadsOf(vocabulary, letters, forms) }] : [];
  });
}

const SIGNS = /^ ?[!-/:-@[-`{-~]+[\r\n/]*$/;

/** All runs of signs that are one token, by rank. */
export function signsOf(vocabulary: Vocabulary): string[] {
  return vocabulary.tokens.filter((run) => run.length <= MAX_SIGNS && SIGNS.test(run));
}
