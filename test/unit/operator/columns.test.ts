/** Which columns of a table fit a width. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fittingColumns, tableWidth } from '../../../src/operator/columns.ts';

const COLUMNS = [
  { head: 'name', width: 4 },
  { head: 'id', width: 6, rank: 2 },
  { head: 'state', width: 5, rank: 1 },
  { head: 'cost', width: 5, rank: 2 },
];
const headsAt = (room: number) => fittingColumns(COLUMNS, room).map(({ head }) => head);

test('a table is as wide as its columns and the gaps between them', () => {
  assert.equal(tableWidth(COLUMNS), 26);
  assert.equal(tableWidth(COLUMNS.slice(0, 1)), 4);
});

test('columns of the highest rank are dropped first, and all of that rank together', () => {
  assert.deepEqual(headsAt(26), ['name', 'id', 'state', 'cost']);
  assert.deepEqual(headsAt(25), ['name', 'state']);
  assert.deepEqual(headsAt(10), ['name']);
});

test('a column without a rank stays, however little room there is', () => {
  assert.deepEqual(headsAt(0), ['name']);
});
