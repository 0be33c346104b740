/**
 * Searches bytes of any kind for secrets, in any common encoding, and for long enough parts of
 * them.
 */

/** This many characters of an encoded secret count as a find. */
const FRAGMENT_BYTES = 12;
/** Characters of base64 that may depend on the bytes next to a secret. */
const SHARED_BYTES = 4;
const TABLE_BITS = 20;

export class Scanner {
  /** The names of the secrets that contain a fragment, by fragment. */
  readonly #names = new Map<string, Set<string>>();
  /** Whether any fragment begins with four bytes of this hash. */
  readonly #beginnings = new Uint8Array(2 ** TABLE_BITS);

  /** The secrets by their names. */
  constructor(secrets: Readonly<Record<string, string>>) {
    for (const [name, secret] of Object.entries(secrets)) {
      for (const spelling of spellingsOf(secret)) this.#add(name, Buffer.from(spelling));
    }
  }

  /** The names of the secrets in these bytes. */
  find(bytes: Buffer): string[] {
    const found = new Set<string>();
    for (let at = 0; at + FRAGMENT_BYTES <= bytes.length; at++) {
      if (this.#beginnings[hashOf(bytes, at)] === 0) continue;
      const names = this.#names.get(bytes.toString('latin1', at, at + FRAGMENT_BYTES));
      for (const name of names ?? []) found.add(name);
    }
    return [...found].toSorted();
  }

  #add(name: string, spelling: Buffer): void {
    for (let at = 0; at + FRAGMENT_BYTES <= spelling.length; at++) {
      const fragment = spelling.toString('latin1', at, at + FRAGMENT_BYTES);
      const names = this.#names.get(fragment) ?? new Set();
      this.#names.set(fragment, names.add(name));
      this.#beginnings[hashOf(spelling, at)] = 1;
    }
  }
}

function hashOf(bytes: Buffer, at: number): number {
  return Math.imul(bytes.readInt32LE(at), 0x9e3779b1) >>> (32 - TABLE_BITS);
}

function spellingsOf(secret: string): string[] {
  const hex = Buffer.from(secret).toString('hex');
  const escaped = JSON.stringify(secret).slice(1, -1);
  const base64 = ['', ' ', '  '].map((before) => {
    const text = Buffer.from(`${before}${secret}`).toString('base64').replace(/=+$/, '');
    return text.slice(before === '' ? 0 : SHARED_BYTES, -SHARED_BYTES);
  });
  const inAddresses = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  const ascii = secret.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return [
    secret,
    escaped,
    JSON.stringify(escaped).slice(1, -1),
    ascii,
    encodeURIComponent(secret),
    encodeURIComponent(secret).replaceAll('%20', '+'),
    hex,
    hex.toUpperCase(),
    ...base64,
    ...inAddresses,
  ];
}
