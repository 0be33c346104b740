/** Lines, tables, bars and charts of the dashboard are exactly as wide and as high as asked. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import stringWidth from 'string-width';
import { clean } from '../../src/operator/text.ts';
import { bar, chart, toneOfShare } from '../../src/tui/draw/chart.ts';
import { fitLine, type Line } from '../../src/tui/draw/line.ts';
import { type Column, firstShown, placedColumns, rangeText, rowLine } from '../../src/tui/draw/table.ts';
import { anyText } from '../support/any-text.ts';
import { textOf } from './samples.ts';

const text = anyText(40);
const cleanText = text.map(clean);
const width = fc.integer({ min: 1, max: 60 });
const align = fc.constantFrom('left' as const, 'right' as const);
const line = fc.array(
  cleanText.map((each) => ({ text: each })),
  { maxLength: 6 },
);
const share = fc.double({ min: 0, max: 1e12, noNaN: true });

/**
 * The width according to string-width, which the code under test does not use for plain texts: of each span by itself, since a
 * sign that would join the one before it is not in the same text.
 */
const widthOfLine = (each: Line) => each.reduce((sum, { text }) => sum + stringWidth(text), 0);

describe('lines', () => {
  test('are fitted to exactly the width asked for', () => {
    fc.assert(fc.property(line, width, (each, columns) => assert.equal(widthOfLine(fitLine(each, columns)), columns)));
  });

  test('show that something is missing, also if a part of them fits exactly', () => {
    assert.equal(textOf(fitLine([{ text: 'abcd' }, { text: 'ef' }], 4)), 'abc…');
    assert.equal(textOf(fitLine([{ text: 'abc' }, { text: '漢字' }, { text: 'x' }], 5)), 'abc… ');
    assert.equal(textOf(fitLine([{ text: 'abcd' }, { text: '' }], 4)), 'abcd');
  });
});

const column = fc.record({
  head: text,
  width: fc.integer({ min: 1, max: 20 }),
  align,
  rank: fc.option(fc.integer({ min: 1, max: 4 }), { nil: 0 }),
  grows: fc.boolean(),
});
type Shape = typeof column extends fc.Arbitrary<infer T> ? T : never;

/** A table of texts in which every other column has spans for cells. */
function columnsOf(shapes: readonly Shape[]): Column<readonly string[]>[] {
  const grown = shapes.findIndex(({ grows }) => grows);
  return shapes.map(({ head, width: columns, align: side, rank }, index) => ({
    head,
    width: columns,
    align: side,
    ...(rank > 0 && { rank }),
    ...(index === grown && { grows: true as const }),
    cell: (row) => (index % 2 === 0 ? (row[index] ?? '') : [{ text: row[index] ?? '' }, { text: '!' }]),
  }));
}

