/** Ids of recently seen valid keys, by hash. They only spare a lookup: the ledger decides on every request. */

/** More keys than one gateway serves at a time. Beyond that, all are forgotten and looked up again. */
const MAX_KNOWN_KEYS = 10_000;

export class KnownKeys {
  readonly #ids = new Map<string, string>();

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
