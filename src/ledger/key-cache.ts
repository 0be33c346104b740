/** Keys as the file has them, remembered until another process commits. */

import { type Clock, utcMonth } from '../core/clock.ts';
import type { Limits } from '../core/limits.ts';
import type { Nanos } from '../core/money.ts';
import { type KeyRecord, limitsInForce } from '../state/keys.ts';
import type { Journal } from '../state/sqlite/journal.ts';
import type { KeyStore } from '../state/sqlite/keys.ts';

/** A key, the limits in force for it, and what it was charged this month. */
export interface CachedKey {
  readonly record: KeyRecord;
  readonly limits: Limits;
  readonly month: string;
  chargedNanos: Nanos;
}

/** How many keys are remembered; past that the cache starts anew. A key takes about 1 KB. */
const MAX_CACHED_KEYS = 100_000;

export class KeyCache {
  readonly #keys: KeyStore;
  readonly #journal: Journal;
  #defaults: Limits;
  readonly #clock: Clock;
  readonly #byHash = new Map<string, CachedKey>();
  readonly #byId = new Map<string, CachedKey>();

  constructor(keys: KeyStore, journal: Journal, defaults: Limits, clock: Clock) {
    this.#keys = keys;
    this.#journal = journal;
    this.#defaults = defaults;
    this.#clock = clock;
  }

  /** The key of that hash. A hash that is not known is asked for anew each time: it may be made at any moment. */
  byHash(hash: string): CachedKey | undefined {
    return this.#current(this.#byHash.get(hash)) ?? this.#remember(this.#keys.byHash(hash), hash);
  }

  byId(id: string): CachedKey | undefined {
    return this.#current(this.#byId.get(id)) ?? this.#remember(this.#keys.find(id), undefined);
  }

  /** From here on other limits are in force for keys that have none of their own. */
  configure(defaults: Limits): void {
    this.#defaults = defaults;
    this.clear();
  }

  clear(): void {
    this.#byHash.clear();
    this.#byId.clear();
  }

  /** A cached key whose month is over is no longer current. */
  #current(cached: CachedKey | undefined): CachedKey | undefined {
    return cached?.month === utcMonth(this.#clock.wallMs()) ? cached : undefined;
  }

  #remember(record: KeyRecord | undefined, hash: string | undefined): CachedKey | undefined {
    if (record === undefined) return undefined;
    if (this.#byId.size >= MAX_CACHED_KEYS) this.clear();
    const month = utcMonth(this.#clock.wallMs());
    const cached: CachedKey = this.#current(this.#byId.get(record.id)) ?? {
      record,
      limits: limitsInForce(record, this.#defaults),
      month,
      chargedNanos: this.#journal.chargedInMonth(record.id, month),
    };
    this.#byId.set(record.id, cached);
    if (hash !== undefined) this.#byHash.set(hash, cached);
    return cached;
  }
}
