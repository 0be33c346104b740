/** The account in the database. */
import { MAX_NANOS, type Nanos } from '../../core/money.ts';
import type { Account, Balance, CreditEntry } from '../account.ts';
import { creditEntryOf, type Row } from '../rows.ts';
import type { Database } from './database.ts';

const BALANCE = 'SELECT balance_nanos, held_nanos FROM inf_gw.account';

export class PostgresAccount implements Account {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async balance(): Promise<Balance> {
    return balanceOf(await this.#database.run(BALANCE));
  }

  enter(amountNanos: Nanos, note: string, wallMs: number): Promise<Balance | undefined> {
    return this.#database.transaction(async (run) => {
      const before = balanceOf(await run(`${BALANCE} FOR UPDATE`));
      const balanceNanos = before.balanceNanos + amountNanos;
      if (balanceNanos > MAX_NANOS || balanceNanos < -MAX_NANOS) return undefined;
      await run('UPDATE inf_gw.account SET balance_nanos = $1', [balanceNanos]);
      await run(
        'INSERT INTO inf_gw.credit_entries (at_ms, amount_nanos, balance_nanos, note) VALUES ($1, $2, $3, $4)',
        [wallMs, amountNanos, balanceNanos, note],
      );
      return { ...before, balanceNanos };
    });
  }

  async history(): Promise<readonly CreditEntry[]> {
    const text = 'SELECT at_ms, amount_nanos, balance_nanos, note FROM inf_gw.credit_entries ORDER BY id';
    return (await this.#database.run(text)).map(creditEntryOf);
  }
}

function balanceOf([row]: readonly Row[]): Balance {
  return { balanceNanos: row?.balance_nanos as bigint, heldNanos: row?.held_nanos as bigint };
}
