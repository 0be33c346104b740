/**
 * Text fields: what each key does to a text and its caret, and how much of it a field shows.
 * In these tables `|` is the caret.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lineWidth } from '../../src/tui/draw/line.ts';
import { edited, MAX_TYPED_CHARACTERS, type Typed, typed, typedSpans } from '../../src/tui/draw/typed.ts';
import { textOf } from './samples.ts';

const E_ACUTE = 'e\u0301';
const FAMILY = '👨‍👩‍👧';
const FLAG = '🇳🇱';

function withCaret(marked: string): Typed {
  const caret = marked.indexOf('|');
  assert.ok(caret >= 0, marked);
  return { text: marked.replace('|', ''), caret };
}

function marked({ text, caret }: Typed): string {
  return `${text.slice(0, caret)}|${text.slice(caret)}`;
}

describe('a key edits the text at the caret', () => {
  const cases: readonly (readonly [before: string, key: string, after: string])[] = [
    ['|', 'a', 'a|'],
    ['ac|', 'd', 'acd|'],
    ['a|c', 'b', 'ab|c'],
    ['a|c', ' ', 'a |c'],
    ['a|c', '😀', 'a😀|c'],
    ['ab|', 'left', 'a|b'],
    ['|ab', 'left', '|ab'],
    ['a|b', 'right', 'ab|'],
    ['ab|', 'right', 'ab|'],
    [`a${FAMILY}|b`, 'left', `a|${FAMILY}b`],
    [`a|${FAMILY}b`, 'right', `a${FAMILY}|b`],
    [`${E_ACUTE}|`, 'left', `|${E_ACUTE}`],
    [`${FLAG}${FLAG}|`, 'left', `${FLAG}|${FLAG}`],
    ['ab|cd', 'home', '|abcd'],
    ['ab|cd', 'ctrl+a', '|abcd'],
    ['ab|cd', 'end', 'abcd|'],
    ['ab|cd', 'ctrl+e', 'abcd|'],
    ['ab|cd', 'backspace', 'a|cd'],
    ['|cd', 'backspace', '|cd'],
    [`a${FAMILY}|b`, 'backspace', 'a|b'],
    [`${E_ACUTE}|`, 'backspace', '|'],
    ['ab|cd', 'delete', 'ab|d'],
    ['ab|', 'delete', 'ab|'],
    [`a|${FAMILY}b`, 'delete', 'a|b'],
    [`|${E_ACUTE}x`, 'delete', '|x'],
    ['one two|', 'ctrl+w', 'one |'],
    ['one two  |', 'ctrl+w', 'one |'],
    ['one tw|o', 'ctrl+w', 'one |o'],
    ['one|', 'ctrl+w', '|'],
    ['  |', 'ctrl+w', '|'],
    ['|one', 'ctrl+w', '|one'],
    ['openai/gpt-4o|', 'ctrl+w', '|'],
    ['ab|cd', 'ctrl+u', '|cd'],
    ['ab|cd', 'ctrl+k', 'ab|'],
  ];
  for (const [before, key, after] of cases) {
    test(`${before} ${key}`, () => {
      const result = edited(withCaret(before), key);
      assert.equal(result === undefined ? undefined : marked(result), after);
    });
  }

  test('and no other key does', () => {
    for (const key of ['up', 'down', 'enter', 'escape', 'tab', 'shift+tab', 'pageup', 'ctrl+c', 'ctrl+x'])
      assert.equal(edited(withCaret('a|b'), key), undefined, key);
  });

  test('until it is as long as it may be, which still can be edited', () => {
    const full = typed('x'.repeat(MAX_TYPED_CHARACTERS));
    assert.equal(edited(full, 'y'), undefined);
    assert.equal(edited(full, 'backspace')?.text.length, MAX_TYPED_CHARACTERS - 1);
  });
});

describe('a field shows', () => {
  /** The caret as `[x]` on a character, and as the bar after the last one. */
  const shown = (text: string, width: number) => {
    const line = typedSpans(withCaret(text), width, { tone: 'accent' });
    assert.ok(lineWidth(line) <= width, `${lineWidth(line)} of ${width} columns`);
    return line.map(({ text: part, inverse = false }) => (inverse ? `[${part}]` : part)).join('');
  };
  const cases: readonly (readonly [what: string, text: string, width: number, expected: string])[] = [
    ['the caret alone where nothing is typed', '|', 10, '▏'],
    ['the caret after the text', 'abc|', 10, 'abc▏'],
    ['the caret on a character', 'a|bc', 10, 'a[b]c'],
    ['the caret on the first character', '|abc', 10, '[a]bc'],
    ['a text that just fits', 'abcd|', 5, 'abcd▏'],
    ['a text that just fits around its caret', 'ab|cde', 5, 'ab[c]de'],
    ['the end of a longer one', 'abcdefgh|', 5, '…fgh▏'],
    ['the start of a longer one', '|abcdefgh', 5, '[a]bcd…'],
    ['the middle of a longer one', 'abcd|efgh', 5, '…d[e]f…'],
    ['no ellipsis for what is shown', 'abcdefg|h', 5, '…efg[h]'],
    ['characters that are two columns wide', '日本語|', 5, '…語▏'],
    ['the caret on such a character', '日|本語', 6, '日[本]語'],
    ['what cannot be shown as such', 'a|\u0007b', 10, 'a[\ufffd]b'],
    ['a mark that has nothing to stand on', '|\u0301', 10, '[\ufffd]'],
  ];
  for (const [what, text, width, expected] of cases) test(what, () => assert.equal(shown(text, width), expected));

  test('the caret at every place of every text', () => {
    const text = `ab日${E_ACUTE}c${FAMILY}d 語fgh`;
    let at: Typed = { text, caret: 0 };
    for (;;) {
      for (const width of [10, 12, 40]) {
        const line = typedSpans(at, width);
        assert.ok(lineWidth(line) <= width, `${textOf(line)}: ${lineWidth(line)} of ${width} columns`);
        assert.ok(line.some(({ text: part, inverse }) => inverse === true || part === '▏'));
      }
      const next = edited(at, 'right');
      if (next === undefined || next.caret === at.caret) break;
      at = next;
    }
  });
});
