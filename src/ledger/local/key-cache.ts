/** A cache of keys as they are stored, valid until another process commits. */

import { type Clock, utcMonth } from '../../core/clock.ts';
import type { Limits } from '../../core/limits.ts';
import type { Nanos } from '../../core/money.ts';
import { type KeyRecord, limitsInForce } from '../../state/keys.ts';
import type { Lease } from './activity.ts';
import type { Books } from './books.ts';
import { KeyBudgets } from './key-budgets.ts';
import { LeashBudgets } from './leash-budgets.ts';

/** A key, the limits in force for it, and what it was charged this month. */
export interface CachedKey {
  /** Disabled where a run around it is. */
  readonly record: KeyRecord;
  readonly limits: Limits;
  readonly month: string;
  chargedNanos: Nanos;
  /** Undefined for a key that has none. */
  readonly budgets: KeyBudgets | LeashBudgets | undefined;
}

/** Counts the charge of a request that was settled then. */
export function chargeKey(key: CachedKey, { month, hold }: Lease, settledAtMs: number, nanos: Nanos): void {
  if (key.month === month) key.chargedNanos += nanos;
  key.budgets?.add(hold.admittedAtMs, settledAtMs, nanos);
}

/** When the cache is full it is cleared. A key takes about 1 KB. */
const MAX_CACHED_KEYS = 100_000;

export class KeyCache {
  readonly #store: Books;
  #defaults: Limits;
  readonly #clock: Clock;
  readonly #heldBy: (keyIds: ReadonlySet<string>) => Nanos;
  readonly #byHash = new Map<string, CachedKey>();
  readonly #byId = new Map<string, CachedKey>();

  /** `heldBy`: what the open requests of some keys hold. */
  constructor(store: Books, defaults: Limits, clock: Clock, heldBy: (keyIds: ReadonlySet<string>) => Nanos) {
    this.#store = store;
    this.#defaults = defaults;
    this.#clock = clock;
    this.#heldBy = heldBy;
  }

  /**
   * The key with that hash. An unknown hash is not cached, since its key may be created at any
   * moment.
   */
  byHash(hash: string): CachedKey | undefined {
    return this.#withOuter(
      this.#current(this.#byHash.get(hash)) ?? this.#remember(this.#store.keys.byHash(hash), hash),
    );
  }

  byId(id: string): CachedKey | undefined {
    return this.#withOuter(this.#current(this.#byId.get(id)) ?? this.#remember(this.#store.keys.find(id), undefined));
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

  /** The key, and the keys of the runs around it in the cache: a charge counts for all of them, so it must come after they are read. */
  #withOuter(key: CachedKey | undefined): CachedKey | undefined {
    for (const id of key?.record.leash?.outerIds ?? []) {
      if (this.#current(this.#byId.get(id)) === undefined) this.#remember(this.#store.keys.find(id), undefined);
    }
    return key;
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
      record: this.#inForce(record),
      limits: limitsInForce(record, this.#defaults),
      month,
      chargedNanos: this.#store.journal.chargedInMonth(record.id, month),
      budgets: this.#budgetsOf(record, wallMs),
    };
    this.#byId.set(record.id, cached);
    if (hash !== undefined) this.#byHash.set(hash, cached);
    return cached;
  }

  /** A run ends with those around it. */
  #inForce(record: KeyRecord): KeyRecord {
    const { outerIds = [] } = record.leash ?? {};
    if (outerIds.every((id) => this.#store.keys.find(id)?.state === 'enabled')) return record;
    return { ...record, state: record.state === 'enabled' ? 'disabled' : record.state };
  }

  #budgetsOf(record: KeyRecord, wallMs: number): CachedKey['budgets'] {
    const { id, leash } = record;
    if (leash === undefined) return KeyBudgets.read(record, this.#store.journal, wallMs);
    const onLeash = new Set([id, ...this.#store.keys.innerIds(id)]);
    const own = KeyBudgets.read(record, this.#store.journal, wallMs, () => this.#heldBy(onLeash));
    return new LeashBudgets(own, () => leash.outerIds.flatMap((outerId) => this.#totalOf(outerId)));
  }

  /** What is cached of the budgets of a run around another. */
  #totalOf(id: string): readonly KeyBudgets[] {
    const budgets = this.#byId.get(id)?.budgets;
    return budgets instanceof LeashBudgets && budgets.own !== undefined ? [budgets.own] : [];
  }
}
