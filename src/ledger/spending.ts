/** Finds the spend limits that a level has reached: the monthly limit and budgets. Pure. */
import { type BudgetSpend, lastToFree } from '../core/budgets.ts';
import type { Nanos } from '../core/money.ts';
import { monthStart } from '../state/periods.ts';
import type { AtLevel, SpendRefusal } from './ledger.ts';

/** The charges of a level in a month, and its limit. */
export interface MonthSpend {
  /** Null for no limit. */
  readonly limitNanos: Nanos | null;
  readonly chargedNanos: Nanos;
  /** Any moment of the month. */
  readonly atMs: number;
}

/** A reached limit, and the time at which it frees. Without a period, it is the monthly limit. */
export interface Reached {
  readonly limitNanos: Nanos;
  readonly period?: string;
  readonly freesAtMs: number | null;
}

/** Returns the reached limits, the monthly one first. */
export function reachedOf(month: MonthSpend, budgets: readonly BudgetSpend[]): readonly Reached[] {
  const reached = budgets.filter(({ chargedNanos, limitNanos }) => chargedNanos >= limitNanos);
  const isReached = month.limitNanos !== null && month.chargedNanos >= month.limitNanos;
  return isReached ? [reachedMonth(month), ...reached] : reached;
}

/** The monthly limit as a reached one. */
export function reachedMonth({ limitNanos, atMs }: MonthSpend): Reached {
  const nanos = limitNanos as Nanos;
  return { limitNanos: nanos, freesAtMs: nanos === 0n ? null : monthStart(atMs, 1) };
}

/** Returns the refusal for the reached limits, which reports the one that frees last; undefined for an empty list. */
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
