/** Budgets in the database, as operators read and write them. */
import { type BudgetSpend, sortedBudgets } from '../../core/budgets.ts';
import type { BudgetedKey, Budgets } from '../budgets.ts';
import type { Row } from '../rows.ts';
import type { Database } from './database.ts';

export class PostgresBudgets implements Budgets {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async spentBy(keys: readonly BudgetedKey[], wallMs: number): Promise<ReadonlyMap<string, readonly BudgetSpend[]>> {
    const ids = keys.filter(({ budgets }) => budgets.length > 0).map(({ id }) => id);
    if (ids.length === 0) return new Map();
    const nowUs = BigInt(Math.floor(wallMs)) * 1_000n;
    const rows = await this.#database.run('SELECT * FROM inf_gw.budget_spends($1, $2, $2)', [ids, nowUs]);
    const byKey = Map.groupBy(rows, (row) => row.key_id as string);
    return new Map([...byKey].map(([id, own]) => [id, sortedBudgets(own.map(spendOf))]));
  }
}

function spendOf(row: Row): BudgetSpend {
  return {
    period: row.period as string,
    limitNanos: row.limit_nanos as bigint,
    chargedNanos: row.charged_nanos as bigint,
    freesAtMs: timeIn(row.frees_ms),
    resetsAtMs: timeIn(row.resets_ms),
  };
}

function timeIn(value: Row[string] | undefined): number | null {
  return typeof value === 'bigint' ? Number(value) : null;
}
