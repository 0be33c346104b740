/** Text in terminal cells is cleaned, and exactly as wide as asked. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import stringWidth from 'string-width';
import {
  clean,
  cut,
  cutList,
  cutMiddle,
  fit,
  pad,
  rewrapped,
  toAscii,
  widthOf,
  wrap,
  wrapWhole,
} from '../../../src/operator/text.ts';
import { anyText } from '../../support/any-text.ts';

const text = anyText(40);
const cleanText = text.map(clean);
const width = fc.integer({ min: 1, max: 60 });
const align = fc.constantFrom('left' as const, 'right' as const);

describe('a text', () => {
  test('is fitted to exactly the width asked for, whatever is in it', () => {
    fc.assert(
      fc.property(text, width, align, (each, columns, side) => {
        assert.equal(stringWidth(fit(each, columns, side)), columns);
      }),
    );
  });

  test('that is cleaned never takes a space that follows into its own place', () => {
    const joining = ['\u0600', '\u0d4e', '\u{111c2}', '\u{11a84}', '\u{11f02}'];
    for (const each of joining) assert.equal(stringWidth(`${clean(each)} `), 2, each);
  });

  test('is never wider than it is cut to, at either end or in the middle', () => {
    fc.assert(
      fc.property(cleanText, width, (each, columns) => {
        for (const shown of [cut(each, columns), cutMiddle(each, columns)]) {
          assert.ok(stringWidth(shown) <= columns);
          if (stringWidth(each) <= columns) assert.equal(shown, each);
          else assert.ok(shown.includes('…'));
        }
      }),
    );
  });

  test('is as wide as string-width says, also when measured the quick way', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...'aZ ~─━│╭█▁▏▟…●▲✕é漢'), { maxLength: 20 }), (characters) => {
        assert.equal(widthOf(characters.join('')), stringWidth(characters.join('')));
      }),
    );
  });

  test('loses nothing when wrapped, and no line is too wide', () => {
    const words = fc.array(fc.string({ unit: fc.constantFrom(...'abcdefgh漢é') }), { maxLength: 20 });
    fc.assert(
      fc.property(words, fc.integer({ min: 2, max: 40 }), (list, columns) => {
        const lines = wrap(list.join(' '), columns);
        for (const each of lines) assert.ok(stringWidth(each) <= columns);
        assert.equal(lines.join('').replaceAll(' ', ''), list.join(''));
      }),
    );
  });

  const cases: readonly (readonly [what: string, shown: string, expected: string])[] = [
    ['is not cut by padding', pad('abcdef', 4), 'abcdef'],
    ['is padded', fit('ab', 4), 'ab  '],
    ['is padded on the left', fit('ab', 4, 'right'), '  ab'],
    ['ends in an ellipsis if it is cut', fit('abcdef', 4), 'abc…'],
    ['is not cut within a wide character', fit('漢字漢字', 4), '漢… '],
    ['is not cut within what is seen as one character', fit('e\u0301e\u0301e\u0301', 2), 'e\u0301…'],
    ['is empty if there is no room', cut('abc', 0), ''],
    ['keeps both ends if its middle is cut', cutMiddle('support-staging-155', 15), 'support-st…-155'],
    ['is not cut in the middle if it fits', cutMiddle('abc', 3), 'abc'],
    [
      'that is a list says how many of its items are left out',
      cutList('day 1/5, week 2/20, 24h 1/7', 22),
      'day 1/5, week 2/20 +1',
    ],
    ['that is a list is whole if it fits', cutList('day 1/5, week 2/20', 18), 'day 1/5, week 2/20'],
    ['that is a list keeps its first item', cutList('day 1/5, week 2/20', 10), 'day 1/5 +1'],
    [
      'that is a list of which no item fits has its first cut, and no other joined to it',
      cutList('day 1/5, week 2/20', 8),
      'day … +1',
    ],
    ['that is one item is cut as a list', cutList('day 10.00/20.00', 8), 'day 10.…'],
    ['keeps its first character where there is room for two', cutMiddle('abcdef', 2), 'a…'],
    ['is not cut within a wide character in its middle', cutMiddle('漢字漢字漢字', 8), '漢字…字'],
    ['has its signs and bars in ASCII', toAscii('● ok ▲ ✕ a…b ██▏ █▋'), '* ok ! x a~b ##- ##'],
    ['has a ? for each other column in ASCII', toAscii('é 漢 e\u0301 \u001b[1m'), '? ?? ? \u001b[1m'],
    ['loses whatever could move the cursor', clean('a\u001b[2Jb\nc\u202ed\u2028'), 'a�[2Jb�c�d�'],
    ['keeps every script', clean('漢字 עברית e\u0301 naïve'), '漢字 עברית e\u0301 naïve'],
    ['breaks between words', wrap('one two three', 8).join('|'), 'one two|three'],
    ['keeps the lines of paragraphs that fit', rewrapped('a bb\nccc d\n\nkept\n', 5), 'a bb\nccc d\n\nkept\n'],
    [
      'breaks paragraphs anew of which a line is too wide',
      rewrapped('Use:\n  a long example\none two three\nfour\n\nfive\n', 9),
      'Use:\n  a long example\none two\nthree\nfour\n\nfive\n',
    ],
    ['breaks within a word that is too long', wrap('abcdefgh ij', 4).join('|'), 'abcd|efgh|ij'],
    [
      'keeps whole what is quoted where it breaks between words',
      wrapWhole('no such key: "my app"; list them with `inf-gw keys list`', 24).join('|'),
      'no such key: "my app";|list them with|`inf-gw keys list`',
    ],
    [
      'keeps a command after a colon whole, also where it is longer than a line',
      wrapWhole('it has expired: inf-gw limits set app --expires 30d; then go on', 20).join('|'),
      'it has expired:|inf-gw limits set app --expires 30d;|then go on',
    ],
    [
      'takes no apostrophe for a quote',
      wrapWhole("the provider's own host's name", 16).join('|'),
      "the provider's|own host's name",
    ],
    ['keeps its indent where it breaks', wrapWhole('    at one two', 8).join('|'), '    at|one two'],
    ['that is empty wraps to one empty line', wrap('', 4).join('|'), ''],
  ];
  for (const [what, shown, expected] of cases) test(what, () => assert.equal(shown, expected));
});
