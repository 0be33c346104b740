/** A cache of stored facts about recently used levels, as of the last log entry that this gateway applied. */
import { addToStep, stepOf, windowSOf } from '../../core/budgets.ts';
import { utcDay, utcMonth } from '../../core/clock.ts';
import type { Nanos } from '../../core/money.ts';
import type { Step } from '../../state/budgets.ts';
import type { HoldRow } from '../../state/journal.ts';
import type { KeyRecord } from '../../state/keys.ts';
import { type GroupRecord, isKeyId, levelIdsOf, ownerOf, type UserRecord, userId } from '../../state/levels.ts';
import { groupOf, keyOf, type Row, userOf } from '../../state/rows.ts';
import type { Books } from '../local/books.ts';

/** The facts of a level as the database returns them. Amounts are strings, and lists in the record are JSON strings. */
export interface FactsRow {
  readonly id: string;
  /** Set for keys only. Unused: gateways look up levels by id. */
  readonly hash: string | null;
  /** Null for an end user without limits of their own. */
  readonly record: Readonly<Record<string, unknown>> | null;
  readonly months: Readonly<Record<string, string>> | null;
  readonly days: Readonly<Record<string, string>> | null;
  readonly ever: string | null;
  readonly steps: readonly (readonly [windowS: number, atMs: number, nanos: string])[] | null;
}

/** Amounts by month or day. A plain object takes a quarter of the memory of a Map, and most have at most one entry. */
type ByPeriod = Record<string, Nanos>;

/** Shared by all levels without amounts. Frozen. */
const NO_SUMS: ByPeriod = Object.freeze({});

/** The charges of a level. */
interface Sums {
  months: ByPeriod;
  days: ByPeriod;
  ever: Nanos;
  /** Steps by window length in seconds; undefined until the first charge in a sliding window. */
  steps: Map<number, Map<number, Nanos>> | undefined;
}

/** A level and its charges. */
type LevelFacts = Sums &
  (
    | { readonly kind: 'key'; readonly record: KeyRecord }
    | { readonly kind: 'group'; readonly record: GroupRecord }
    | { readonly kind: 'user'; readonly record: UserRecord | undefined }
  );

/** A level takes about 0.5 KB. */
export class Facts implements Books {
  readonly #byId = new Map<string, LevelFacts>();
  #balanceNanos: Nanos;
  #changes = 0;

  constructor(balanceNanos: Nanos) {
    this.#balanceNanos = balanceNanos;
  }

  readonly keys: Books['keys'] = {
    // Lookups are by id here; `KnownKeys` resolves hashes.
    byHash: () => undefined,
    find: (id) => this.#key(id)?.record,
  };

  readonly groups: Books['groups'] = {
    find: (id) => {
      const facts = this.#byId.get(id);
      return facts?.kind === 'group' ? facts.record : undefined;
    },
    findUser: (ownerId, name) => {
      const facts = this.#byId.get(userId(ownerId, name));
      return facts?.kind === 'user' ? facts.record : undefined;
    },
  };

