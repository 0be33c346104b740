/** Decides how much a hold may grow with its stream. Pure. */
import { invariant } from '../../core/invariant.ts';
import type { Nanos } from '../../core/money.ts';
import type { HoldRow } from '../../state/journal.ts';
import type { AtLevel, Growth, MoneyRefusal } from '../ledger.ts';
import { type Reached, reachedMonth, refusalFor } from '../spending.ts';
import type { BudgetRoom } from './level-budgets.ts';

/** The limits and usage of a level, for one request. */
export interface LevelRoom {
  readonly at: AtLevel;
  /** Null for no limit. */
  readonly spendLimitNanos: Nanos | null;
  /** Charges in the month of the request's admission, and the holds of requests admitted in that month. */
  readonly chargedNanos: Nanos;
  readonly heldNanos: Nanos;
  /** For the periods of the request's admission. */
  readonly budgets: readonly BudgetRoom[];
}

/** The state that a growth depends on, at one moment. */
export interface GrowthFacts {
  readonly hold: HoldRow;
  /** The name of its key, or the id of a deleted key. */
  readonly keyName: string;
  /** The levels that admitted it, except deleted ones. */
  readonly levels: readonly LevelRoom[];
  readonly balanceNanos: Nanos;
  /** The sum of the open holds of all keys. */
  readonly heldNanos: Nanos;
  readonly creditEnforced: boolean;
}

export interface Grown {
  readonly hold: HoldRow;
  /** The amount left by the limits beyond the hold; undefined without any limit. */
  readonly leftNanos: Nanos | undefined;
}

/** Returns the hold after growing, or the refusal if no money is left. A free increase is never refused. */
export function grown(growth: Growth, facts: GrowthFacts): Grown | MoneyRefusal {
  const { hold, keyName, levels } = facts;
  const increase = growth.holdNanos - hold.holdNanos;
  invariant(increase >= 0n, () => `the hold of request ${hold.requestId} would shrink by ${-increase} nanos`);
  const moreTokens = Math.max(0, growth.outputTokens - hold.outputTokens);
  const balanceLeaves = facts.creditEnforced ? [facts.balanceNanos - facts.heldNanos] : [];
  const leftNanos = least([...balanceLeaves, ...levels.flatMap(leftOf)]);
  if (increase === 0n) return { hold: { ...hold, outputTokens: hold.outputTokens + moreTokens }, leftNanos };
  const granted = leftNanos === undefined || increase < leftNanos ? increase : leftNanos;
  if (granted <= 0n) {
    const refusal = refusalFor(
      levels.flatMap((level) => spentOf(level, hold)),
      keyName,
    );
    return refusal ?? { reason: 'insufficient_credit', keyName, balanceNanos: facts.balanceNanos };
  }
  const tokens = Number((BigInt(moreTokens) * granted) / increase);
  const outputTokens = hold.outputTokens + tokens;
  const after = { ...hold, outputTokens, holdNanos: hold.holdNanos + granted };
  return { hold: after, leftNanos: leftNanos === undefined ? undefined : leftNanos - granted };
}

/** The amount left by each limit of a level. */
function leftOf({ spendLimitNanos, chargedNanos, heldNanos, budgets }: LevelRoom): Nanos[] {
  const ofBudgets = budgets.map(leftOfBudget);
  return spendLimitNanos === null ? ofBudgets : [spendLimitNanos - chargedNanos - heldNanos, ...ofBudgets];
}

function leftOfBudget({ limitNanos, chargedNanos, heldNanos }: BudgetRoom): Nanos {
  return limitNanos - chargedNanos - heldNanos;
}

/** The exhausted limits of a level. */
function spentOf(level: LevelRoom, { admittedAtMs }: HoldRow): (Reached & AtLevel)[] {
  const { at, spendLimitNanos, chargedNanos, heldNanos, budgets } = level;
  const isReached = spendLimitNanos !== null && spendLimitNanos - chargedNanos - heldNanos <= 0n;
  const month = { limitNanos: spendLimitNanos, chargedNanos, atMs: admittedAtMs };
  const reached: readonly Reached[] = budgets.filter((room) => leftOfBudget(room) <= 0n);
  return (isReached ? [reachedMonth(month), ...reached] : reached).map((limit) => ({ ...limit, ...at }));
}

/** The smallest amount; undefined for an empty list. */
function least(amounts: readonly Nanos[]): Nanos | undefined {
  return amounts.reduce<Nanos | undefined>((a, b) => (a === undefined || b < a ? b : a), undefined);
}
