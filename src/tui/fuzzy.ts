/** How well a text matches what somebody has typed of it. Pure. */

/** For each character that is found. */
const FOUND = 4;
/** For one that begins a word, and for the first of the whole text. */
const WORD = 6;
const START = 2;
/** For one that follows the one found before it: more than for a word, so that initials do not beat the word itself. */
const RUN = 7;
/** The characters of a text that are looked at: names and ids are shorter. */
const MAX_CHARACTERS = 200;
const NONE = -1;

const LETTER = /[\p{L}\p{N}]/u;

/** Reused by all calls, none of which runs while another does. */
let ending = new Int32Array(MAX_CHARACTERS);
let next = new Int32Array(MAX_CHARACTERS);

/** The words of a query, for `fuzzyScore`. */
export function queryWords(query: string): readonly string[] {
  return query
    .toLowerCase()
    .split(' ')
    .filter((word) => word !== '');
}

/**
 * A score, higher for a better match; undefined if the text, in lower case, does not match. Each word has
 * to be in it, its characters in order but not necessarily side by side.
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

/** The best way to find the word's characters in order. */
function scoreOfWord(word: string, text: string): number {
  const length = Math.min(text.length, MAX_CHARACTERS);
  const start = startOf(word, text);
  if (start === NONE) return NONE;
  let best = NONE;
  for (let place = 0; place < word.length; place++) {
    const character = word.charCodeAt(place);
    // The best score of the characters so far, the last of which was found earlier than one before `at`.
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

/** Where the first character is found if all are there in order: most texts do not match. */
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