describe('tables', () => {
  const rowAt = <Row>(columns: readonly Column<Row>[], row: Row, across: number) =>
    rowLine(placedColumns<Row, Column<Row>>(columns, across), row, across);

  test('have rows that are exactly as wide as asked, and clean', () => {
    const row = fc.array(text, { maxLength: 6 });
    const shapes = fc.array(column, { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(shapes, row, width, (columns, cells, across) => {
        const line = rowAt(columnsOf(columns), cells, across);
        assert.equal(widthOfLine(line), across);
        assert.doesNotMatch(textOf(line), /[\p{C}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  test('drop the columns of the highest rank first', () => {
    const columns = (['a', 'b', 'c'] as const).map((head, rank) => ({
      head,
      width: 3,
      ...(rank > 0 && { rank }),
      cell: () => head,
    }));
    const at = (across: number) => textOf(rowAt<string>(columns, '', across));
    assert.equal(at(13), 'a    b    c  ');
    assert.equal(at(12), 'a    b      ');
    assert.equal(at(7), 'a      ');
    assert.equal(at(2), 'a…');
  });

  test('shorten a text in its middle where a column says so, and narrow it before one is dropped', () => {
    const name = { head: 'NAME', width: 16, least: 8, middle: true as const, cell: (row: string) => row };
    const rest = { head: 'REST', width: 4, rank: 1, cell: () => 'rest' };
    const at = (across: number) => textOf(rowAt([name, rest], 'support-staging-155', across));
    assert.equal(at(22), 'support-sta…-155  rest');
    assert.equal(at(14), 'suppo…55  rest');
    assert.equal(at(13), 'support-s…155');
  });

  test('say which rows they show, unless that is all of them', () => {
    const cases = [
      [33, 33, 500, '34–66 of 500'],
      [0, 20, 10_000, '1–20 of 10,000'],
      [0, 7, 7, ''],
      [0, 0, 0, ''],
    ] as const;
    for (const [first, shown, total, text] of cases) assert.equal(rangeText(first, shown, total), text);
  });

  test('show the rows around the cursor', () => {
    const list = Array.from({ length: 10 }, (_, index) => String(index));
    const shown = (cursor: number) => {
      const top = firstShown(list.length, 4, cursor);
      return list.slice(top, top + 4).join('');
    };
    assert.deepEqual([0, 1, 2, 3, 5, 8, 9, -1].map(shown), [
      '0123',
      '0123',
      '0123',
      '1234',
      '3456',
      '6789',
      '6789',
      '0123',
    ]);
  });

  test('always show the row of the cursor', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 200 }),
        fc.integer({ min: 1, max: 50 }),
        fc.nat(199),
        (rows, height, place) => {
          const cursor = place % rows;
          const first = firstShown(rows, height, cursor);
          assert.ok(first >= 0 && first <= cursor && cursor < first + height);
        },
      ),
    );
  });
});

describe('bars', () => {
  test('are exactly as wide as asked, and any use shows', () => {
    fc.assert(
      fc.property(share, share, width, (used, limit, columns) => {
        const [filled, rest] = bar(used, limit, columns).map((each) => each.text);
        assert.equal(`${filled}${rest}`.length, columns);
        assert.equal(filled === '', used === 0 || (limit > 0 && used / limit === 0));
      }),
    );
  });

  const cases: readonly (readonly [used: number, limit: number, drawn: string, tone: string])[] = [
    [0, 10, '░░░░░░░░', 'good'],
    [1, 1_000_000, '▏░░░░░░░', 'good'],
    [1, 64, '▏░░░░░░░', 'good'],
    [5, 10, '████░░░░', 'good'],
    [5.4, 10, '████▍░░░', 'good'],
    [7.5, 10, '██████░░', 'warn'],
    [10, 10, '████████', 'bad'],
    [30, 10, '████████', 'bad'],
    [1, 0, '████████', 'bad'],
    [0, 0, '░░░░░░░░', 'good'],
  ];
  for (const [used, limit, drawn, tone] of cases) {
    test(`${used} of ${limit}`, () => {
      const spans = bar(used, limit, 8);
      assert.equal(textOf(spans), drawn);
      assert.equal(spans[0]?.tone, tone);
    });
  }

  test('turn yellow at three quarters and red just below the limit', () => {
    assert.deepEqual([0, 0.749, 0.75, 0.949, 0.95, 1].map(toneOfShare), ['good', 'good', 'warn', 'warn', 'bad', 'bad']);
  });
});

describe('charts', () => {
  const values = fc.array(fc.oneof(fc.constant(0), share), { maxLength: 80 });

  test('are exactly as wide and high as asked, and any value shows', () => {
    fc.assert(
      fc.property(values, fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 6 }), (list, columns, height) => {
        const lines = chart(list, columns, height).map(textOf);
        assert.equal(lines.length, height);
        for (const each of lines) assert.equal(each.length, columns);
        const shown = columns === 0 ? [] : list.slice(-columns);
        for (const [index, value] of shown.entries()) {
          const isBlank = lines.every((each) => each[columns - shown.length + index] === ' ');
          assert.equal(isBlank, value === 0);
        }
      }),
    );
  });

  test('show the last values on the right, and the largest at full height', () => {
    assert.deepEqual(chart([9, 0, 1, 2, 4, 8], 5, 2).map(textOf), ['    █', ' ▂▄██']);
    assert.deepEqual(chart([1], 3, 1).map(textOf), ['  █']);
    assert.deepEqual(chart([], 3, 1).map(textOf), ['   ']);
    assert.deepEqual(chart([0, 0], 2, 1).map(textOf), ['  ']);
  });
});
