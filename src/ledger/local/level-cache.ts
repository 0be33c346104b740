/** A cache of levels as they are stored, valid until another process commits: keys, groups and end users. */

import { type Clock, utcMonth } from '../../core/clock.ts';
import { invariant } from '../../core/invariant.ts';
import type { Limits } from '../../core/limits.ts';
import type { Nanos } from '../../core/money.ts';
import { type KeyRecord, type KeyState, type LevelTerms, limitsInForce, type Owner } from '../../state/keys.ts';
import {
  GROUP_ID,
  isUserId,
  type LevelName,
  ownerOf,
  ownTerms,
  termsOfUser,
  userId,
  userStoredAs,
} from '../../state/levels.ts';
import type { Lease } from './activity.ts';
import type { Books } from './books.ts';
import { LevelBudgets } from './level-budgets.ts';

/** What bounds requests: its terms, and what it was charged this month. */
export interface Level {
  readonly id: string;
  readonly name: LevelName;
  readonly state: KeyState;
  /** Null for never, and for what is no key. */
  readonly expiresAtMs: number | null;
  readonly allowlist: readonly string[] | null;
  readonly requiresUser: boolean;
  /** Infinite where there is none. */
  readonly limits: Limits;
  readonly spendLimitNanos: Nanos | null;
  readonly month: string;
  /** This month; of an end user only where a spend limit asks for it. */
  chargedNanos: Nanos;
  /** Undefined for one that has none. */
  readonly budgets: LevelBudgets | undefined;
}

/** A key or a group. */
interface OwnerLevel extends Level {
  readonly record: Owner;
  /** Where it is in; null for nowhere. */
  readonly outerId: string | null;
  /** What its end users may do; undefined if they are no levels. */
  readonly ofUsers: LevelTerms | undefined;
}

export interface KeyLevel extends OwnerLevel {
  readonly record: KeyRecord;
  /** Itself alone. */
  readonly alone: readonly Level[];
}

/** Counts the charge of a request that was settled then. */
export function charge(level: Level, { month, hold }: Lease, settledAtMs: number, nanos: Nanos): void {
  if (level.month === month) level.chargedNanos += nanos;
  level.budgets?.add(hold.admittedAtMs, settledAtMs, nanos);
}

function kindOf(ownerId: string): 'key' | 'group' {
  return ownerId.startsWith(GROUP_ID) ? 'group' : 'key';
}

/** When the cache is full it is cleared. A level takes about 1 KB. */
const MAX_CACHED_LEVELS = 100_000;
/** Runs inside of one another, and groups. More is a circle. */
const MOST_OUTER = 1_000;
export const NO_LIMITS: Limits = {
  rpm: Number.POSITIVE_INFINITY,
  tpm: Number.POSITIVE_INFINITY,
  concurrency: Number.POSITIVE_INFINITY,
  modelsRpm: Number.POSITIVE_INFINITY,
};

export class LevelCache {
  readonly #store: Books;
  #defaults: Limits;
  readonly #clock: Clock;
  readonly #byHash = new Map<string, KeyLevel>();
  readonly #byId = new Map<string, Level>();

  constructor(store: Books, defaults: Limits, clock: Clock) {
    this.#store = store;
    this.#defaults = defaults;
    this.#clock = clock;
  }

