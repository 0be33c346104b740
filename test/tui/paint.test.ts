/** Lines become text with the escape codes of their styles. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { widthOf } from '../../src/operator/text.ts';
import { asciiOf, showsUtf8 } from '../../src/tui/draw/ascii.ts';
import { type Line, selected } from '../../src/tui/draw/line.ts';
import { abilitiesOf, painted } from '../../src/tui/draw/paint.ts';
import { VIEWS } from '../../src/tui/model.ts';
import { alone, press, screenText, serving } from './samples.ts';

const ESCAPE = '\u001b';
const styled = (codes: string, text: string) => `${ESCAPE}[${codes}m${text}${ESCAPE}[0m`;

describe('a line', () => {
  const cases: readonly (readonly [what: string, line: Line, expected: string])[] = [
    ['without styles is its text', [{ text: 'a' }, { text: 'b' }], 'ab'],
    ['has the colour of its tone', [{ text: 'a', tone: 'good' }, { text: 'b' }], `${styled('32', 'a')}b`],
    ['joins styles', [{ text: 'a', bold: true, dim: true, inverse: true, tone: 'bad' }], styled('1;2;7;31', 'a')],
    ['has no codes around nothing', [{ text: '', bold: true }], ''],
  ];
  const TERMINAL = { hasColours: true, hasBand: true, isAscii: false };
  for (const [what, line, expected] of cases) test(what, () => assert.equal(painted(line, TERMINAL), expected));

  test('under the cursor keeps its colours and bars, on a band behind all of it', () => {
    const line: Line = [{ text: 'spent', tone: 'bad' }, { text: ' ' }, { text: '██░', tone: 'accent' }];
    const band = '48;5;237;38;5;255';
    assert.equal(
      painted(selected(line, 11), TERMINAL),
      [styled(`${band};91`, 'spent'), styled(band, ' '), styled(`${band};96`, '██░'), styled(band, '  ')].join(''),
    );
    // Inverse, a bar would be a hole.
    assert.equal(
      painted(selected(line, 11), { ...TERMINAL, hasBand: false }),
      [styled('7', 'spent'), styled('7', ' '), '██░', styled('7', '  ')].join(''),
    );
  });

  test('under the cursor has a band where the terminal has 256 colours, and the user wants any', () => {
    const hasBand = (env: NodeJS.ProcessEnv) => abilitiesOf(env).hasBand;
    for (const TERM of ['xterm-256color', 'xterm', 'tmux', 'xterm-kitty']) assert.equal(hasBand({ TERM }), true, TERM);
    for (const TERM of ['linux', 'vt220', 'ansi']) assert.equal(hasBand({ TERM }), false, TERM);
    assert.equal(hasBand({ TERM: 'xterm-256color', NO_COLOR: '1' }), false);
  });

  test('without colours keeps its other styles', () => {
    const line: Line = [
      { text: 'a', tone: 'good' },
      { text: 'b', bold: true, tone: 'bad' },
    ];
    assert.equal(painted(line, { ...TERMINAL, hasColours: false, hasBand: false }), `a${styled('1', 'b')}`);
  });
});

describe('without UTF-8', () => {
  const models = VIEWS.flatMap((view) => [
    alone(view),
    serving(view),
    ...['?', '+', '/'].map((key) => press(serving(view), key).model),
  ]);

  test('every view is as wide in ASCII as ever, and each of its signs has a likeness', () => {
    for (const model of [...models, press(serving('keys'), 'd').model, press(serving('keys'), 'm').model]) {
      const text = screenText(model);
      const ascii = asciiOf(text.replaceAll('\n', ' ').replaceAll('?', ' '));
      assert.match(ascii, /^[ -~]*$/);
      assert.doesNotMatch(ascii, /\?/, text);
      for (const line of text.split('\n')) assert.equal(asciiOf(line).length, widthOf(line), line);
    }
  });

  test('a name in another script is shown as question marks of its width', () => {
    assert.equal(asciiOf('a 日本語 é👩‍👩‍👧‍👦·'), 'a ?????? ???.');
    assert.equal(
      painted([{ text: '━●', bold: true }], { hasColours: true, hasBand: true, isAscii: true }),
      styled('1', '=*'),
    );
  });

  const locales: readonly (readonly [locale: NodeJS.ProcessEnv, expected: boolean])[] = [
    [{}, false],
    [{ LANG: 'en_US.UTF-8' }, true],
    [{ LANG: 'C.utf8' }, true],
    [{ LANG: 'C' }, false],
    [{ LANG: 'de_DE.ISO-8859-1' }, false],
    [{ LANG: 'C', LC_CTYPE: 'C.UTF-8' }, true],
    [{ LANG: 'en_US.UTF-8', LC_CTYPE: 'POSIX' }, false],
    [{ LANG: 'en_US.UTF-8', LC_CTYPE: 'C.UTF-8', LC_ALL: 'C' }, false],
    [{ LANG: 'en_US.UTF-8', LC_CTYPE: '', LC_ALL: '' }, true],
  ];
  for (const [locale, expected] of locales) {
    test(`${JSON.stringify(locale)} ${expected ? 'has' : 'lacks'} UTF-8`, () =>
      assert.equal(showsUtf8(locale), expected));
  }
});