  readonly journal: Books['journal'] = {
    hold: () => {},
    grow: () => {},
    settle: (hold, { costNanos }, wallMs) => this.charge(hold, costNanos, wallMs),
    chargedInMonth: (levelId, month) => this.#byId.get(levelId)?.months[month] ?? 0n,
    chargedOnDays: (levelId, fromMs, toMs) => this.#chargedOnDays(levelId, utcDay(fromMs), utcDay(toMs)),
    chargedEver: (levelId) => this.#byId.get(levelId)?.ever ?? 0n,
    windowSteps: (levelId, windowS): Step[] => [...(this.#byId.get(levelId)?.steps?.get(windowS) ?? [])],
  };

  balance(): Nanos {
    return this.#balanceNanos;
  }

  changeCount(): number {
    return this.#changes;
  }

  has(levelId: string): boolean {
    return this.#byId.has(levelId);
  }

  /** Returns the cached string instance of an id, so that callers do not retain duplicates. */
  keptId(levelId: string): string {
    const facts = this.#byId.get(levelId);
    return facts === undefined || facts.kind === 'user' ? levelId : facts.record.id;
  }

  /** The ids of the levels of a key, innermost first; includes end-user levels only for the given user. */
  chainOf(keyId: string, user?: string): string[] {
    const chain: string[] = [];
    for (let id: string | null = keyId; id !== null; ) {
      const owner = this.#owner(id);
      if (user !== undefined && owner !== undefined && owner.userLimits !== null) chain.push(userId(id, user));
      chain.push(id);
      id = owner === undefined ? null : outerIdOf(owner);
    }
    return chain;
  }

  /** Stores facts from the database, and the balance. */
  take(rows: readonly FactsRow[], balanceNanos = this.#balanceNanos): void {
    this.#changes++;
    this.#balanceNanos = balanceNanos;
    for (const row of rows) {
      const facts = factsOf(row);
      // Reuses the record's instance of the id to save memory.
      this.#byId.set(facts.kind === 'user' ? row.id : facts.record.id, facts);
    }
  }

  /**
   * Stores facts after an operator's edit. Drops the steps of sliding windows that end users no longer have; a window
   * added later starts empty.
   */
  edit(rows: readonly FactsRow[], balanceNanos: Nanos): void {
    this.take(rows, balanceNanos);
    if (rows.length === 0) return;
    for (const [id, facts] of this.#byId) {
      if (facts.kind !== 'user' || facts.steps === undefined) continue;
      const windows = this.#windowsOf(id, facts);
      for (const windowS of facts.steps.keys()) if (!windows.has(windowS)) facts.steps.delete(windowS);
    }
  }

  /** Whether the allowlists of a key and all its groups contain the model. */
  allows(keyId: string, model: string): boolean {
    return this.chainOf(keyId).every((id) => this.#owner(id)?.allowlist?.includes(model) ?? true);
  }

  /** Drops unused levels, except the groups of used ones. */
  keepOnly(isUsed: (levelId: string) => boolean): void {
    const kept = new Set<string>();
    for (const id of this.#byId.keys()) {
      if (!isUsed(id)) continue;
      kept.add(id);
      for (const outer of this.chainOf(ownerOf(id)?.ownerId ?? id)) kept.add(outer);
    }
    for (const id of this.#byId.keys()) if (!kept.has(id)) this.#byId.delete(id);
    this.#changes++;
  }

  /** After the clock was set back: moves the future steps of sliding windows to the current one, as the database does. */
  followClock(wallMs: number): void {
    this.#changes++;
    for (const { steps } of this.#byId.values()) {
      for (const [windowS, sums] of steps ?? []) {
        for (const [atMs, nanos] of [...sums]) {
          if (atMs <= wallMs) continue;
          sums.delete(atMs);
          const now = stepOf(wallMs, windowS);
          sums.set(now, (sums.get(now) ?? 0n) + nanos);
        }
      }
    }
  }

  #owner(id: string): KeyRecord | GroupRecord | undefined {
    return this.#key(id)?.record ?? this.groups.find(id);
  }

  #key(id: string): Extract<LevelFacts, { kind: 'key' }> | undefined {
    const facts = this.#byId.get(id);
    return facts?.kind === 'key' ? facts : undefined;
  }

  credit(nanos: Nanos): void {
    this.#balanceNanos += nanos;
    this.#changes++;
  }

  /** Books the charge of a request that ended at `wallMs`. The negative amount undoes it. */
  charge(hold: Pick<HoldRow, 'keyId' | 'admittedAtMs' | 'levels'>, costNanos: Nanos, wallMs: number): void {
    this.#balanceNanos -= costNanos;
    const [month, day] = [utcMonth(hold.admittedAtMs), utcDay(hold.admittedAtMs)];
    for (const id of levelIdsOf(hold)) {
      const facts = this.#byId.get(id);
      if (facts === undefined) continue;
      facts.months = added(facts.months, month, costNanos);
      facts.days = added(facts.days, day, costNanos);
      facts.ever += costNanos;
      if (costNanos === 0n) continue;
      for (const windowS of this.#windowsOf(id, facts)) {
        facts.steps ??= new Map();
        const sums = facts.steps.get(windowS) ?? new Map<number, Nanos>();
        addToStep(sums, windowS, stepOf(wallMs, windowS), costNanos);
        facts.steps.set(windowS, sums);
      }
    }
  }

  #chargedOnDays(levelId: string, from: string, to: string): Nanos {
    let sum = 0n;
    const days = this.#byId.get(levelId)?.days ?? {};
    for (const [day, nanos] of Object.entries(days)) if (day >= from && day < to) sum += nanos;
    return sum;
  }

  /** The lengths of the sliding windows of a level. End users also have the windows of the limits for all users. */
  #windowsOf(id: string, { kind, record }: LevelFacts): ReadonlySet<number> {
    const ofAll = kind === 'user' ? this.#owner(ownerOf(id)?.ownerId ?? '')?.userLimits : undefined;
    const budgets = [...(record?.budgets ?? []), ...(ofAll?.budgets ?? [])];
    if (budgets.length === 0) return NO_WINDOWS;
    return new Set(budgets.map(windowSOf).filter((windowS) => windowS !== null));
  }
}

const NO_WINDOWS: ReadonlySet<number> = new Set();

function factsOf(row: FactsRow): LevelFacts {
  const { id, record } = row;
  const { months, days, ever, steps } = sumsOf(row);
  // Without spread syntax: spread objects take a fifth more memory.
  if (isKeyId(id)) return { kind: 'key', record: keyOf(rowOf(record as object)), months, days, ever, steps };
  const sums = { months, days, ever, steps };
  if (ownerOf(id) === undefined) return { kind: 'group', record: groupOf(rowOf(record as object)), ...sums };
  return { kind: 'user', record: record === null ? undefined : userOf(rowOf(record)), ...sums };
}

function outerIdOf(owner: KeyRecord | GroupRecord): string | null {
  return ('parentId' in owner ? owner.parentId : null) ?? owner.groupId;
}

function added(sums: ByPeriod, period: string, nanos: Nanos): ByPeriod {
  if (sums === NO_SUMS) return { [period]: nanos };
  sums[period] = (sums[period] ?? 0n) + nanos;
  return sums;
}

/** Converts JSON to the row format of the stores, which use bigints for integers. */
function rowOf(record: object): Row {
  const values = Object.entries(record).map(([name, value]) => {
    if (name.endsWith('_nanos')) return [name, value === null ? null : BigInt(value)];
    return [name, typeof value === 'number' ? BigInt(value) : value];
  });
  return Object.fromEntries(values) as Row;
}

function sumsOf({ months, days, ever, steps: stored }: FactsRow): Sums {
  let steps: Sums['steps'];
  for (const [windowS, atMs, nanos] of stored ?? []) {
    steps ??= new Map();
    steps.set(windowS, (steps.get(windowS) ?? new Map<number, Nanos>()).set(atMs, BigInt(nanos)));
  }
  return { months: sumsIn(months), days: sumsIn(days), ever: BigInt(ever ?? 0), steps };
}

function sumsIn(stored: Readonly<Record<string, string>> | null): ByPeriod {
  let sums = NO_SUMS;
  for (const period in stored) sums = added(sums, period, BigInt(stored[period] as string));
  return sums;
}
