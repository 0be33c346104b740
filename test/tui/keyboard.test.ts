/** What a terminal sends is read as keys and pastes, however it is cut into pieces. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Input, patienceFor, readInput } from '../../src/tui/keyboard.ts';

const key = (name: string): Input => ({ kind: 'key', key: name });
const paste = (text: string): Input => ({ kind: 'paste', text });

const CASES: readonly (readonly [what: string, sent: string, ...inputs: Input[]])[] = [
  ['a letter', 'q', key('q')],
  ['several at once', 'ab', key('a'), key('b')],
  ['a character of two units', '🔑ä', key('🔑'), key('ä')],
  ['Enter', '\r', key('enter')],
  ['a line feed', '\n', key('enter')],
  ['Tab and Shift-Tab', '\t\u001b[Z', key('tab'), key('shift+tab')],
  ['both codes of Backspace', '\b\u007f', key('backspace'), key('backspace')],
  ['Ctrl-C and Ctrl-U', '\u0003\u0015', key('ctrl+c'), key('ctrl+u')],
  ['arrows', '\u001b[A\u001b[B\u001b[C\u001b[D', key('up'), key('down'), key('right'), key('left')],
  ['arrows of the application mode', '\u001bOA\u001bOB', key('up'), key('down')],
  ['arrows with a modifier', '\u001b[1;5A', key('up')],
  ['PgUp and PgDn', '\u001b[5~\u001b[6~', key('pageup'), key('pagedown')],
  ['Home and End of xterm', '\u001b[H\u001b[F', key('home'), key('end')],
  ['Home and End of the console', '\u001b[1~\u001b[4~', key('home'), key('end')],
  ['Home and End of rxvt', '\u001b[7~\u001b[8~', key('home'), key('end')],
  ['Delete', '\u001b[3~', key('backspace')],
  ['keys that mean nothing here', '\u001b[15~\u001bOP\u001b[24~x', key('x')],
  ['Alt with a letter', '\u001bfx', key('x')],
  ['the answer of a terminal to a question', '\u001b[?2026;2$yx', key('x')],
  ['Escape twice', '\u001b\u001b\u001b[A', key('escape'), key('escape'), key('up')],
  ['a paste', '\u001b[200~q\u0003\r\u001b[A\u001b[201~x', paste('q\u0003\r\u001b[A'), key('x')],
];

describe('a terminal sends', () => {
  for (const [what, sent, ...inputs] of CASES) {
    test(what, () => assert.deepEqual(readInput(sent), { inputs, rest: '' }));
  }

  test('anything in pieces, and the same comes out', () => {
    const sent = CASES.map(([, text]) => text).join('');
    const whole = readInput(sent).inputs;
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(sent.length)), (cuts) => {
        const inputs: Input[] = [];
        let rest = '';
        const places = [0, ...cuts.toSorted((a, b) => a - b), sent.length];
        for (const [index, place] of places.slice(1).entries()) {
          const reading = readInput(rest + sent.slice(places[index], place));
          inputs.push(...reading.inputs);
          rest = reading.rest;
        }
        // A character that is cut in two is put together before it comes here.
        if (!cuts.some((place) => /[\ud800-\udbff]$/.test(sent.slice(0, place)))) assert.deepEqual(inputs, whole);
      }),
    );
  });
});

describe('what is not all there yet', () => {
  const begun = ['\u001b', '\u001b[', '\u001b[1;', '\u001bO', '\u001b[200~half a text'];

  for (const sent of begun) {
    test(`${JSON.stringify(sent)} waits for its rest`, () => {
      assert.deepEqual(readInput(`x${sent}`), { inputs: [key('x')], rest: sent });
    });
  }

  test('is the key Escape where nothing follows', () => {
    assert.deepEqual(readInput('\u001b', true), { inputs: [key('escape')], rest: '' });
  });

  test('is never left over once nothing follows', () => {
    for (const sent of begun) assert.equal(readInput(sent, true).rest, '');
    assert.deepEqual(readInput('\u001b[200~half a text', true).inputs, [paste('half a text')]);
  });

  test('is waited for longer where it is a paste, whose pieces must not be taken for keys', () => {
    assert.ok(patienceFor('\u001b[200~half') > patienceFor('\u001b'));
  });
});
