/**
 * The output of benchmarks: their part of the document, wrapped prose, and verdicts that follow
 * from the figures.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BARS, rowsOfPage, shownBar } from '../../bench/bars.ts';
import { GATEWAY, YARDSTICK } from '../../bench/contestants.ts';
import { cellAt, withPart } from '../../bench/document.ts';
import { meetsTargets } from '../../bench/narrative.ts';
import { FLOOR } from '../../bench/phases/bench.ts';
import { Row, Rows, type Shape } from '../../bench/rows.ts';
import { comparedColumn, ratioColumn, tableOf, valueColumn } from '../../bench/table.ts';
import { wrapProse } from '../../scripts/wrap.ts';
import { projectFile } from '../support/sources.ts';

const SHAPE: Shape = { label: 'p50, ms', digits: 2, shows: 'latency' };

function rowOf(values: Readonly<Record<string, readonly (number | undefined)[]>>, shape = SHAPE): Row {
  const row = new Row('row', shape);
  for (const [name, all] of Object.entries(values)) for (const value of all) row.add(name, value);
  return row;
}

describe('the table', () => {
  test('shows medians, differences from the upstream alone, and ratios by round', () => {
    // The second round was slow for both: the ratio of the medians would be 2.
    const row = rowOf({ [FLOOR]: [1, 2, 1], a: [2, 8, 2], b: [6, 12, 4] });
    assert.equal(valueColumn('b').cell(row), '6.00 (+5.00)');
    assert.equal(ratioColumn('b', 'a').cell(row), '2.00×');
    assert.equal(comparedColumn('a', 'b').cell(row), '2.00 (+1.00) (0.50×)');
  });

  test('shows a target that failed in any round as failing, and compares nothing with it', () => {
    const row = rowOf({ [FLOOR]: [1, 1], a: [2, undefined], b: [2, 2] });
    assert.equal(valueColumn('a').cell(row), 'fails');
    assert.equal(ratioColumn('b', 'a').cell(row), '');
  });

  test('can be read back from the document, cell by cell', () => {
    const table = tableOf([rowOf({ a: [2], b: [4] })], [valueColumn('a'), ratioColumn('b', 'a')]);
    assert.equal(cellAt(`words\n\n${table}\n`, 'row', ': a'), '2.00×');
    assert.equal(cellAt(table, 'row', ': nobody'), undefined);
  });
});

describe('a target', () => {
  const bar = BARS.find(({ of, is }) => of === 'ratio' && is === 'at least');

  test('is met at its limit and missed below it', () => {
    assert.ok(bar);
    const at = (share: number) => shownBar(bar, rowOf({ [GATEWAY]: [share], [YARDSTICK]: [1] }));
    assert.match(at(bar.limit), /, met$/);
    assert.match(at(bar.limit - 0.01), /, \*\*missed\*\*$/);
  });

  test('that is missed fails the benchmark, and one that was not measured does not', () => {
    assert.ok(bar);
    const [section = '', label = ''] = bar.row.split(': ');
    const measured = (share: number) => {
      const rows = new Rows();
      const shape = { ...SHAPE, label };
      rows.add(section, shape, bar.target, share);
      rows.add(section, shape, bar.other ?? '', 1);
      return meetsTargets(rows);
    };
    assert.equal(measured(bar.limit), true);
    assert.equal(measured(bar.limit - 0.01), false);
  });
});

describe('docs/benchmarks.md', () => {
  test('has the rows of all targets, without the others', () => {
    const rows = [...new Set(BARS.map(({ row }) => row))].map((name) => new Row(name, SHAPE));
    assert.deepEqual(rowsOfPage([...rows, new Row('16 connections: requests/s', SHAPE)]), rows);
    const text = projectFile('docs/benchmarks.md');
    for (const { name } of rows) assert.ok(cellAt(text, name, GATEWAY), name);
  });

  test('has a part for each benchmark, and a new run replaces only its own', () => {
    const text = projectFile('docs/benchmarks.md');
    const once = withPart(withPart(text, 'gateway', 'A'), 'peers', 'B');
    assert.equal(withPart(withPart(text, 'peers', 'B'), 'gateway', 'A'), once);
    assert.match(once, /-->\nA\n<!-- end of gateway -->[\s\S]*-->\nB\n<!-- end of peers -->/);
  });
});

describe('prose', () => {
  test('is wrapped at 100 columns, with list items indented', () => {
    const words = Array(40).fill('words').join(' ');
    const lines = wrapProse(`${words}\n\n- ${words}`).split('\n');
    assert.ok(lines.every((line) => line.length <= 100));
    assert.equal(lines.join(' ').replaceAll(/ +/g, ' '), `${words} - ${words}`);
    assert.match(lines.at(-1) ?? '', /^ {2}words/);
  });

  test('leaves tables, headings, comments, code and long words as they are', () => {
    const long = 'x '.repeat(80).trim();
    const text = `| ${long} |\n# ${long}\n<!-- ${long} -->\n\`\`\`sh\n${long}\n\`\`\`\n${'x'.repeat(120)}`;
    assert.equal(wrapProse(text), text);
  });
});
