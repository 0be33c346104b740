/** The account: its balance, its open holds, and its credit history. */
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
