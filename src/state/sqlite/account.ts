/** The account: its balance, and the history of its credit. */
import { MAX_NANOS, type Nanos } from '../../core/money.ts';
import type { Balance, CreditEntry } from '../account.ts';
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
      .all() as { at_ms: bigint; amount_nanos: bigint; balance_nanos: bigint; note: string }[];
    return rows.map((row) => ({
      atMs: Number(row.at_ms),
      amountNanos: row.amount_nanos,
      balanceNanos: row.balance_nanos,
      note: row.note,
    }));
  }
}
