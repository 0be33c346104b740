/** What is stored of the keys that have been used lately, as of the last entry of the log that this gateway has followed. */
import { addToStep, stepOf, windowSOf } from '../../core/budgets.ts';
import { utcDay, utcMonth } from '../../core/clock.ts';
import type { Nanos } from '../../core/money.ts';
import type { Step } from '../../state/budgets.ts';
import type { HoldRow } from '../../state/journal.ts';
import type { KeyRecord } from '../../state/keys.ts';
import { keyOf, type Row } from '../../state/rows.ts';
import type { Books } from '../local/books.ts';

/** As the database answers with them. Amounts are text, and so are lists of the record. */
export interface FactsRow extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly hash: string;
  readonly spend_limit_nanos: string | null;
  readonly months: Readonly<Record<string, string>> | null;
  readonly days: Readonly<Record<string, string>> | null;
  readonly ever: string | null;
  readonly steps: readonly (readonly [windowS: number, atMs: number, nanos: string])[] | null;
}

/** A key, and what it was charged. */
interface KeyFacts {
  readonly record: KeyRecord;
  readonly hash: string;
  readonly months: Map<string, Nanos>;
  readonly days: Map<string, Nanos>;
  /** With the keys on its leash. */
  ever: Nanos;
  /** By the lengths of its sliding windows in seconds. */
  readonly steps: Map<number, Map<number, Nanos>>;
}

/** A key takes about 2 KB. */
export class Facts implements Books {
  readonly #byId = new Map<string, KeyFacts>();
  readonly #idByHash = new Map<string, string>();
  /** The keys inside the runs of others. */
  readonly #innerIds = new Map<string, Set<string>>();
  #balanceNanos: Nanos;
  #changes = 0;

  constructor(balanceNanos: Nanos) {
    this.#balanceNanos = balanceNanos;
  }

  readonly keys: Books['keys'] = {
    byHash: (hash) => this.#byId.get(this.#idByHash.get(hash) ?? '')?.record,
    find: (id) => this.#byId.get(id)?.record,
    innerIds: (id) => [...(this.#innerIds.get(id) ?? [])],
  };

  readonly journal: Books['journal'] = {
    hold: () => {},
    grow: () => {},
    settle: (hold, { costNanos }, wallMs) => this.charge(hold, costNanos, wallMs),
    chargedInMonth: (keyId, month) => this.#byId.get(keyId)?.months.get(month) ?? 0n,
    chargedOnDays: (keyId, fromMs, toMs) => this.#chargedOnDays(keyId, utcDay(fromMs), utcDay(toMs)),
    chargedEver: (keyId) => this.#byId.get(keyId)?.ever ?? 0n,
    windowSteps: (keyId, windowS): Step[] => [...(this.#byId.get(keyId)?.steps.get(windowS) ?? [])],
  };

  balance(): Nanos {
    return this.#balanceNanos;
  }

  changeCount(): number {
    return this.#changes;
  }

  get size(): number {
    return this.#byId.size;
  }

  has(keyId: string): boolean {
    return this.#byId.has(keyId);
  }

  /** The hash of a key that is known. */
  hashOf(keyId: string): string | undefined {
    return this.#byId.get(keyId)?.hash;
  }

  /** Takes over what the database says of some keys, and of the account. */
  take(rows: readonly FactsRow[], balanceNanos = this.#balanceNanos): void {
    this.#changes++;
    this.#balanceNanos = balanceNanos;
    for (const row of rows) {
      const facts = factsOf(row);
      this.#byId.set(row.id, facts);
      this.#idByHash.set(row.hash, row.id);
      for (const outerId of facts.record.leash?.outerIds ?? []) {
        const inner = this.#innerIds.get(outerId) ?? new Set();
        this.#innerIds.set(outerId, inner.add(row.id));
      }
    }
  }

  /** Forgets keys, but for those around others that stay. */
  keepOnly(isUsed: (keyId: string) => boolean): void {
    const kept = new Set<string>();
    for (const [id, { record }] of this.#byId) {
      if (isUsed(id)) for (const each of [id, ...(record.leash?.outerIds ?? [])]) kept.add(each);
    }
    for (const [id, { hash, record }] of this.#byId) {
      if (kept.has(id)) continue;
      this.#byId.delete(id);
      this.#idByHash.delete(hash);
      for (const outerId of record.leash?.outerIds ?? []) this.#innerIds.get(outerId)?.delete(id);
    }
    for (const [id, inner] of this.#innerIds) if (inner.size === 0) this.#innerIds.delete(id);
    this.#changes++;
  }

  /** The clock was ahead and came back: what sliding windows have of the future counts as now, as in the database. */
  followClock(wallMs: number): void {
    this.#changes++;
    for (const { steps } of this.#byId.values()) {
      for (const [windowS, sums] of steps) {
        for (const [atMs, nanos] of [...sums]) {
          if (atMs <= wallMs) continue;
          sums.delete(atMs);
          const now = stepOf(wallMs, windowS);
          sums.set(now, (sums.get(now) ?? 0n) + nanos);
        }
      }
    }
  }

  /** Adds to the account. */
  credit(nanos: Nanos): void {
    this.#balanceNanos += nanos;
    this.#changes++;
  }

  /** Charges for a request that ended then. The same amount, negative, takes it back. */
  charge({ keyId, admittedAtMs }: Pick<HoldRow, 'keyId' | 'admittedAtMs'>, costNanos: Nanos, wallMs: number): void {
    this.#balanceNanos -= costNanos;
    const facts = this.#byId.get(keyId);
    if (facts === undefined) return;
    add(facts.months, utcMonth(admittedAtMs), costNanos);
    add(facts.days, utcDay(admittedAtMs), costNanos);
    facts.ever += costNanos;
    for (const [windowS, sums] of facts.steps) {
      if (costNanos !== 0n) addToStep(sums, windowS, stepOf(wallMs, windowS), costNanos);
    }
    for (const outerId of facts.record.leash?.outerIds ?? []) {
      const outer = this.#byId.get(outerId);
      if (outer !== undefined) outer.ever += costNanos;
    }
  }

  #chargedOnDays(keyId: string, from: string, to: string): Nanos {
    let sum = 0n;
    for (const [day, nanos] of this.#byId.get(keyId)?.days ?? []) if (day >= from && day < to) sum += nanos;
    return sum;
  }
}

function add(sums: Map<string, Nanos>, period: string, nanos: Nanos): void {
  sums.set(period, (sums.get(period) ?? 0n) + nanos);
}

function factsOf(row: FactsRow): KeyFacts {
  const { spend_limit_nanos: limit } = row;
  const integers = Object.entries(row).map(([name, value]) => [
    name,
    typeof value === 'number' ? BigInt(value) : value,
  ]);
  const record = keyOf({
    ...Object.fromEntries(integers),
    spend_limit_nanos: limit === null ? null : BigInt(limit),
  } as Row);
  const steps = new Map<number, Map<number, Nanos>>();
  for (const budget of record.budgets) {
    const windowS = windowSOf(budget);
    if (windowS !== null) steps.set(windowS, new Map());
  }
  for (const [windowS, atMs, nanos] of row.steps ?? []) steps.get(windowS)?.set(atMs, BigInt(nanos));
  return {
    record,
    hash: row.hash,
    months: sumsIn(row.months),
    days: sumsIn(row.days),
    ever: BigInt(row.ever ?? 0),
    steps,
  };
}

function sumsIn(sums: Readonly<Record<string, string>> | null): Map<string, Nanos> {
  return new Map(Object.entries(sums ?? {}).map(([period, nanos]) => [period, BigInt(nanos)]));
}
