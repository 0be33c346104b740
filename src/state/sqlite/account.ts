/** The account: its balance, and the history of its credit. */
import { MAX_NANOS, type Nanos } from '../../core/money.ts';
import type { Balance, CreditEntry } from '../account.ts';
import { creditEntryOf, type Row } from '../rows.ts';
import { immediately, type Sqlite } from './database.ts';

export class Account {
  readonly #database: Sqlite;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  balance(): Balance {
    const row = this.#database
      .prepare('SELECT balance_nanos AS balance, (SELECT coalesce(sum(hold_nanos), 0) FROM holds) AS held FROM account')
      .safeIntegers()
      .get() as { balance: bigint; held: bigint };
    return { balanceNanos: row.balance, heldNanos: row.held };
  }

  enter(amountNanos: Nanos, note: string, wallMs: number): Balance | undefined {
    return immediately(this.#database, () => {
      const balanceNanos = this.balance().balanceNanos + amountNanos;
      if (balanceNanos > MAX_NANOS || balanceNanos < -MAX_NANOS) return undefined;
      this.#database.prepare('UPDATE account SET balance_nanos = ?').run(balanceNanos);
      this.#database
        .prepare('INSERT INTO credit_entries (at_ms, amount_nanos, balance_nanos, note) VALUES (?, ?, ?, ?)')
        .run(wallMs, amountNanos, balanceNanos, note);
      return this.balance();
    });
  }

  history(): CreditEntry[] {
    const rows = this.#database
      .prepare('SELECT at_ms, amount_nanos, balance_nanos, note FROM credit_entries ORDER BY id')
      .safeIntegers()
      .all() as Row[];
    return rows.map(creditEntryOf);
  }
}
