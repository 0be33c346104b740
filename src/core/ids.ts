/** Identifiers that sort by time: a prefix, the time in milliseconds, 80 random bits. */
import { randomFillSync } from 'node:crypto';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_CHARACTERS = 10;
const RANDOM_CHARACTERS = 16;

// Random bytes are drawn 4 KB at a time: one call of the generator costs as much as 250
// identifiers.
const pool = Buffer.alloc(4096);
let poolOffset = pool.length;

/**
 * `prefix_` and 26 characters of Crockford's base 32. Ids from different milliseconds sort by time.
 */
export function newId(prefix: string, wallMs: number): string {
  if (poolOffset + RANDOM_CHARACTERS > pool.length) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  let time = '';
  for (let rest = Math.floor(wallMs), i = 0; i < TIME_CHARACTERS; i++) {
    time = ALPHABET.charAt(rest % 32) + time;
    rest = Math.floor(rest / 32);
  }
  let random = '';
  for (let i = 0; i < RANDOM_CHARACTERS; i++) random += ALPHABET.charAt((pool[poolOffset++] as number) & 31);
  return `${prefix}_${time}${random}`;
}
