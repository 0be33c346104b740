/** A row is stored with exactly its values, whichever of them are NULL. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { RowWriter } from '../../../src/state/sqlite/row-writer.ts';

const COUNT = 31;
const COLUMNS = Array.from({ length: COUNT }, (_, at) => ({ name: `c${at}`, type: 'number' }) as const);
const VALUE = fc.option(fc.oneof(fc.string(), fc.bigInt({ min: 0n, max: 2n ** 62n })));

test('every combination of NULLs is stored as it is', (t) => {
  const database = new Database(':memory:');
  t.after(() => database.close());
  database.exec(`CREATE TABLE rows (${COLUMNS.map(({ name }) => name).join(', ')})`);
  const writer = new RowWriter(database, 'rows', COLUMNS);
  const read = database.prepare('SELECT * FROM rows').safeIntegers().raw();
  fc.assert(
    fc.property(fc.array(VALUE, { minLength: COUNT, maxLength: COUNT }), (values) => {
      // A row always has something in its first column, as each row of the journal has.
      const row = [1n, ...values.slice(1)];
      writer.insert(row);
      assert.deepEqual(read.get(), row);
      database.exec('DELETE FROM rows');
    }),
    { numRuns: 300 },
  );
});
