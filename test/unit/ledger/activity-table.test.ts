/** The activity of levels in memory: what has nothing any more is forgotten as fast as others come. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { ActivityTable } from '../../../src/ledger/local/activity-table.ts';

const NOW_MS = 1_000;
const BATCHES = 300;
const NAMES_OF_BATCH = 64;

test('end users by the thousand who are refused leave nothing in memory, and whoever has something stays', () => {
  const table = new ActivityTable();
  table.of('key_1').requests.add(NOW_MS, 1);
  table.of('key_1/alice').tokens.add(NOW_MS, 9);
  const ids: string[] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    for (let i = 0; i < NAMES_OF_BATCH; i++) {
      const id = `key_1/nobody ${ids.length}`;
      ids.push(id);
      table.of(id);
    }
    table.sweep(NOW_MS);
  }
  const inMemory = (of: readonly string[]) => table.snapshot(of, 0, NOW_MS).keys.length;
  assert.ok(inMemory(ids) <= 2 * NAMES_OF_BATCH, `${inMemory(ids)} of ${ids.length}`);
  assert.equal(inMemory(['key_1', 'key_1/alice']), 2);
});
