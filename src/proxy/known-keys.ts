/** Keys that were sound when they were last seen. A known key carries a request to the ledger: it decides nothing by itself. */

/** More than one gateway serves at a time; beyond it, all are forgotten, and asked for again. */
const MAX_KNOWN_KEYS = 10_000;

export class KnownKeys {
  readonly #ids = new Map<string, string>();

  /** The id of a key, by its hash. */
  get(keyHash: string): string | undefined {
    return this.#ids.get(keyHash);
  }

  add(keyHash: string, id: string): void {
    if (this.#ids.size >= MAX_KNOWN_KEYS) this.#ids.clear();
    this.#ids.set(keyHash, id);
  }

  delete(keyHash: string): void {
    this.#ids.delete(keyHash);
  }
}
