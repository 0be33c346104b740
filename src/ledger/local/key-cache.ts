/** A cache of keys as they are stored, valid until another process commits. */

import { type Clock, utcMonth } from '../../core/clock.ts';
import type { Limits } from '../../core/limits.ts';
import type { Nanos } from '../../core/money.ts';
import { type KeyRecord, limitsInForce } from '../../state/keys.ts';
import type { LedgerStore } from '../../state/sqlite/ledger-store.ts';

/** A key, the limits in force for it, and what it was charged this month. */
export interface CachedKey {
  readonly record: KeyRecord;
  readonly limits: Limits;
  readonly month: string;
  chargedNanos: Nanos;
}

/** When the cache is full it is cleared. A key takes about 1 KB. */
const MAX_CACHED_KEYS = 100_000;

export class KeyCache {
  readonly #store: LedgerStore;
  #defaults: Limits;
  readonly #clock: Clock;
  readonly #byHash = new Map<string, CachedKey>();
  readonly #byId = new Map<string, CachedKey>();

  constructor(store: LedgerStore, defaults: Limits, clock: Clock) {
    this.#store = store;
    this.#defaults = defaults;
    this.#clock = clock;
  }

  /**
   * The key with that hash. An unknown hash is not cached, since its key may be created at any
   * moment.
   */
  byHash(hash: string): CachedKey | undefined {
    return this.#current(this.#byHash.get(hash)) ?? this.#remember(this.#store.keyByHash(hash), hash);
  }

  byId(id: string): CachedKey | undefined {
    return this.#current(this.#byId.get(id)) ?? this.#remember(this.#store.keyById(id), undefined);
  }

  /** Changes the limits of keys that have none of their own. */
  configure(defaults: Limits): void {
    this.#defaults = defaults;
    this.clear();
  }

  clear(): void {
    this.#byHash.clear();
    this.#byId.clear();
  }

  /** Undefined once the month of the cached charge is over. */
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
      chargedNanos: this.#store.chargedInMonth(record.id, month),
    };
    this.#byId.set(record.id, cached);
    if (hash !== undefined) this.#byHash.set(hash, cached);
    return cached;
  }
}