  /**
   * The key with that hash. An unknown hash is not cached, since its key may be created at any
   * moment.
   */
  byHash(hash: string): KeyLevel | undefined {
    const cached = this.#current(this.#byHash.get(hash));
    if (cached !== undefined) return cached;
    const record = this.#store.keys.byHash(hash);
    if (record === undefined) return undefined;
    const key = (this.#current(this.#byId.get(record.id)) as KeyLevel | undefined) ?? this.#keep(this.#keyOf(record));
    this.#byHash.set(hash, key);
    return key;
  }

  key(id: string): KeyLevel | undefined {
    const cached = this.#current(this.#byId.get(id));
    if (cached !== undefined) return cached as KeyLevel;
    const record = this.#store.keys.find(id);
    return record && this.#keep(this.#keyOf(record));
  }

  /** The level with that id. Undefined where there is none any more: then it bounds nothing. */
  find(id: string): Level | undefined {
    const user = ownerOf(id);
    if (user === undefined) return this.#owner(id);
    const owner = this.#owner(user.ownerId);
    return owner?.ofUsers && this.#user(id, owner, owner.ofUsers, userStoredAs(user.stored));
  }

  /** The levels of a request of a key, from inside out. */
  chainOf(key: KeyLevel, user: string | undefined): readonly Level[] {
    if (key.outerId === null && key.ofUsers === undefined) return key.alone;
    const chain: Level[] = [];
    for (let owner: OwnerLevel | undefined = key; owner !== undefined; ) {
      invariant(chain.length < MOST_OUTER, () => `the key ${key.id} is inside of itself`);
      if (user !== undefined && owner.ofUsers !== undefined) {
        chain.push(this.#user(userId(owner.id, user), owner, owner.ofUsers, user));
      }
      chain.push(owner);
      owner = owner.outerId === null ? undefined : this.#owner(owner.outerId);
    }
    return chain;
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

  #owner(id: string): OwnerLevel | undefined {
    if (!id.startsWith(GROUP_ID)) return this.key(id);
    const cached = this.#current(this.#byId.get(id));
    if (cached !== undefined) return cached as OwnerLevel;
    const record = this.#store.groups.find(id);
    if (record === undefined) return undefined;
    const limits = limitsInForce(record, NO_LIMITS);
    const group = { ...this.#ownerOf(record, record, limits, 'group'), outerId: record.groupId, expiresAtMs: null };
    return this.#keep(group);
  }

  #user(id: string, owner: OwnerLevel, ofUsers: LevelTerms, name: string): Level {
    const cached = this.#current(this.#byId.get(id));
    if (cached !== undefined) return cached;
    const own = this.#store.groups.findUser(owner.id, name);
    const terms = termsOfUser(ofUsers, own);
    return this.#keep({
      ...this.#levelOf(id, terms, limitsInForce(terms, NO_LIMITS)),
      name: {
        kind: 'user',
        name: owner.record.name,
        of: kindOf(owner.id),
        own: own === undefined ? [] : ownTerms(own),
      },
      state: own?.state ?? 'enabled',
      expiresAtMs: null,
      allowlist: null,
      requiresUser: false,
    });
  }

  /** Undefined once the month of the cached charge is over, or the day of a level that has budgets. */
  #current<L extends Level>(cached: L | undefined): L | undefined {
    const wallMs = this.#clock.wallMs();
    return cached?.month === utcMonth(wallMs) && cached.budgets?.isCurrent(wallMs) !== false ? cached : undefined;
  }

  #keep<L extends Level>(level: L): L {
    if (this.#byId.size >= MAX_CACHED_LEVELS) this.clear();
    this.#byId.set(level.id, level);
    return level;
  }

  #keyOf(record: KeyRecord): KeyLevel {
    const { expiresAtMs, parentId, groupId } = record;
    const limits = limitsInForce(record, this.#defaults);
    const alone: Level[] = [];
    const key = { ...this.#ownerOf(record, record, limits, 'key'), outerId: parentId ?? groupId, expiresAtMs, alone };
    alone.push(key);
    return key;
  }

  #ownerOf<R extends Owner>(record: R, terms: LevelTerms, limits: Limits, kind: LevelName['kind']) {
    const { id, name, state, allowlist, userLimits } = record;
    return {
      ...this.#levelOf(id, terms, limits),
      name: { kind, name },
      state,
      allowlist,
      requiresUser: userLimits?.required === true,
      ofUsers: userLimits ?? undefined,
      record,
    };
  }

  #levelOf(id: string, { spendLimitNanos, budgets }: LevelTerms, limits: Limits) {
    const wallMs = this.#clock.wallMs();
    const month = utcMonth(wallMs);
    return {
      id,
      limits,
      spendLimitNanos,
      month,
      chargedNanos: spendLimitNanos === null && isUserId(id) ? 0n : this.#store.journal.chargedInMonth(id, month),
      budgets: LevelBudgets.read({ id, budgets }, this.#store.journal, wallMs),
    };
  }
}
