/** A cache of keys as they are stored, valid until another process commits. */

import { type Clock, utcMonth } from '../../core/clock.ts';
import type { Limits } from '../../core/limits.ts';
import type { Nanos } from '../../core/money.ts';
import { type KeyRecord, limitsInForce } from '../../state/keys.ts';
import type { LedgerStore } from '../../state/sqlite/ledger-store.ts';
import type { Lease } from './activity.ts';
import { KeyBudgets } from './key-budgets.ts';

/** A key, the limits in force for it, and what it was charged this month. */
export interface CachedKey {
  readonly record: KeyRecord;
  readonly limits: Limits;
  readonly month: string;
  chargedNanos: Nanos;
  /** Undefined for a key that has none. */
  readonly budgets: KeyBudgets | undefined;
}

/** Counts the charge of a request, in the periods in which it was admitted. */
export function chargeKey(key: CachedKey, { month, hold }: Lease, nanos: Nanos): void {
  if (key.month === month) key.chargedNanos += nanos;
  key.budgets?.add(hold.admittedAtMs, nanos);
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

  /** Undefined once the month of the cached charge is over, or the day of a key that has budgets. */
  #current(cached: CachedKey | undefined): CachedKey | undefined {
    const wallMs = this.#clock.wallMs();
    return cached?.month === utcMonth(wallMs) && cached.budgets?.isCurrent(wallMs) !== false ? cached : undefined;
  }

  #remember(record: KeyRecord | undefined, hash: string | undefined): CachedKey | undefined {
    if (record === undefined) return undefined;
    if (this.#byId.size >= MAX_CACHED_KEYS) this.clear();
    const wallMs = this.#clock.wallMs();
    const month = utcMonth(wallMs);
    const cached: CachedKey = this.#current(this.#byId.get(record.id)) ?? {
      record,
      limits: limitsInForce(record, this.#defaults),
      month,
      chargedNanos: this.#store.chargedInMonth(record.id, month),
      budgets: KeyBudgets.read(record, this.#store, wallMs),
    };
    this.#byId.set(record.id, cached);
    if (hash !== undefined) this.#byHash.set(hash, cached);
    return cached;
  }
}
