/** The account in the operator's book. */
import { MAX_NANOS, type Nanos } from '../core/money.ts';
import type { Balance, CreditEntry } from './account.ts';
import { type Dialect, logEdit, type Operation, rows, stopDecisions, transaction } from './operation.ts';
import { creditEntryOf, type Row } from './rows.ts';

/** The columns of the account: its balance and the sum of its open holds. */
export function balanceColumns({ isShared }: Dialect): string {
  const held = isShared ? 'held_nanos' : '(SELECT coalesce(sum(hold_nanos), 0) FROM inf_gw.holds)';
  return `balance_nanos, ${held} AS held_nanos`;
}

export class AccountBook {
  readonly #dialect: Dialect;
  readonly #balance: string;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#balance = `SELECT ${balanceColumns(dialect)} FROM inf_gw.account`;
  }

  *balance(): Operation<Balance> {
    return balanceOf(yield* rows(this.#balance));
  }

  /**
   * Adds an amount, possibly negative. Returns undefined and leaves the account unchanged if the balance would go out of
   * range.
   */
  enter(amountNanos: Nanos, note: string, wallMs: number): Operation<Balance | undefined> {
    return transaction(this.#enter(amountNanos, note, wallMs));
  }

  /** All entries, oldest first. */
  *history(): Operation<readonly CreditEntry[]> {
    const entries = yield* rows(
      'SELECT at_ms, amount_nanos, balance_nanos, note FROM inf_gw.credit_entries ORDER BY id',
    );
    return entries.map(creditEntryOf);
  }

  *#enter(amountNanos: Nanos, note: string, wallMs: number): Operation<Balance | undefined> {
    yield* stopDecisions(this.#dialect);
    const before = yield* this.balance();
    const balanceNanos = before.balanceNanos + amountNanos;
    if (balanceNanos > MAX_NANOS || balanceNanos < -MAX_NANOS) return undefined;
    yield* rows('UPDATE inf_gw.account SET balance_nanos = $1', [balanceNanos]);
    yield* rows(
      'INSERT INTO inf_gw.credit_entries (at_ms, amount_nanos, balance_nanos, note) VALUES ($1, $2, $3, $4)',
      [wallMs, amountNanos, balanceNanos, note],
    );
    yield* logEdit(this.#dialect, { keyIds: [], before: null, addedNanos: amountNanos });
    return { ...before, balanceNanos };
  }
}

function balanceOf([row]: readonly Row[]): Balance {
  return { balanceNanos: row?.balance_nanos as bigint, heldNanos: row?.held_nanos as bigint };
}
