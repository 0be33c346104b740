/** The colours are readable in the themes of terminals, and terminals with less show less. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { widthOf } from '../../src/operator/text.ts';
import { backgroundIn } from '../../src/tui/background.ts';
import { asciiOf } from '../../src/tui/draw/ascii.ts';
import { rgbOf } from '../../src/tui/draw/svg.ts';
import { VIEWS } from '../../src/tui/model.ts';
import { type Background, lookOf, showsUtf8, THEMES } from '../../src/tui/theme.ts';
import { alone, press, screenText, serving } from './samples.ts';

type Colour = readonly [red: number, green: number, blue: number];

/** The backgrounds of themes in use. */
const BACKGROUNDS: Readonly<Record<Background, Readonly<Record<string, string>>>> = {
  dark: {
    'GitHub Dark': '0d1117',
    'Solarized Dark': '002b36',
    'One Dark': '282c34',
    'VS Code Dark+': '1e1e1e',
    'macOS Pro': '000000',
    Dracula: '282a36',
    'Gruvbox Dark': '282828',
    Nord: '2e3440',
    Monokai: '272822',
    Ubuntu: '300a24',
  },
  light: {
    'GitHub Light': 'ffffff',
    'Solarized Light': 'fdf6e3',
    'One Light': 'fafafa',
    'VS Code Light+': 'ffffff',
    'macOS Basic': 'ffffff',
    'Gruvbox Light': 'fbf1c7',
  },
};
/** As WCAG asks for text. */
const LEAST_CONTRAST = 4.5;

function hex(text: string): Colour {
  const level = (at: number) => Number.parseInt(text.slice(at, at + 2), 16);
  return [level(0), level(2), level(4)];
}

function colourOf(name: string): Colour {
  return rgbOf(Number(/\d+(?=\))/.exec(name)?.[0]));
}

function luminance(colour: Colour): number {
  const [red = 0, green = 0, blue = 0] = colour.map((level) => {
    const share = level / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: Colour, other: Colour): number {
  const [less = 0, more = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (more + 0.05) / (less + 0.05);
}

describe('a text in a colour', () => {
  for (const background of ['dark', 'light'] as const) {
    const { tones, dim, band, bandText } = THEMES[background];
    const colours = Object.entries({ ...tones, dim });
    for (const [theme, behind] of Object.entries(BACKGROUNDS[background])) {
      test(`has a contrast of 4.5:1 on ${theme}`, () => {
        for (const [tone, colour] of colours) {
          const ratio = contrast(colourOf(colour), hex(behind));
          assert.ok(ratio >= LEAST_CONTRAST, `${tone}: ${ratio.toFixed(2)}`);
        }
      });
    }

    test(`has it on the ${background} band of the row under the cursor`, () => {
      for (const [tone, colour] of [...colours, ['text', bandText] as const]) {
        const ratio = contrast(colourOf(colour), colourOf(band));
        assert.ok(ratio >= LEAST_CONTRAST, `${tone}: ${ratio.toFixed(2)}`);
      }
    });
  }

  test('has none where the terminal has few colours, or the user wants none', () => {
    const hasColours = (env: NodeJS.ProcessEnv) => lookOf(env, 'dark').theme !== undefined;
    for (const TERM of ['xterm-256color', 'xterm', 'tmux', 'xterm-kitty'])
      assert.equal(hasColours({ TERM }), true, TERM);
    for (const TERM of ['linux', 'vt220', 'ansi']) assert.equal(hasColours({ TERM }), false, TERM);
    assert.equal(hasColours({ TERM: 'xterm-256color', NO_COLOR: '1' }), false);
  });
});

test('the answer of a terminal has its background', () => {
  const answers: readonly (readonly [answer: string, expected: Background | undefined])[] = [
    ['\u001b]11;rgb:fdfd/f6f6/e3e3\u001b\\\u001b[?62;c', 'light'],
    ['\u001b]11;rgb:0000/2b2b/3636\u0007', 'dark'],
    ['\u001b]11;rgb:ff/ff/ff\u0007', 'light'],
    ['\u001b]11;rgba:1e1e/1e1e/1e1e/ffff\u0007', 'dark'],
    ['\u001b[?1;2c', undefined],
    ['', undefined],
  ];
  for (const [answer, expected] of answers) assert.equal(backgroundIn(answer), expected, JSON.stringify(answer));
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
    assert.equal(asciiOf('━●'), '=*');
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
