/** Picks the words that the estimate knows exactly: those of one token that are met most. */
import { KNOWN_LEADS, MAX_LETTERS, UNSAFE_LEADS } from '../../src/wire/token-tables.ts';
import type { Vocabulary } from './vocabulary.ts';

const WORD = /^([^A-Za-z0-9\r\n\x80-\uffff]?)([a-z]+|[A-Z][a-z]*|[A-Z]+)$/;
/** Ways of writing a word, and so the bits of its entry: three cases, each at the start of a piece or after a space. */
const CASES = 3;

/** A word in lower case, and a bit for each way of writing it that is one token. */
export interface Word {
  readonly letters: string;
  readonly forms: number;
  /** See LEADS in src/wire/token-tables.ts: of the word in lower case. */
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

/** Whether a start and a word are one token, and one with a contraction no more than the price of that. */
function isOne(vocabulary: Vocabulary, start: string, word: string): boolean {
  if (vocabulary.rank(start + word) === undefined) return false;
  for (const end of CONTRACTIONS) {
    if (staysApart(vocabulary, start + word, end)) continue;
    if (vocabulary.encode(start + word + end).length > 1 + contractionPrice(end)) return false;
  }
  return true;
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

function formsOf(vocabulary: Vocabulary, letters: string): number {
  let forms = 0;
  for (let way = 0; way < CASES; way++) {
    if (way === 2 && letters.length === 1) continue;
    if (isOne(vocabulary, '', written(letters, way))) forms |= 1 << (2 * way);
    if (isOne(vocabulary, ' ', written(letters, way))) forms |= 2 << (2 * way);
  }
  return forms;
}

/** Bits for each of KNOWN_LEADS with which the word is one token, and one more where a sign may cost a token more. */
function leadsOf(vocabulary: Vocabulary, { letters, forms }: { letters: string; forms: number }): number {
  let leads = 0;
  Array.from(KNOWN_LEADS).forEach((lead, i) => {
    if (isOne(vocabulary, lead, letters)) leads |= 1 << i;
  });
  for (let way = 0; way < CASES; way++) {
    if ((forms & (1 << (2 * way))) !== 0 && !isSafe(vocabulary, written(letters, way))) leads |= UNSAFE_LEADS;
  }
  return leads;
}

/** What a word's exact weight saves, in tokens of over-estimate: about 0.4 a letter are estimated for other words. */
function savingOf(share: number, letters: string): number {
  return share * Math.max(0.1, 0.45 * letters.length);
}

export function pickWords(vocabulary: Vocabulary, shares: ReadonlyMap<string, number>, count: number): Word[] {
  const savings = new Map<string, number>();
  for (const [piece, share] of shares) {
    const [, lead, word] = WORD.exec(piece) ?? [];
    if (lead === undefined || word === undefined || word.length > MAX_LETTERS) continue;
    const isKnownLead = lead === ' ' || (KNOWN_LEADS.includes(lead) && vocabulary.rank(lead + word) !== undefined);
    if (vocabulary.rank((isKnownLead ? lead : '') + word) === undefined) continue;
    const letters = word.toLowerCase();
    savings.set(letters, (savings.get(letters) ?? 0) + savingOf(share, letters));
  }
  const ranked = [...savings].toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const words: Word[] = [];
  for (const [letters] of ranked) {
    const forms = formsOf(vocabulary, letters);
    if (forms !== 0) words.push({ letters, forms, leads: leadsOf(vocabulary, { letters, forms }) });
    if (words.length === count) break;
  }
  return words.toSorted((a, b) => (a.letters < b.letters ? -1 : 1));
}

/** The bit of a piece's form: of a word in one of the three cases, at the start of a piece or after a space. */
export function formOf(lead: string, word: string): number | undefined {
  const way = [0, 1, 2].find((way) => written(word.toLowerCase(), way) === word);
  return way === undefined ? undefined : (lead === ' ' ? 2 : 1) << (2 * way);
}

const PIECE = /^([^A-Za-z0-9\r\n\x80-\uffff]?)([A-Z]*[a-z]*)(?:'[A-Za-z]+)?$/;

/** The letters of a piece that is a word, and what stands before them. */
export function wordOf(piece: string): { lead: string; word: string } | undefined {
  const [, lead, word] = PIECE.exec(piece) ?? [];
  return lead === undefined || !word ? undefined : { lead, word };
}

/** Signs of the longest run in the table. */
const MAX_SIGNS = 5;
const SIGNS = /^ ?[!-/:-@[-`{-~]+[\r\n/]*$/;

/** The runs of signs that are one token and met most. Of a single sign there is no other way. */
export function pickSigns(vocabulary: Vocabulary, shares: ReadonlyMap<string, number>, count: number): string[] {
  const runs = [...shares].filter(
    ([run]) => run.length <= MAX_SIGNS && SIGNS.test(run) && vocabulary.rank(run) !== undefined,
  );
  const saving = ([run, share]: [string, number]): number => share * Math.max(0.1, run.length - 1);
  const ranked = runs.toSorted((a, b) => saving(b) - saving(a) || (a[0] < b[0] ? -1 : 1));
  return ranked
    .slice(0, count)
    .map(([run]) => run)
    .toSorted();
}
