/** API keys as strings: how they are made, recognised, displayed and stored. */
import { hash, randomBytes } from 'node:crypto';

const PREFIX = 'sk-inf-';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 34 characters of base 62 are 202 random bits. */
const RANDOM_CHARACTERS = 34;
/** 62^6 > 2^32: a CRC-32 fits. */
const CHECKSUM_CHARACTERS = 6;
const WELL_FORMED = /^sk-inf-[0-9A-Za-z]{40}$/;

/** Makes a new key. Random bytes come from the operating system unless a test gives others. */
export function mintKey(random: (bytes: number) => Uint8Array = randomBytes): string {
  let body = '';
  while (body.length < RANDOM_CHARACTERS) {
    for (const byte of random(RANDOM_CHARACTERS)) {
      // 248 = 4 * 62: bytes from there on would favour the first characters of the alphabet.
      if (byte < 248 && body.length < RANDOM_CHARACTERS) body += BASE62.charAt(byte % 62);
    }
  }
  return PREFIX + body + checksum(body);
}

/** True if the text has the form of a key and a valid checksum. The key need not exist. */
export function isWellFormedKey(text: string): boolean {
  if (!WELL_FORMED.test(text)) return false;
  const body = text.slice(PREFIX.length, PREFIX.length + RANDOM_CHARACTERS);
  return text.slice(PREFIX.length + RANDOM_CHARACTERS) === checksum(body);
}

/** Returns the SHA-256 of a key in hexadecimal, the only stored form of a key. Keys are random, so they need no salt. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex');
}

/** A key as it is displayed: `sk-inf-…` and its last four characters. */
export function previewKey(key: string): string {
  return `${PREFIX}…${key.slice(-4)}`;
}

/** Matches a complete key or a prefix of one. */
const KEY_LIKE = /sk-inf-[0-9A-Za-z]{12,}/g;

/** Shortens every key in a text to `sk-inf-…`. Clients put keys in the wrong field, such as the path or the model name. */
export function redactKeys(text: string): string {
  return text.replace(KEY_LIKE, `${PREFIX}…`);
}

function checksum(body: string): string {
  // Loaded on first use: loading takes 10 ms, and most commands and threads never compute a checksum.
  let rest = process.getBuiltinModule('node:zlib').crc32(body);
  let text = '';
  for (let i = 0; i < CHECKSUM_CHARACTERS; i++) {
    text = BASE62.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
