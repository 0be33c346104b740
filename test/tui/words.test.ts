/** The words of a filter: how they are read, and what they find. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { exactWord, numberOf, passes, type Value, wordsOf } from '../../src/tui/lists/words.ts';

const ROW: Readonly<Record<string, Value>> = {
  name: 'Web App',
  state: 'disabled',
  model: 'openai/gpt-4o:free',
  cost: 1.5,
  tokens: 12_000,
  age: 5_400,
  limit: 85,
  err: '',
  upstream: undefined,
};
const TIMES = ['age'];

function finds(filter: string): boolean {
  const content = (field: string) => ({ value: ROW[field], isTime: TIMES.includes(field) });
  const texts = Object.values(ROW).filter((value) => typeof value === 'string');
  const hasText = (text: string) => texts.some((each) => each.toLowerCase().includes(text));
  return passes(wordsOf(filter, Object.keys(ROW)), content, hasText);
}

const CASES: readonly (readonly [filter: string, isFound: boolean, why: string])[] = [
  ['', true, 'nothing asked'],
  ['web', true, 'a part of a text, in any case'],
  ['WEB disabled', true, 'every word passes'],
  ['web enabled', false, 'one word does not'],
  ['state:dis', true, 'a part of the field'],
  ['state:app', false, 'the text is in another field'],
  ['state=disabled', true, 'the whole field'],
  ['state=dis', false, 'not the whole field'],
  ['name="web app"', true, 'blanks inside quotes'],
  ['"web app"', true, 'a text with a blank'],
  ['name:"web a', true, 'quotes that are still open'],
  ['-state:disabled', false, 'not this'],
  ['-state:enabled', true, 'anything but this'],
  ['-web', false, 'a text that must not be there'],
  ['-', true, 'a lone minus is text'],
  ['cost>1', true, 'more'],
  ['cost>1.5', false, 'not more'],
  ['cost>=1.5', true, 'as much'],
  ['cost<1.5', false, 'not less'],
  ['cost:1.5', true, 'exactly'],
  ['cost:1', false, 'not a part of a number'],
  ['tokens>10k', true, 'thousands'],
  ['tokens<1m', true, 'millions'],
  ['tokens>1m', false, 'and not minutes'],
  ['age<2h', true, 'hours'],
  ['age>90m', false, 'minutes'],
  ['age>=90m', true, 'minutes, exactly'],
  ['limit>80%', true, 'percent'],
  ['err:*', false, 'nothing in the field'],
  ['-err:*', true, 'as wanted'],
  ['state:*', true, 'anything in the field'],
  ['upstream:x', false, 'a field without a value'],
  ['-upstream:x', true, 'passes whatever it must not be'],
  ['state:', true, 'a word that is still being typed'],
  ['cost>', true, 'a comparison that is still being typed'],
  ['gpt-4o:free', true, 'a colon after what is no field'],
  ['nothing:disabled', false, 'an unknown field is text'],
];

describe('a filter', () => {
  for (const [filter, isFound, why] of CASES) {
    test(`${JSON.stringify(filter)}: ${why}`, () => assert.equal(finds(filter), isFound));
  }

  test('never fails, whatever is typed', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ae:=<>-"* .1mk%\\') }), (filter) => void finds(filter)),
    );
  });

  test('of an exact word finds the value it was made from, and nothing longer', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9 :=<>*.-]{1,20}$/), (value) => {
        const find = (name: string) =>
          passes(
            wordsOf(exactWord('name', value), ['name']),
            () => ({ value: name, isTime: false }),
            () => false,
          );
        assert.equal(find(value), true);
        if (value !== '*') assert.equal(find(`${value}x`), false);
      }),
    );
  });
});

test('numbers and times', () => {
  const read = ['7', '1.5', '.5', '10k', '2m', '90%', '1.', 'x', '', '-1', '1h'].map((text) => numberOf(text, false));
  assert.deepEqual(read, [7, 1.5, 0.5, 10_000, 2_000_000, 90, 1, undefined, undefined, undefined, 1]);
  const times = ['7', '250ms', '5s', '2m', '2min', '3h', '1d'].map((text) => numberOf(text, true));
  assert.deepEqual(times, [7, 0.25, 5, 120, 120, 10_800, 86_400]);
});
