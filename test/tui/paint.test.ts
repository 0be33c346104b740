/** Lines become text with the escape codes of their styles. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Line } from '../../src/tui/draw/line.ts';
import { painted } from '../../src/tui/draw/paint.ts';

const ESCAPE = '\u001b';
const styled = (codes: string, text: string) => `${ESCAPE}[${codes}m${text}${ESCAPE}[0m`;

describe('a line', () => {
  const cases: readonly (readonly [what: string, line: Line, expected: string])[] = [
    ['without styles is its text', [{ text: 'a' }, { text: 'b' }], 'ab'],
    ['has the colour of its tone', [{ text: 'a', tone: 'good' }, { text: 'b' }], `${styled('32', 'a')}b`],
    ['joins styles', [{ text: 'a', bold: true, dim: true, inverse: true, tone: 'bad' }], styled('1;2;7;31', 'a')],
    ['has no codes around nothing', [{ text: '', bold: true }], ''],
  ];
  for (const [what, line, expected] of cases) test(what, () => assert.equal(painted(line, true), expected));

  test('without colours keeps its other styles', () => {
    const line: Line = [
      { text: 'a', tone: 'good' },
      { text: 'b', bold: true, tone: 'bad' },
    ];
    assert.equal(painted(line, false), `a${styled('1', 'b')}`);
  });
});
