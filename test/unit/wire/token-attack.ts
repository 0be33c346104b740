/** Searches for texts that are estimated far below their tokens: `npm run test:estimate -- MINUTES SEED`, 1 and 1 by default. */
import ranks from 'gpt-tokenizer/bpeRanks/o200k_base';
import { estimateTokens } from '../../../src/wire/token-estimate.ts';
import { ALPHABETS, SEAMS, tokensOf } from './token-texts.ts';

const LEAST = 0.9;
const SHOWN = 10;
/** So long a text is repeated to, that no rounding counts. */
const MEASURED_CHARACTERS = 60;
const MOST_CHARACTERS = 40;
/** Changes in a row that make nothing worse, after which the search starts anew. */
const PATIENCE = 80;

const minutes = Number(process.argv[2] ?? 1);
const seed = Number(process.argv[3] ?? 1);
let state = seed >>> 0;

/** A number from 0 to below `limit` (xorshift). */
function random(limit: number): number {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % limit;
}

function oneOf<T>(all: readonly T[]): T {
  return all[random(all.length)] as T;
}

const tokens = ranks.filter((token): token is string => typeof token === 'string');
const letters = tokens.filter((token) => /^ ?[A-Za-z]{1,3}$/.test(token));

function character(): string {
  const [first, last] = oneOf(ALPHABETS);
  return String.fromCodePoint(first + random(last - first + 1));
}

/** What texts are made of: tokens, parts of words, characters of all alphabets, and what stands at seams. */
function fragment(): string {
  switch (random(8)) {
    case 0:
    case 1:
      return oneOf(tokens);
    case 2:
    case 3:
      return oneOf(letters);
    case 4:
    case 5:
      return character();
    case 6:
      return oneOf(SEAMS);
    default:
      return character().repeat(1 + random(12));
  }
}

function changed(text: string): string {
  const at = random(text.length + 1);
  switch (random(6)) {
    case 0:
    case 1:
      return text.slice(0, at) + fragment() + text.slice(at);
    case 2:
      return text.slice(0, at) + text.slice(at + 1 + random(3));
    case 3:
      return text.slice(0, at) + fragment() + text.slice(at + 1);
    case 4:
      return text.slice(0, at) + (random(2) === 0 ? text.slice(at).toUpperCase() : text.slice(at).toLowerCase());
    default:
      return text.slice(at) + text.slice(0, at);
  }
}

let candidates = 0;

function ratioOfRepeated(text: string): number {
  candidates++;
  const repeated = text.repeat(Math.ceil(MEASURED_CHARACTERS / text.length));
  return estimateTokens(repeated) / tokensOf(repeated);
}

/** Climbs from a text at random to one that no change makes worse. */
function climb(end: number): { text: string; ratio: number } {
  let text = fragment();
  let ratio = ratioOfRepeated(text);
  for (let failed = 0; failed < PATIENCE && Date.now() < end; failed++) {
    const next = changed(text);
    if (next.length === 0 || next.length > MOST_CHARACTERS) continue;
    const found = ratioOfRepeated(next);
    if (found < ratio) failed = 0;
    if (found <= ratio) [text, ratio] = [next, found];
  }
  return { text, ratio };
}

const end = Date.now() + minutes * 60_000;
const worst: { text: string; ratio: number }[] = [];
while (Date.now() < end) {
  worst.push(climb(end));
  worst.sort((a, b) => a.ratio - b.ratio);
  worst.length = Math.min(worst.length, SHOWN);
}
for (const { text, ratio } of worst) console.log(`${ratio.toFixed(3)} ${JSON.stringify(text)}`);
const least = worst[0]?.ratio ?? 1;
console.log(`seed ${seed}: ${candidates} texts, the worst estimated at ${least.toFixed(3)} of its tokens`);
if (least < LEAST) process.exitCode = 1;
