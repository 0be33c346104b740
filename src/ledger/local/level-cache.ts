/** A cache of stored levels (keys, groups and end users), valid until another process commits. */

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

/** The limits of a key, group or end user, and its charges of this month. */
export interface Level {
  readonly id: string;
  readonly name: LevelName;
  readonly state: KeyState;
  /** Null for never, and for groups and end users. */
  readonly expiresAtMs: number | null;
  readonly allowlist: readonly string[] | null;
  readonly requiresUser: boolean;
  /** Infinite without a limit. */
  readonly limits: Limits;
  readonly spendLimitNanos: Nanos | null;
  readonly month: string;
  /** Charges of this month; for an end user only if it has a spend limit. */
  chargedNanos: Nanos;
  /** Undefined without budgets. */
  readonly budgets: LevelBudgets | undefined;
}

/** A key or a group. */
interface OwnerLevel extends Level {
  readonly record: Owner;
  /** The parent key or group; null for neither. */
  readonly outerId: string | null;
  /** The limits of its end users; undefined if end users have no limits here. */
  readonly ofUsers: LevelTerms | undefined;
}

export interface KeyLevel extends OwnerLevel {
  readonly record: KeyRecord;
  /** The chain for requests without an end user; undefined until the first. */
  chain: Chain | undefined;
  /** The chains for requests with a limited end user. */
  readonly chainsOfUsers: Map<string, Chain>;
}

/** The levels that limit a request of a key. */
export interface Chain {
  /** Innermost first. */
  readonly levels: readonly Level[];
  /** The ids of all levels except the key, in the same order; undefined if the key is the only level. */
  readonly outerIds: readonly string[] | undefined;
  /** The names of the groups; undefined without groups. */
  readonly groups: readonly string[] | undefined;
  /** Whether the chain depends on the request's end user. */
  readonly hasUsers: boolean;
  /** The generation of the cache that contains all its levels; undefined if one was already dropped. */
  readonly generation: number | undefined;
}

/** Adds the charge of a request settled at `settledAtMs`. */
export function charge(level: Level, { month, hold }: Lease, settledAtMs: number, nanos: Nanos): void {
  if (level.month === month) level.chargedNanos += nanos;
  level.budgets?.add(hold.admittedAtMs, settledAtMs, nanos);
}

function kindOf(ownerId: string): 'key' | 'group' {
  return ownerId.startsWith(GROUP_ID) ? 'group' : 'key';
}

/** Maximum number of cached levels and end-user chains, about 1 KB each. The cache is cleared when it is full. */
const MOST_CACHED = 100_000;
/** Maximum depth of nested runs and groups. A deeper chain is a cycle. */
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
  /** The day of the cached levels. Months and most budget periods end with a day, so the cache is cleared daily. */
  #day = '';
  /** Number of times that the cache was cleared. */
  #generation = 0;

  constructor(store: Books, defaults: Limits, clock: Clock) {
    this.#store = store;
    this.#defaults = defaults;
    this.#clock = clock;
  }

  /** Returns the key with this hash. Unknown hashes are not cached, because their keys may be created at any moment. */
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

  /** Returns the level with this id; undefined if it was deleted and so limits no requests. */
  find(id: string): Level | undefined {
    this.#turnDay();
    const user = ownerOf(id);
    if (user === undefined) return this.#owner(id);
    const owner = this.#owner(user.ownerId);
    return owner?.ofUsers && this.#user(id, owner, owner.ofUsers, userStoredAs(user.stored));
  }

  /** Returns the levels of a request. */
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

  /** Whether all levels of a chain are still the cached ones. */
  isCurrent({ generation }: Chain): boolean {
    this.#turnDay();
    return generation === this.#generation;
  }

  #chainOf(key: KeyLevel, user: string | undefined): Chain {
    // Determined first: reading other levels may clear the cache.
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

  /** Changes the default limits of keys. */
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
