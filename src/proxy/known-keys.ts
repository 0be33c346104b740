/**
 * Caches the immutable fields of recently used valid keys, by hash. It only saves a lookup: the ledger decides on every
 * request.
 */
import type { EnabledKey } from '../ledger/ledger.ts';

export type KnownKey = Pick<EnabledKey, 'keyId' | 'isLeashed'>;

/** Maximum number of cached keys, more than one gateway serves at a time. The cache is cleared when it is full. */
const MAX_KNOWN_KEYS = 10_000;

export class KnownKeys {
  readonly #keys = new Map<string, KnownKey>();

  get(keyHash: string): KnownKey | undefined {
    return this.#keys.get(keyHash);
  }

  add(keyHash: string, { keyId, isLeashed }: KnownKey): KnownKey {
    if (this.#keys.size >= MAX_KNOWN_KEYS) this.#keys.clear();
    const known = { keyId, isLeashed };
    this.#keys.set(keyHash, known);
    return known;
  }

  delete(keyHash: string): void {
    this.#keys.delete(keyHash);
  }
}
