/** Which limit on spending a key has reached: that of the month, or one of its budgets. Pure. */
import { type BudgetSpend, lastToFree } from '../core/budgets.ts';
import type { Nanos } from '../core/money.ts';
import { monthStart } from '../state/periods.ts';
import type { SpendRefusal } from './ledger.ts';

/** What a key was charged in a month, and its limit. */
export interface MonthSpend {
  /** Null if the key has none. */
  readonly limitNanos: Nanos | null;
  readonly chargedNanos: Nanos;
  /** Any moment of the month. */
  readonly atMs: number;
}

/** A limit, and when it is free again. Without a period it is that of the month. */
interface Reached {
  readonly limitNanos: Nanos;
  readonly period?: string;
  readonly freesAtMs: number | null;
}

/** The refusal for the limits that are reached: it names the one that frees last. Undefined if none is. */
export function spendRefusal(month: MonthSpend, budgets: readonly BudgetSpend[]): SpendRefusal | undefined {
  const isReached = month.limitNanos !== null && month.chargedNanos >= month.limitNanos;
  const reached = budgets.filter(({ chargedNanos, limitNanos }) => chargedNanos >= limitNanos);
  if (!isReached && reached.length === 0) return undefined;
  return refusalFor([...(isReached ? [reachedMonth(month)] : []), ...reached]);
}

/** The month as a limit that is reached. */
export function reachedMonth({ limitNanos, atMs }: MonthSpend): Reached {
  const nanos = limitNanos as Nanos;
  return { limitNanos: nanos, freesAtMs: nanos === 0n ? null : monthStart(atMs, 1) };
}

/** The refusal for limits that are all reached, the month first. */
export function refusalFor(reached: readonly Reached[]): SpendRefusal | undefined {
  const last = lastToFree(reached);
  if (last === undefined) return undefined;
  const { limitNanos, period, freesAtMs } = last;
  const budget = period === undefined ? undefined : { period, freesAtMs };
  return { reason: 'spend_limit_reached', limitNanos, ...(budget !== undefined && { budget }) };
}
