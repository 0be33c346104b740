/** The columns of holds and of the journal are those that are declared: so none is left behind by a move. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOLD, JOURNAL_COLUMNS } from '../../../src/state/journal.ts';
import { openBench } from '../ledger/bench.ts';

for (const [table, declared] of [
  ['holds', HOLD.columns],
  ['journal', JOURNAL_COLUMNS],
] as const) {
  test(`all columns of ${table}, and no others, are declared`, (t) => {
    const { database } = openBench(t);
    const stored = database.prepare(`SELECT name FROM pragma_table_info(?)`).pluck().all(table) as string[];
    assert.deepEqual(declared.map(({ name }) => name).sort(), stored.sort());
  });
}
