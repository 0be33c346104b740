/** A cache of levels as they are stored, valid until another process commits: keys, groups and end users. */

import { type Clock, utcDay, utcMonth } from '../../core/clock.ts';
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
  /** Of requests that name nobody; undefined until the first of them. */
  chain: Chain | undefined;
  /** Of those that name an end user who is a level. */
  readonly chainsOfUsers: Map<string, Chain>;
}

/** What bounds a request of a key. */
export interface Chain {
  /** From inside out. */
  readonly levels: readonly Level[];
  /** The ids of all but the key, in the same order; undefined if there are none. */
  readonly outerIds: readonly string[] | undefined;
  /** The names of the groups among them; undefined if there are none. */
  readonly groups: readonly string[] | undefined;
  /** Whether it is another one if the request names an end user, or another of them. */
  readonly hasUsers: boolean;
  /** Of the cache that all its levels are in; undefined if one was not there any more. */
  readonly generation: number | undefined;
}

/** Counts the charge of a request that was settled then. */
export function charge(level: Level, { month, hold }: Lease, settledAtMs: number, nanos: Nanos): void {
  if (level.month === month) level.chargedNanos += nanos;
  level.budgets?.add(hold.admittedAtMs, settledAtMs, nanos);
}

function kindOf(ownerId: string): 'key' | 'group' {
  return ownerId.startsWith(GROUP_ID) ? 'group' : 'key';
}

/** When so many levels and chains of end users are cached, the cache is cleared. Each takes about 1 KB. */
const MOST_CACHED = 100_000;
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
  #cached = 0;
  /** Of the day of what is cached: with it months end, and most budgets. */
  #day = '';
  /** How often the cache was cleared. */
  #generation = 0;

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
    this.#turnDay();
    const cached = this.#byHash.get(hash);
    if (cached !== undefined) return cached;
    const record = this.#store.keys.byHash(hash);
    if (record === undefined) return undefined;
    const key = (this.#byId.get(record.id) as KeyLevel | undefined) ?? this.#keep(this.#keyOf(record));
    this.#byHash.set(hash, key);
    return key;
  }

  key(id: string): KeyLevel | undefined {
    this.#turnDay();
    const cached = this.#byId.get(id);
    if (cached !== undefined) return cached as KeyLevel;
    const record = this.#store.keys.find(id);
    return record && this.#keep(this.#keyOf(record));
  }

  /** The level with that id. Undefined where there is none any more: then it bounds nothing. */
  find(id: string): Level | undefined {
    this.#turnDay();
    const user = ownerOf(id);
    if (user === undefined) return this.#owner(id);
    const owner = this.#owner(user.ownerId);
    return owner?.ofUsers && this.#user(id, owner, owner.ofUsers, userStoredAs(user.stored));
  }

  /** The levels of a request of a key. */
  chainOf(key: KeyLevel, user: string | undefined): Chain {
    key.chain ??= this.#chainOf(key, undefined);
    if (user === undefined || !key.chain.hasUsers) return key.chain;
    let chain = key.chainsOfUsers.get(user);
    if (chain === undefined) {
      chain = this.#chainOf(key, user);
      this.#count();
      key.chainsOfUsers.set(user, chain);
    }
    return chain;
  }

  /** Whether the levels of a chain are those that are cached. */
  isCurrent({ generation }: Chain): boolean {
    this.#turnDay();
    return generation === this.#generation;
  }

  #chainOf(key: KeyLevel, user: string | undefined): Chain {
    // Before others are read, which may clear the cache.
    const generation = this.#byId.get(key.id) === key ? this.#generation : undefined;
    const levels: Level[] = [];
    let hasUsers = false;
    for (let owner: OwnerLevel | undefined = key; owner !== undefined; ) {
      invariant(levels.length < MOST_OUTER, () => `the key ${key.id} is inside of itself`);
      hasUsers ||= owner.ofUsers !== undefined;
      if (user !== undefined && owner.ofUsers !== undefined) {
        levels.push(this.#user(userId(owner.id, user), owner, owner.ofUsers, user));
      }
      levels.push(owner);
      owner = owner.outerId === null ? undefined : this.#owner(owner.outerId);
    }
    const outerIds = levels.flatMap(({ id }) => (id === key.id ? [] : [id]));
    const groups = levels.flatMap(({ name }) => (name.kind === 'group' ? [name.name] : []));
    return { levels, outerIds: someOf(outerIds), groups: someOf(groups), hasUsers, generation };
  }

  /** Changes the limits of keys that have none of their own. */
  configure(defaults: Limits): void {
    this.#defaults = defaults;
    this.clear();
  }

  clear(): void {
    this.#byHash.clear();
    this.#byId.clear();
    this.#cached = 0;
    this.#generation++;
  }

  #turnDay(): void {
    const day = utcDay(this.#clock.wallMs());
    if (day === this.#day) return;
    this.clear();
    this.#day = day;
  }

  #owner(id: string): OwnerLevel | undefined {
    if (!id.startsWith(GROUP_ID)) return this.key(id);
    const cached = this.#byId.get(id);
    if (cached !== undefined) return cached as OwnerLevel;
    const record = this.#store.groups.find(id);
    if (record === undefined) return undefined;
    const limits = limitsInForce(record, NO_LIMITS);
    const group = { ...this.#ownerOf(record, record, limits, 'group'), outerId: record.groupId, expiresAtMs: null };
    return this.#keep(group);
  }

  #user(id: string, owner: OwnerLevel, ofUsers: LevelTerms, name: string): Level {
    const cached = this.#byId.get(id);
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

  #keep<L extends Level>(level: L): L {
    this.#count();
    this.#byId.set(level.id, level);
    return level;
  }

  #count(): void {
    if (this.#cached >= MOST_CACHED) this.clear();
    this.#cached++;
  }

  #keyOf(record: KeyRecord): KeyLevel {
    const { expiresAtMs, parentId, groupId } = record;
    const limits = limitsInForce(record, this.#defaults);
    return {
      ...this.#ownerOf(record, record, limits, 'key'),
      outerId: parentId ?? groupId,
      expiresAtMs,
      chain: undefined,
      chainsOfUsers: new Map(),
    };
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

function someOf<T>(all: readonly T[]): readonly T[] | undefined {
  return all.length === 0 ? undefined : all;
}
