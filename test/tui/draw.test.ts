/** Lines, tables, bars and charts of the dashboard are exactly as wide and as high as asked. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import stringWidth from 'string-width';
import { clean } from '../../src/operator/text.ts';
import { bar, chart, toneOfShare } from '../../src/tui/draw/chart.ts';
import { beside, fitLine, type Line, lineWidth, spread } from '../../src/tui/draw/line.ts';
import { type Column, firstShown, rangeText, table } from '../../src/tui/draw/table.ts';
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

  test('side by side are as wide as both and the gap', () => {
    const block = fc.record({ lines: fc.array(line, { maxLength: 4 }), width });
    fc.assert(
      fc.property(block, block, (left, right) => {
        const lines = beside([left, right]);
        assert.equal(lines.length, Math.max(left.lines.length, right.lines.length));
        for (const each of lines) assert.equal(widthOfLine(each), left.width + 2 + right.width);
      }),
    );
  });

  test('at both edges drop the right one if there is no room', () => {
    const [left, right] = [[{ text: 'left' }], [{ text: 'right' }]];
    assert.equal(textOf(spread(left, right, 12)), 'left   right');
    assert.equal(textOf(spread(left, right, 9)), 'left     ');
    fc.assert(
      fc.property(line, line, width, (a, b, columns) => assert.equal(lineWidth(spread(a, b, columns)), columns)),
    );
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
  test('are never wider or higher than asked, and clean', () => {
    const rows = fc.array(fc.array(text, { maxLength: 6 }), { maxLength: 12 });
    const shapes = fc.array(column, { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(shapes, rows, width, fc.integer({ min: 2, max: 9 }), fc.integer({ min: 0, max: 11 }), (...given) => {
        const [columns, list, across, height, cursor] = given;
        const lines = table(columnsOf(columns), list, { width: across, height, cursor });
        assert.equal(lines.length, 1 + Math.min(list.length, height - 1));
        for (const each of lines) {
          assert.equal(widthOfLine(each), across);
          assert.doesNotMatch(textOf(each), /[\p{C}\p{Zl}\p{Zp}]/u);
        }
        const selected = lines.filter((each) => each.length > 0 && each.every((part) => part.selected));
        assert.equal(selected.length, cursor < list.length ? 1 : 0);
      }),
    );
  });

  test('drop the columns of the highest rank first', () => {
    const columns = (['a', 'b', 'c'] as const).map((head, index) => ({
      head,
      width: 3,
      rank: index,
      cell: () => head,
    }));
    const headAt = (across: number) =>
      textOf(
        table<string>(
          columns.map(({ rank, ...rest }) => (rank === 0 ? rest : { rank, ...rest })),
          [],
          { width: across, height: 2, cursor: 0 },
        )[0] ?? [],
      );
    assert.equal(headAt(13), 'a    b    c  ');
    assert.equal(headAt(12), 'a    b      ');
    assert.equal(headAt(7), 'a      ');
    assert.equal(headAt(2), 'a…');
  });

  test('shorten a text in its middle where a column says so, and narrow it before one is dropped', () => {
    const name = { head: 'NAME', width: 16, least: 8, middle: true as const, cell: (row: string) => row };
    const rest = { head: 'REST', width: 4, rank: 1, cell: () => 'rest' };
    const at = (across: number) =>
      textOf(table([name, rest], ['support-staging-155'], { width: across, height: 2, cursor: -1 })[1] ?? []);
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
    const list = Array.from({ length: 10 }, (_, index) => [String(index)]);
    const shown = (cursor: number) =>
      table<string[]>([{ head: '', width: 1, cell: ([each = '']) => each }], list, { width: 1, height: 5, cursor })
        .slice(1)
        .map(textOf)
        .join('');
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
