/** Which columns of a table fit a width. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fittingColumns, leastWidth, narrowedColumns, tableWidth } from '../../../src/operator/columns.ts';

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

const SHORTENED = [
  { head: 'name', width: 20, least: 8 },
  { head: 'why', width: 10, least: 6, rank: 1 },
  { head: 'cost', width: 5 },
];
const widthsAt = (room: number) => narrowedColumns(SHORTENED, room).map(({ head, width }) => `${head} ${width}`);

test('the widest columns are shortened before any is dropped', () => {
  assert.equal(leastWidth(SHORTENED), 23);
  assert.deepEqual(widthsAt(39), ['name 20', 'why 10', 'cost 5']);
  assert.deepEqual(widthsAt(30), ['name 11', 'why 10', 'cost 5']);
  assert.deepEqual(widthsAt(27), ['name 9', 'why 9', 'cost 5']);
  assert.deepEqual(widthsAt(23), ['name 8', 'why 6', 'cost 5']);
  assert.deepEqual(widthsAt(22), ['name 15', 'cost 5']);
});

test('where nothing is left to drop, what may be shortened becomes as narrow as it takes', () => {
  assert.deepEqual(widthsAt(12), ['name 5', 'cost 5']);
  assert.deepEqual(widthsAt(5), ['name 4', 'cost 5']);
});
