/** The API key as a string: how one is made, recognised, shown and stored. */
import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIX = 'sk-inf-';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 34 characters of base 62 are 202 random bits. */
const RANDOM_CHARACTERS = 34;
/** 62^6 > 2^32: a CRC-32 fits. */
const CHECKSUM_CHARACTERS = 6;
const WELL_FORMED = /^sk-inf-[0-9A-Za-z]{40}$/;

/** A new key, from the operating system's random numbers unless others are given. */
export function mintKey(random: (bytes: number) => Uint8Array = randomBytes): string {
  let body = '';
  while (body.length < RANDOM_CHARACTERS) {
    for (const byte of random(RANDOM_CHARACTERS)) {
      // 248 = 4 * 62: the bytes above it would favour the first characters of the alphabet.
      if (byte < 248 && body.length < RANDOM_CHARACTERS) body += BASE62.charAt(byte % 62);
    }
  }
  return PREFIX + body + checksum(body);
}

/** True when the text has a key's form and its checksum is right. Says nothing about whether the key exists. */
export function isWellFormedKey(text: string): boolean {
  if (!WELL_FORMED.test(text)) return false;
  const body = text.slice(PREFIX.length, PREFIX.length + RANDOM_CHARACTERS);
  return text.slice(PREFIX.length + RANDOM_CHARACTERS) === checksum(body);
}

/** The SHA-256 of a key in hexadecimal, which is all that is stored of it. A key is random, so no salt is needed. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex');
}

/** The form in which a key is displayed: `sk-inf-…` and its last four characters. */
export function previewKey(key: string): string {
  return `${PREFIX}…${key.slice(-4)}`;
}

/** What may hold a key in a place where none belongs: a path, the name of a model. */
const KEY_LIKE = /sk-inf-[0-9A-Za-z]{12,}/g;

/** The text without the keys that stand in it. */
export function withoutKeys(text: string): string {
  return text.replace(KEY_LIKE, `${PREFIX}…`);
}

function checksum(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let i = 0; i < CHECKSUM_CHARACTERS; i++) {
    text = BASE62.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
