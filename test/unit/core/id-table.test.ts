/** The table of requests in flight behaves as a Map does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { IdTable } from '../../../src/core/id-table.ts';

/** Ids whose ends differ, and ids that only differ before their ends, which share a bucket. */
const ids = fc.oneof(
  fc.nat({ max: 40 }).map((number) => `req_${number}`),
  fc.nat({ max: 5 }).map((number) => `req_${number}_same_end`),
);

test('a table has the values of a Map after any additions, replacements and removals', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(ids, fc.boolean()), { maxLength: 200 }), (steps) => {
      const table = new IdTable<number>();
      const model = new Map<string, number>();
      for (const [at, [id, isRemoved]] of steps.entries()) {
        if (model.has(id) && isRemoved) {
          assert.equal(table.remove(id), model.get(id));
          model.delete(id);
        } else if (model.has(id)) {
          assert.equal(table.add(id, at), false);
          table.replace(id, at);
          model.set(id, at);
        } else {
          assert.ok(table.add(id, at));
          model.set(id, at);
        }
        assert.equal(table.get(id), model.get(id));
        assert.equal(table.size, model.size);
      }
      assert.deepEqual([...table.values()].sort(), [...model.values()].sort());
      for (const [id, value] of model) assert.equal(table.get(id), value);
    }),
  );
});

test('a table returns undefined for an id that is not in it', () => {
  const table = new IdTable<number>();
  table.add('req_1', 1);
  assert.equal(table.get('req_2'), undefined);
  assert.equal(table.get(''), undefined);
  assert.equal(table.remove('req_2'), undefined);
  assert.equal(table.size, 1);
});
