/** The budgets of a cached level, updated with each charge. Valid for at most a day. */
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
import type { Nanos } from '../../core/money.ts';
import type { BudgetedKey } from '../../state/budgets.ts';
import type { Activity } from './activity.ts';
import type { Charges } from './books.ts';

/** The charges of a budget, and the open holds that may still add to them. */
export interface BudgetRoom extends BudgetSpend {
  readonly heldNanos: Nanos;
}

/** A budget with a fixed period: a day, a week, or all time. */
interface Fixed {
  readonly kind: 'fixed';
  readonly budget: Budget;
  /** The kind of calendar period; undefined for all time. */
  readonly calendar: 'day' | 'week' | undefined;
  readonly fromMs: number;
  readonly toMs: number;
  chargedNanos: Nanos;
}

interface Sliding {
  readonly kind: 'sliding';
  readonly budget: Budget;
  readonly windowS: number;
  /** Charges by the start of each step. May contain expired steps. */
  readonly steps: Map<number, Nanos>;
}

export class LevelBudgets {
  readonly #levelId: string;
  readonly #source: Charges;
  readonly #entries: readonly (Fixed | Sliding)[];

  /** Returns undefined for a level without budgets. */
  static read(level: BudgetedKey, source: Charges, wallMs: number): LevelBudgets | undefined {
    return level.budgets.length === 0 ? undefined : new LevelBudgets(level, source, wallMs);
  }

  private constructor({ id, budgets }: BudgetedKey, source: Charges, wallMs: number) {
    this.#levelId = id;
    this.#source = source;
    this.#entries = budgets.map((budget) => entryOf(budget, id, source, wallMs));
  }

  /** Adds a charge: to fixed periods by the time of admission, to sliding windows by the time of settlement. */
  add(admittedAtMs: number, settledAtMs: number, nanos: Nanos): void {
    for (const entry of this.#entries) {
      if (entry.kind === 'sliding') {
        addToStep(entry.steps, entry.windowS, stepOf(settledAtMs, entry.windowS), nanos);
      } else if (isWithin(entry, admittedAtMs)) entry.chargedNanos += nanos;
    }
  }

  /** The current charges. */
  spends(wallMs: number): readonly BudgetSpend[] {
    return this.#entries.map((entry) => spendOf(entry, wallMs));
  }

  /** The current charges, with the open holds of the level. */
  rooms(activity: Activity, wallMs: number): readonly BudgetRoom[] {
    return this.#entries.map((entry) => ({ ...spendOf(entry, wallMs), heldNanos: heldOf(entry, activity) }));
  }

  /** Like `rooms`, but for the day and week of a request's admission, even if they have ended. */
  roomsOf(admittedAtMs: number, activity: Activity, wallMs: number): readonly BudgetRoom[] {
    return this.#entries.map((entry) => {
      if (entry.kind === 'sliding' || entry.calendar === undefined || isWithin(entry, admittedAtMs)) {
        return { ...spendOf(entry, wallMs), heldNanos: heldOf(entry, activity) };
      }
      const then = fixedEntry(entry.budget, entry.calendar, this.#levelId, this.#source, admittedAtMs);
      return { ...spendOf(then, wallMs), heldNanos: heldOf(then, activity) };
    });
  }
}

/** A sliding window includes all open holds, however old: their charges will count from the settlement. */
function heldOf(entry: Fixed | Sliding, activity: Activity): Nanos {
  return entry.kind === 'sliding' ? activity.heldBetween() : activity.heldBetween(entry.fromMs, entry.toMs);
}

function entryOf(budget: Budget, levelId: string, source: Charges, wallMs: number): Fixed | Sliding {
  const period = periodOf(budget);
  switch (period.kind) {
    case 'day':
    case 'week':
      return fixedEntry(budget, period.kind, levelId, source, wallMs);
    case 'total': {
      const ever = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };
      return { kind: 'fixed', budget, calendar: undefined, ...ever, chargedNanos: source.chargedEver(levelId) };
    }
    case 'sliding': {
      const { windowS } = period;
      const steps = new Map<number, Nanos>();
      for (const [atMs, nanos] of source.windowSteps(levelId, windowS)) addToStep(steps, windowS, atMs, nanos);
      return { kind: 'sliding', budget, windowS, steps };
    }
  }
}

function fixedEntry(budget: Budget, calendar: 'day' | 'week', levelId: string, source: Charges, atMs: number): Fixed {
  const { fromMs, toMs } = calendarPeriod(calendar, atMs);
  return { kind: 'fixed', budget, calendar, fromMs, toMs, chargedNanos: source.chargedOnDays(levelId, fromMs, toMs) };
}

function spendOf(entry: Fixed | Sliding, wallMs: number): BudgetSpend {
  if (entry.kind === 'sliding') return slidingSpend(entry.budget, entry.windowS, entry.steps, wallMs);
  const endsAtMs = entry.calendar === undefined ? null : entry.toMs;
  return fixedSpend(entry.budget, entry.chargedNanos, endsAtMs, wallMs);
}

function isWithin({ fromMs, toMs }: Fixed, atMs: number): boolean {
  return fromMs <= atMs && atMs < toMs;
}
