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

export interface Account {
  balance(): Promise<Balance>;

  /**
   * Adds an amount, possibly negative. Returns undefined, and changes nothing, if the balance would
   * go out of range.
   */
  enter(amountNanos: Nanos, note: string, wallMs: number): Promise<Balance | undefined>;

  /** All entries, oldest first. */
  history(): Promise<readonly CreditEntry[]>;
}
