/** Scores how well a text matches a typed query. Pure. */

/** Score of each matched character. */
const FOUND = 4;
/** Score of a character that begins a word, and of the text's first character. */
const WORD = 6;
const START = 2;
/**
 * Score of a character that directly follows the previous match. It exceeds WORD, so that initials do not beat the
 * whole word.
 */
const RUN = 7;
/** Maximum characters searched in a text; names and ids are shorter. */
const MAX_CHARACTERS = 200;
const NONE = -1;

const LETTER = /[\p{L}\p{N}]/u;

/** Buffers that all calls reuse; calls never overlap. */
let ending = new Int32Array(MAX_CHARACTERS);
let next = new Int32Array(MAX_CHARACTERS);

/** Splits a query into words for `fuzzyScore`. */
export function queryWords(query: string): readonly string[] {
  return query
    .toLowerCase()
    .split(' ')
    .filter((word) => word !== '');
}

/**
 * Returns a score, higher for a better match; undefined without a match. The text is in lower case and must contain
 * the characters of each word in order, with or without gaps.
 */
export function fuzzyScore(words: readonly string[], text: string): number | undefined {
  let sum = 0;
  for (const word of words) {
    const score = scoreOfWord(word, text);
    if (score === NONE) return undefined;
    sum += score;
  }
  return sum;
}

/** Returns the best score of the word's characters in order. */
function scoreOfWord(word: string, text: string): number {
  const length = Math.min(text.length, MAX_CHARACTERS);
  const start = startOf(word, text);
  if (start === NONE) return NONE;
  let best = NONE;
  for (let place = 0; place < word.length; place++) {
    const character = word.charCodeAt(place);
    // The best score of the previous characters, with the last one matched at least one before `at`.
    let before = place === 0 ? 0 : NONE;
    let previous = NONE;
    best = NONE;
    for (let at = start; at < length; at++) {
      let score = NONE;
      if (text.charCodeAt(at) === character) {
        const reached = previous === NONE ? before : Math.max(before, previous + RUN);
        if (reached !== NONE) score = reached + FOUND + startBonus(text, at);
      }
      next[at] = score;
      if (score > best) best = score;
      if (place > 0) {
        if (previous > before) before = previous;
        previous = ending[at] as number;
      }
    }
    [ending, next] = [next, ending];
  }
  return best;
}

/** Returns the position of the first character if all follow in order. This quick check rejects most texts. */
function startOf(word: string, text: string): number {
  const start = text.indexOf(word[0] as string);
  let at = start;
  for (let place = 1; at >= 0 && place < word.length; place++) at = text.indexOf(word[place] as string, at + 1);
  return at < 0 ? NONE : start;
}

function startBonus(text: string, at: number): number {
  if (at === 0) return WORD + START;
  return isLetter(text.charCodeAt(at - 1), text[at - 1] as string) ? 0 : WORD;
}

function isLetter(code: number, character: string): boolean {
  if (code > 0x7f) return LETTER.test(character);
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39);
}
