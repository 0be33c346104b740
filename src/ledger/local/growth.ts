/** Decides by how much a hold may grow with its stream. Pure. */
import { invariant } from '../../core/invariant.ts';
import type { Nanos } from '../../core/money.ts';
import type { HoldRow } from '../../state/journal.ts';
import type { Growth, MoneyRefusal } from '../ledger.ts';
import { reachedMonth, refusalFor } from '../spending.ts';
import type { BudgetRoom } from './key-budgets.ts';

/** Everything that a growth depends on, at one moment. */
export interface GrowthFacts {
  readonly hold: HoldRow;
  /** Null if the key has none, or does not exist any more. */
  readonly spendLimitNanos: Nanos | null;
  /** What the key was charged in the month in which the request was admitted. */
  readonly chargedNanos: Nanos;
  /** What the key's requests of that month hold. */
  readonly heldOfKeyNanos: Nanos;
  /** The budgets of the key, in the periods in which the request was admitted. */
  readonly budgets: readonly BudgetRoom[];
  readonly balanceNanos: Nanos;
  /** The sum of all open holds, of all keys. */
  readonly heldNanos: Nanos;
  readonly creditEnforced: boolean;
}

/** The hold after growing, or why nothing is left to grow from. A free increase is never refused. */
export function grown(growth: Growth, facts: GrowthFacts): HoldRow | MoneyRefusal {
  const { hold, spendLimitNanos } = facts;
  const increase = growth.holdNanos - hold.holdNanos;
  invariant(increase >= 0n, () => `the hold of request ${hold.requestId} would shrink by ${-increase} nanos`);
  const moreTokens = Math.max(0, growth.outputTokens - hold.outputTokens);
  if (increase === 0n) return { ...hold, outputTokens: hold.outputTokens + moreTokens };
  const limitLeaves = spendLimitNanos === null ? increase : spendLimitNanos - facts.chargedNanos - facts.heldOfKeyNanos;
  const balanceLeaves = facts.creditEnforced ? facts.balanceNanos - facts.heldNanos : increase;
  const granted = least(increase, limitLeaves, balanceLeaves, ...facts.budgets.map(leftOf));
  if (granted <= 0n) {
    const month = { limitNanos: spendLimitNanos, chargedNanos: facts.chargedNanos, atMs: hold.admittedAtMs };
    const reached = facts.budgets.filter((room) => leftOf(room) <= 0n);
    const refusal = refusalFor([...(limitLeaves <= 0n ? [reachedMonth(month)] : []), ...reached]);
    return refusal ?? { reason: 'insufficient_credit', balanceNanos: facts.balanceNanos };
  }
  const tokens = Number((BigInt(moreTokens) * granted) / increase);
  return { ...hold, outputTokens: hold.outputTokens + tokens, holdNanos: hold.holdNanos + granted };
}

function leftOf({ limitNanos, chargedNanos, heldNanos }: BudgetRoom): Nanos {
  return limitNanos - chargedNanos - heldNanos;
}

function least(...amounts: readonly [Nanos, ...Nanos[]]): Nanos {
  return amounts.reduce((a, b) => (b < a ? b : a));
}
