/** Which limit on spending a level has reached: that of the month, or one of its budgets. Pure. */
import { type BudgetSpend, lastToFree } from '../core/budgets.ts';
import type { Nanos } from '../core/money.ts';
import { monthStart } from '../state/periods.ts';
import type { AtLevel, SpendRefusal } from './ledger.ts';

/** What a level was charged in a month, and its limit. */
export interface MonthSpend {
  /** Null if it has none. */
  readonly limitNanos: Nanos | null;
  readonly chargedNanos: Nanos;
  /** Any moment of the month. */
  readonly atMs: number;
}

/** A limit, and when it is free again. Without a period it is that of the month. */
export interface Reached {
  readonly limitNanos: Nanos;
  readonly period?: string;
  readonly freesAtMs: number | null;
}

/** The limits that are reached, the month first. */
export function reachedOf(month: MonthSpend, budgets: readonly BudgetSpend[]): readonly Reached[] {
  const reached = budgets.filter(({ chargedNanos, limitNanos }) => chargedNanos >= limitNanos);
  const isReached = month.limitNanos !== null && month.chargedNanos >= month.limitNanos;
  return isReached ? [reachedMonth(month), ...reached] : reached;
}

/** The month as a limit that is reached. */
export function reachedMonth({ limitNanos, atMs }: MonthSpend): Reached {
  const nanos = limitNanos as Nanos;
  return { limitNanos: nanos, freesAtMs: nanos === 0n ? null : monthStart(atMs, 1) };
}

/** The refusal for limits that are all reached: it names the one that frees last. Undefined if there are none. */
export function refusalFor(reached: readonly (Reached & AtLevel)[], keyName: string): SpendRefusal | undefined {
  const last = lastToFree(reached);
  if (last === undefined) return undefined;
  const { limitNanos, period, freesAtMs, level } = last;
  return {
    reason: 'spend_limit_reached',
    keyName,
    limitNanos,
    ...(period !== undefined && { budget: { period, freesAtMs } }),
    ...(level !== undefined && { level }),
  };
}
