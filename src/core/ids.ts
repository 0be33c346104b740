/** Identifiers that sort by time: a prefix, the time in milliseconds, 80 random bits. */
import { randomFillSync } from 'node:crypto';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_CHARACTERS = 10;
const RANDOM_PAIRS = 8;

/** All pairs of characters, by their ten bits. Appending single characters would take most of the time of a new id. */
const PAIRS = Array.from({ length: 1024 }, (_, bits) => ALPHABET.charAt(bits >> 5) + ALPHABET.charAt(bits & 31));

// Random bytes are drawn 4 KB at a time: one call of the generator costs as much as 250 identifiers.
const pool = new Uint16Array(2048);
let poolOffset = pool.length;

/** The encoded time of the last id. Most ids share it with their predecessor. */
let latestMs = Number.NaN;
let latestTime = '';

/** `prefix_` and 26 characters of Crockford's base 32. Ids from different milliseconds sort by time. */
export function newId(prefix: string, wallMs: number): string {
  if (poolOffset + RANDOM_PAIRS > pool.length) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  let random = '';
  for (let i = 0; i < RANDOM_PAIRS; i++) random += PAIRS[(pool[poolOffset++] as number) & 1023];
  return `${prefix}_${timeOf(Math.floor(wallMs))}${random}`;
}

function timeOf(wallMs: number): string {
  if (wallMs !== latestMs) {
    latestMs = wallMs;
    latestTime = '';
    for (let rest = wallMs, i = 0; i < TIME_CHARACTERS; i++) {
      latestTime = ALPHABET.charAt(rest % 32) + latestTime;
      rest = Math.floor(rest / 32);
    }
  }
  return latestTime;
}
