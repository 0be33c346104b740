/** Where a text stops being JSON: by a table, and wherever V8 says so itself. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { findSyntaxError, positionAt } from '../../../src/wire/json-position.ts';

const MALFORMED: readonly (readonly [text: string, position: string])[] = [
  ['', 'line 1, column 1'],
  [' \n\t', 'line 2, column 2'],
  ['hello', 'line 1, column 1'],
  ['{"a": 1', 'line 1, column 8'],
  ['{"a": 1,}', 'line 1, column 9'],
  ['{"a": 1 "b": 2}', 'line 1, column 9'],
  ['{"a" 1}', 'line 1, column 6'],
  ['{,}', 'line 1, column 2'],
  ["{'a': 1}", 'line 1, column 2'],
  ['[1, 2', 'line 1, column 6'],
  ['[1,]', 'line 1, column 4'],
  ['[1}', 'line 1, column 3'],
  ['[[], {}] x', 'line 1, column 10'],
  ['{"a": tru}', 'line 1, column 10'],
  ['{"a": NaN}', 'line 1, column 7'],
  ['{"a": 01}', 'line 1, column 8'],
  ['{"a": 1.}', 'line 1, column 9'],
  ['{"a": -}', 'line 1, column 8'],
  ['{"a": 1e+}', 'line 1, column 10'],
  ['{"a": "x\ny"}', 'line 1, column 9'],
  ['{"a": "\\q"}', 'line 1, column 9'],
  ['{"a": "\\u12x4"}', 'line 1, column 12'],
  ['{"a": "open', 'line 1, column 12'],
  ['{\r\n  "a": 1,\r\n  "b": x\r\n}', 'line 3, column 8'],
  ['{"\u00e9\u6f22\u{1f600}": x}', 'line 1, column 9'],
];

describe('the position of an error in JSON', () => {
  for (const [text, position] of MALFORMED) {
    test(`is ${position} in ${JSON.stringify(text)}`, () => {
      assert.throws(() => JSON.parse(text));
      assert.equal(positionAt(text, findSyntaxError(text)), position);
    });
  }

  test('is found in 100,000 levels of nesting', () => {
    assert.equal(findSyntaxError('['.repeat(100_000)), 100_000);
    assert.equal(findSyntaxError('{"a":'.repeat(100_000)), 500_000);
  });

  test('is the end of any text that is valid', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        assert.equal(findSyntaxError(text), text.length);
      }),
    );
  });

  test('agrees with V8 where its message has one', () => {
    let compared = 0;
    fc.assert(
      fc.property(
        fc.json(),
        fc.nat(),
        fc.constantFrom('', ',', '}', ']', '"', '1', '.', '\\', 'x', '\n'),
        (json, at, by) => {
          const place = at % (json.length + 1);
          const text = json.slice(0, place) + by + json.slice(place + 1);
          const position = positionOfV8(text);
          if (position === undefined) return;
          compared++;
          assert.equal(findSyntaxError(text), position, text);
        },
      ),
      { numRuns: 3_000 },
    );
    assert.ok(compared > 100, `${compared} texts`);
  });
});

function positionOfV8(text: string): number | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const [, digits] = /at position (\d+)/.exec(String(error)) ?? [];
    return digits === undefined ? undefined : Number(digits);
  }
}
