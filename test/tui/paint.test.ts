/** Lines become what a terminal takes: with their styles, and of a new screen only the lines that differ. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Line } from '../../src/tui/draw/line.ts';
import { changes, painted } from '../../src/tui/draw/paint.ts';

const ESCAPE = '\u001b';
const styled = (codes: string, text: string) => `${ESCAPE}[${codes}m${text}${ESCAPE}[m`;

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

describe('from one screen to the next', () => {
  const shown = (text: string) => text.replaceAll(ESCAPE, '^').replace(/^\^\[\?2026h(.*)\^\[\?2026l$/s, '$1');

  test('nothing is sent where they are alike', () => assert.equal(changes(['a', 'b'], ['a', 'b']), ''));

  test('only lines that differ are sent, each to its place', () => {
    assert.equal(shown(changes(['a', 'b', 'c'], ['a', 'x', 'y'])), '^[2;1H^[Kx^[3;1H^[Ky');
  });

  test('all is sent where there was none, on a cleared screen', () => {
    assert.equal(shown(changes(undefined, ['a', ''])), '^[m^[2J^[1;1H^[Ka^[2;1H^[K');
  });

  test('all is meant to be shown at once', () => {
    assert.match(changes(['a'], ['b']).replaceAll(ESCAPE, '^'), /^\^\[\?2026h.*\^\[\?2026l$/);
  });
});
