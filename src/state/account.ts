/** The account: its balance, what requests in flight hold of it, and the history of its credit. */
import type { Nanos } from '../core/money.ts';

/** An amount that an operator added to the balance, or took from it. */
export interface CreditEntry {
  readonly atMs: number;
  /** Negative where credit was removed. */
  readonly amountNanos: Nanos;
  /** The balance after the entry. */
  readonly balanceNanos: Nanos;
  readonly note: string;
}

export interface Balance {
  readonly balanceNanos: Nanos;
  /** The sum of the holds of all requests in flight. */
  readonly heldNanos: Nanos;
}
