/** Charts of dots, their axes, bars in several parts, and the buckets of time that are drawn. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { asciiOf } from '../../src/tui/draw/ascii.ts';
import { axisFigure, axisTime, roundTop, withAxis } from '../../src/tui/draw/axis.ts';
import { columns, curves, spark } from '../../src/tui/draw/braille.ts';
import { gauge } from '../../src/tui/draw/gauge.ts';
import type { Line } from '../../src/tui/draw/line.ts';
import { series, stretched } from '../../src/tui/series.ts';
import { alone, NOW_MS, second, textOf } from './samples.ts';

const TONES = { value: 'accent', part: 'bad' } as const;

function drawn(lines: readonly Line[]): string[] {
  return lines.map(textOf);
}

function whole(...values: readonly number[]) {
  return values.map((value) => ({ value, part: 0 }));
}

describe('columns of dots', () => {
  const cases: readonly (readonly [values: readonly number[], width: number, height: number, drawn: string[]])[] = [
    [[1, 2, 3, 4], 2, 1, ['⣠⣾']],
    [[4, 3, 2, 1], 2, 1, ['⣷⣄']],
    [[8, 0, 4, 8], 2, 2, ['⡇⢸', '⡇⣿']],
    [[0.001, 0], 1, 1, ['⡀']],
    [[99, 99], 1, 1, ['⣿']],
    [[], 2, 1, ['  ']],
  ];
  for (const [values, width, height, expected] of cases) {
    test(`${values.join(' ')} at ${width} by ${height}`, () => {
      assert.deepEqual(drawn(columns(whole(...values), { width, height, top: height * 4 }, TONES)), expected);
    });
  }

  test('have their part at the upper end, which shows however small it is', () => {
    const samples = [
      { value: 12, part: 0.01 },
      { value: 12, part: 0.01 },
      { value: 12, part: 12 },
      { value: 12, part: 12 },
      { value: 12, part: 0 },
      { value: 12, part: 0 },
    ];
    const lines = columns(samples, { width: 3, height: 3, top: 12 }, TONES);
    const tones = lines.map((line) => line.flatMap(({ text, tone }) => [...text].map(() => tone)));
    assert.deepEqual(tones, [
      ['bad', 'bad', 'accent'],
      ['accent', 'bad', 'accent'],
      ['accent', 'bad', 'accent'],
    ]);
    assert.deepEqual(drawn(lines), ['⣿⣿⣿', '⣿⣿⣿', '⣿⣿⣿']);
  });

  test('are exactly as wide and high as asked, and any value shows', () => {
    const values = fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { maxLength: 40 });
    fc.assert(
      fc.property(values, fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 5 }), (list, width, height) => {
        const lines = drawn(columns(whole(...list), { width, height, top: 1e9 }, TONES));
        assert.equal(lines.length, height);
        for (const line of lines) assert.equal(line.length, width);
        const lowest = lines.at(-1) ?? '';
        for (let column = 0; column < width; column++) {
          const isUsed = (list[column * 2] ?? 0) > 0 || (list[column * 2 + 1] ?? 0) > 0;
          assert.equal(lowest[column] !== ' ', isUsed);
        }
      }),
    );
  });
});

describe('curves', () => {
  const draw = (...values: readonly (number | undefined)[]) =>
    drawn(curves([{ values, tone: 'accent' }], { width: 2, height: 2, top: 8 }));

  test('run through their values without falling apart', () => {
    assert.deepEqual(draw(1, 1, 8, 8), [' ⡏', '⣀⠇']);
    assert.deepEqual(draw(2, 2, 2, 2), ['  ', '⠤⠤']);
    assert.deepEqual(draw(1, 2, 3, 4), ['  ', '⡠⠊']);
    assert.deepEqual(draw(8, 8, 1, 1), ['⠉⡆', ' ⣇']);
  });

  test('have a gap where nothing was measured', () => {
    assert.deepEqual(draw(2, undefined, undefined, 2), ['  ', '⠄⠠']);
  });

  test('over each other keep their tones', () => {
    const values = (value: number) => [value, value];
    const lines = curves(
      [
        { values: values(1), tone: 'accent' },
        { values: values(8), tone: 'other' },
      ],
      { width: 1, height: 2, top: 8 },
    );
    assert.deepEqual(lines, [[{ text: '⠉', tone: 'other' }], [{ text: '⣀', tone: 'accent' }]]);
  });
});

test('a graph of one row shows the last values, the largest at full height', () => {
  assert.equal(spark([9, 1, 2, 3, 4], 2), '⣠⣾');
  assert.equal(spark([0, 0, 0, 0], 2), '  ');
  assert.equal(spark([], 2), '  ');
});

test('in ASCII dots keep their height', () => {
  assert.equal(asciiOf('⡀⣀⣤⣶⣿⢸⣠'), '..:+##:');
  assert.equal(asciiOf('⠉⠒⠤⠸ '), "'--| ");
  assert.equal(asciiOf('█▓░▲✕┤⣿'), '#=.!x|#');
});

describe('axes', () => {
  test('end at a round figure: 1, 2 or 5 times a power of ten', () => {
    const cases = [
      [0, 1],
      [0.003, 0.01],
      [0.011, 0.02],
      [0.3, 0.5],
      [1, 1],
      [1.01, 2],
      [5, 5],
      [9.4, 10],
      [38, 50],
      [2_001, 5_000],
      [999_999, 1_000_000],
    ] as const;
    for (const [most, top] of cases) assert.equal(roundTop(most), top);
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 1e12, noNaN: true }), (most) => {
        const top = roundTop(most);
        assert.ok(top >= most * (1 - 1e-9) && top <= Math.max(0.02, most * 2.5 * (1 + 1e-9)));
      }),
    );
  });

  test('have figures of at most five columns', () => {
    for (let top = 0.01; top < 1e12; top *= 10) {
      for (const step of [1, 2, 5]) {
        const round = roundTop(top * step);
        assert.ok(axisFigure(round).length <= 5 && axisFigure(round / 2).length <= 5, axisFigure(round / 2));
      }
    }
    assert.deepEqual([1, 500, 1_000, 2_500, 20_000].map(axisTime), ['1ms', '500ms', '1s', '2.5s', '20s']);
  });

  const plot = (height: number) => Array.from({ length: height }, (_, row) => [{ text: `row ${row}  ` }]);
  const pictures: readonly (readonly [height: number, reach: string | undefined, lines: string[]])[] = [
    [1, undefined, ['   50┤row 0  ']],
    [2, undefined, ['   50┤row 0  ', '    0┤row 1  ']],
    [3, '5m', ['   50┤row 0  ', '   25┤row 1  ', '    0┤row 2  ', '      -5mnow']],
    [4, '5m', ['   50┤row 0  ', '     │row 1  ', '   25┤row 2  ', '    0┤row 3  ', '      -5mnow']],
  ];
  for (const [height, reach, lines] of pictures) {
    test(`name the top, the middle and 0 as far as there is room: ${height} rows`, () => {
      const axis = { top: 50, show: axisFigure, reach };
      assert.deepEqual(
        drawn(withAxis(plot(height), 13, axis)).map((line) => line.replace('-5m now', '-5mnow')),
        lines,
      );
    });
  }
});

describe('a bar in parts', () => {
  const bar = (...values: readonly number[]) =>
    textOf(
      gauge(
        values.map((value, index) => ({ value, sign: 'abc'[index] ?? '' })),
        10,
      ),
    );
  const cases: readonly (readonly [values: readonly number[], drawn: string])[] = [
    [[50, 20, 30], 'aaaaabbccc'],
    [[1, 0, 0], 'aaaaaaaaaa'],
    [[1_000_000, 1, 0], 'aaaaaaaaab'],
    [[1, 1, 1_000_000], 'abcccccccc'],
    [[-5, 0, 5], 'cccccccccc'],
    [[0, 0, 0], '          '],
    [[1, 1, 1], 'aaaabbbccc'],
  ];
  for (const [values, expected] of cases) test(values.join(' '), () => assert.equal(bar(...values), expected));
});

describe('the buckets of a range', () => {
  const nowS = NOW_MS / 1_000;
  const model = alone();
  const counted = (ago: number, requests: number) => second(nowS - ago, { requests, tokens: 0, cost_usd: '0.00' });

  const lengths = [
    ['1m', 66, 60],
    ['1m', 46, 30],
    ['5m', 66, 60],
    ['5m', 400, 300],
    ['1h', 66, 60],
    ['1h', 46, 30],
    ['24h', 66, 48],
    ['24h', 186, 144],
    ['24h', 3_000, 1_440],
  ] as const;
  for (const [chartRange, samples, buckets] of lengths) {
    test(`are ${buckets} for ${chartRange} and ${samples} samples`, () => {
      assert.equal(series({ ...model, chartRange }, samples).length, buckets);
    });
  }

  test('are rates by second, without the second that has not ended', () => {
    const seconds = [counted(4, 10), counted(1, 20), counted(0, 999)];
    const buckets = series({ ...model, seconds }, 66);
    assert.deepEqual(
      buckets.slice(-2).map(({ answers }) => answers),
      [0, 6],
    );
  });

  test('stay as they are while time goes on, until the next one begins', () => {
    const seconds = [counted(33, 10), counted(14, 20), counted(12, 30)];
    const at = (laterMs: number) =>
      series({ ...model, seconds, nowMs: NOW_MS + laterMs }, 66).map(({ answers }) => answers);
    const now = at(0);
    assert.deepEqual(at(1_000).slice(0, -1), now.slice(1));
    for (const laterMs of [2_000, 3_000, 4_000, 5_000]) assert.deepEqual(at(laterMs), at(1_000));
  });

  test('add up histograms: the quantiles are those of all requests, and not an average of quantiles', () => {
    const times = (bucket: number, count: number) => Array.from({ length: 64 }, (_, at) => (at === bucket ? count : 0));
    const seconds = [second(nowS - 3, { first_byte: times(10, 98) }), second(nowS - 2, { first_byte: times(30, 2) })];
    const last = series({ ...model, seconds }, 66).at(-1);
    assert.deepEqual([last?.p50Ms, last?.p99Ms], [Math.round(1.25 ** 10), Math.round(1.25 ** 30)]);
  });

  test('count refusals among the answers, and errors after admission once', () => {
    const seconds = [second(nowS - 5, { requests: 10, errors: { rate_limited: 5, upstream_error: 2 } })];
    const { answers, errors } = series({ ...model, seconds }, 600).at(-5) ?? {};
    assert.deepEqual([answers, errors], [15, 7]);
  });

  test('of hours and days are made of minutes', () => {
    const minutes = [second(nowS - 3_600, { requests: 120 }), second(nowS - 60, { requests: 60 })];
    const hour = series({ ...model, minutes, chartRange: '1h' }, 66).map(({ answers }) => answers);
    assert.deepEqual([hour[0], hour.at(-1)], [2, 1]);
  });

  test('fill the width of a chart', () => {
    assert.deepEqual(stretched([1, 2, 3], 7), [1, 1, 1, 2, 2, 3, 3]);
    assert.deepEqual(stretched([1, 2], 2), [1, 2]);
  });
});
