/** What a cached key has spent of its budgets, kept up to date until the day is over. */
import {
  addToStep,
  type Budget,
  type BudgetSpend,
  calendarPeriod,
  fixedSpend,
  periodOf,
  slidingSpend,
  stepOf,
} from '../../core/budgets.ts';
import { utcDay } from '../../core/clock.ts';
import type { Nanos } from '../../core/money.ts';
import type { KeyRecord } from '../../state/keys.ts';
import type { Activity } from './activity.ts';
import type { Charges } from './books.ts';

/** What is spent of a budget, and what requests in flight may add to it. */
export interface BudgetRoom extends BudgetSpend {
  readonly heldNanos: Nanos;
}

/** A budget whose period began, and ends, at known times: a day, a week, or ever. */
interface Fixed {
  readonly kind: 'fixed';
  readonly budget: Budget;
  /** For the same period at another time; undefined for the total, which has no other. */
  readonly calendar: 'day' | 'week' | undefined;
  readonly fromMs: number;
  readonly toMs: number;
  chargedNanos: Nanos;
}

interface Sliding {
  readonly kind: 'sliding';
  readonly budget: Budget;
  readonly windowS: number;
  /** What was charged, by the beginning of each step. Some may have left. */
  readonly steps: Map<number, Nanos>;
}

export class KeyBudgets {
  readonly #keyId: string;
  readonly #source: Charges;
  readonly #day: string;
  readonly #entries: readonly (Fixed | Sliding)[];
  readonly #heldOnLeash: (() => Nanos) | undefined;

  /**
   * Undefined for a key without budgets, which has nothing to keep. `heldOnLeash`: what the requests of all keys on its
   * leash hold, which its total counts for; undefined for a key that is on none.
   */
  static read(key: KeyRecord, source: Charges, wallMs: number, heldOnLeash?: () => Nanos): KeyBudgets | undefined {
    return key.budgets.length === 0 ? undefined : new KeyBudgets(key, source, wallMs, heldOnLeash);
  }

  private constructor({ id, budgets }: KeyRecord, source: Charges, wallMs: number, heldOnLeash?: () => Nanos) {
    this.#keyId = id;
    this.#heldOnLeash = heldOnLeash;
    this.#source = source;
    this.#day = utcDay(wallMs);
    this.#entries = budgets.map((budget) => entryOf(budget, id, source, wallMs));
  }

  /** False once the day is over: what is kept is then of another. */
  isCurrent(wallMs: number): boolean {
    return this.#day === utcDay(wallMs);
  }

  /** Counts the charge for a request: by its admission, and in sliding windows from its end. */
  add(admittedAtMs: number, settledAtMs: number, nanos: Nanos): void {
    for (const entry of this.#entries) {
      if (entry.kind === 'sliding') {
        addToStep(entry.steps, entry.windowS, stepOf(settledAtMs, entry.windowS), nanos);
      } else if (isWithin(entry, admittedAtMs)) entry.chargedNanos += nanos;
    }
  }

  /** Counts the charge for a request of another key on the leash. */
  addToTotal(nanos: Nanos): void {
    for (const entry of this.#entries) if (isTotal(entry)) entry.chargedNanos += nanos;
  }

  /** What counts now. */
  spends(wallMs: number): readonly BudgetSpend[] {
    return this.#entries.map((entry) => spendOf(entry, wallMs));
  }

  /** What counts now, with the holds of the key's open requests. */
  rooms(activity: Activity, wallMs: number): readonly BudgetRoom[] {
    return this.#entries.map((entry) => ({ ...spendOf(entry, wallMs), heldNanos: this.#heldOf(entry, activity) }));
  }

  /** The same for a request that was admitted then: in the day and week of its admission, also when they are over. */
  roomsOf(admittedAtMs: number, activity: Activity, wallMs: number): readonly BudgetRoom[] {
    return this.#entries.map((entry) => {
      if (entry.kind === 'sliding' || entry.calendar === undefined || isWithin(entry, admittedAtMs)) {
        return { ...spendOf(entry, wallMs), heldNanos: this.#heldOf(entry, activity) };
      }
      const then = fixedEntry(entry.budget, entry.calendar, this.#keyId, this.#source, admittedAtMs);
      return { ...spendOf(then, wallMs), heldNanos: this.#heldOf(then, activity) };
    });
  }

  /** An open request counts in a sliding window however old it is: its cost is not known yet. */
  #heldOf(entry: Fixed | Sliding, activity: Activity): Nanos {
    if (entry.kind === 'sliding') return activity.heldBetween();
    if (isTotal(entry) && this.#heldOnLeash !== undefined) return this.#heldOnLeash();
    return activity.heldBetween(entry.fromMs, entry.toMs);
  }
}

function entryOf(budget: Budget, keyId: string, source: Charges, wallMs: number): Fixed | Sliding {
  const period = periodOf(budget);
  switch (period.kind) {
    case 'day':
    case 'week':
      return fixedEntry(budget, period.kind, keyId, source, wallMs);
    case 'total': {
      const ever = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };
      return { kind: 'fixed', budget, calendar: undefined, ...ever, chargedNanos: source.chargedEver(keyId) };
    }
    case 'sliding': {
      const { windowS } = period;
      const steps = new Map<number, Nanos>();
      for (const [atMs, nanos] of source.windowSteps(keyId, windowS)) addToStep(steps, windowS, atMs, nanos);
      return { kind: 'sliding', budget, windowS, steps };
    }
  }
}

function fixedEntry(budget: Budget, calendar: 'day' | 'week', keyId: string, source: Charges, atMs: number): Fixed {
  const { fromMs, toMs } = calendarPeriod(calendar, atMs);
  return { kind: 'fixed', budget, calendar, fromMs, toMs, chargedNanos: source.chargedOnDays(keyId, fromMs, toMs) };
}

function spendOf(entry: Fixed | Sliding, wallMs: number): BudgetSpend {
  if (entry.kind === 'sliding') return slidingSpend(entry.budget, entry.windowS, entry.steps, wallMs);
  const endsAtMs = entry.calendar === undefined ? null : entry.toMs;
  return fixedSpend(entry.budget, entry.chargedNanos, endsAtMs, wallMs);
}

function isTotal(entry: Fixed | Sliding): entry is Fixed {
  return entry.kind === 'fixed' && entry.calendar === undefined;
}

function isWithin({ fromMs, toMs }: Fixed, atMs: number): boolean {
  return fromMs <= atMs && atMs < toMs;
}
