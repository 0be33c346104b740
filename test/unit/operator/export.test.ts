/** Usage as CSV: whatever names clients have sent, a spreadsheet reads texts and numbers, and runs nothing. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { usageCsv } from '../../../src/operator/export.ts';
import type { UsageRow } from '../../../src/state/usage.ts';

const ROW: UsageRow = {
  ...{ key: undefined, keyId: undefined, model: undefined, day: undefined, month: undefined, source: undefined },
  ...{ user: undefined, tag: undefined, app: undefined },
  ...{ requests: 1, errors: 0, promptTokens: 2, cachedTokens: 1, cacheWriteTokens: 4, completionTokens: 3 },
  costNanos: 5n,
};

function row(changes: Partial<UsageRow>): UsageRow {
  return { ...ROW, ...changes };
}

/** The first cell of the only row. */
function cellOf(user: string): string {
  return usageCsv([row({ user })], 'user')
    .replace(/^.*\n/, '')
    .replace(/,1,0,2,1,4,3,5,0\.000000005\n$/, '');
}

describe('a cell of CSV', () => {
  const cells: readonly (readonly [name: string, cell: string])[] = [
    ['=HYPERLINK(1)', "'=HYPERLINK(1)"],
    ['=cmd|"/c calc"!A1', `"'=cmd|""/c calc""!A1"`],
    ['=1,2', `"'=1,2"`],
    ['+1', "'+1"],
    ['-1+1', "'-1+1"],
    ['-', "'-"],
    ['@SUM(1)', "'@SUM(1)"],
    ['\t=1', "'\t=1"],
    ['\r=1', `"'\r=1"`],
    ['-0.5', '-0.5'],
    ['-12', '-12'],
    ['-1e9', "'-1e9"],
    ['alice=1', 'alice=1'],
    ['a-b@c', 'a-b@c'],
    ['', ''],
  ];
  for (const [name, cell] of cells) {
    test(`of the name ${JSON.stringify(name)} is ${JSON.stringify(cell)}`, () => {
      assert.equal(cellOf(name), cell);
    });
  }

  test('of a figure stays a number, also of a correction that made it negative', () => {
    const csv = usageCsv([row({ costNanos: -500_000_000n })]);
    assert.equal(csv.split('\n')[1], '1,0,2,1,4,3,5,-0.50');
  });

  test('of a key or a model gets its apostrophe, too', () => {
    assert.match(usageCsv([row({ key: '=1', keyId: 'key_1' })], 'key'), /\n'=1,key_1,/);
    assert.match(usageCsv([row({ model: '@x' })], 'model'), /\n'@x,1,/);
  });
});
