/** What people type for limits, amounts, names, models and notes: what is taken, and what is expected instead. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  orWord,
  type Reader,
  readAmount,
  readAmountAboveZero,
  readConcurrency,
  readCount,
  readKeyName,
  readModelId,
  readNote,
  readRpm,
  readTpm,
  whyNot,
} from '../../src/operator/input.ts';

type Refused = readonly [text: string, expected: string];
interface Table {
  readonly reader: Reader<unknown>;
  readonly taken: readonly (readonly [text: string, value: unknown])[];
  readonly refused: readonly Refused[];
}

const each = (texts: readonly string[], expected: string): Refused[] => texts.map((text) => [text, expected]);
const same = (...texts: readonly string[]) => texts.map((text) => [text, text] as const);
const whole = (maximum: number) => `Expected a whole number from 1 to ${maximum}.`;

const NO_NUMBERS = [
  '',
  '0',
  '00',
  '-1',
  '+1',
  '1.0',
  '1e3',
  ' 1',
  '1 ',
  '0x10',
  '１',
  'none',
  '9'.repeat(15),
  '1'.repeat(400),
];
const NO_AMOUNTS = [
  '',
  '-1',
  '+1',
  '.5',
  '5.',
  '1,000',
  '1e3',
  ' 1',
  '$1',
  '0.0000000001',
  '1000000000.000000001',
  'none',
];
const AMOUNT = 'Expected an amount of USD such as 25 or 0.50: nine decimals, and a billion, at most.';
const MODEL = 'Expected <provider>/<model>, such as openai/gpt-4o-mini.';
const NOTE = 'Expected 500 characters at most, and no control characters.';
const LENGTH = 'A name has 1 to 64 characters.';
const CONTROL = 'A name holds no control characters.';

const TABLES: Readonly<Record<string, Table>> = {
  'requests a minute': {
    reader: readRpm,
    taken: [
      ['1', 1],
      ['007', 7],
      ['1000000000', 1e9],
    ],
    refused: each([...NO_NUMBERS, '1000000001'], whole(1e9)),
  },
  'tokens a minute': {
    reader: readTpm,
    taken: [
      ['1', 1],
      ['1000000000000', 1e12],
    ],
    refused: each([...NO_NUMBERS, '1000000000001'], whole(1e12)),
  },
  'requests at once': {
    reader: readConcurrency,
    taken: [
      ['60', 60],
      ['1000000000', 1e9],
    ],
    refused: each([...NO_NUMBERS, '1000000001'], whole(1e9)),
  },
  'a number of rows': { reader: readCount(500), taken: [['500', 500]], refused: each(['0', '501'], whole(500)) },
  'an amount': {
    reader: readAmount,
    taken: [
      ['0', 0n],
      ['25', 25_000_000_000n],
      ['0.50', 500_000_000n],
      ['0.000000001', 1n],
      ['1000000000', 10n ** 18n],
    ],
    refused: each(NO_AMOUNTS, AMOUNT),
  },
  'an amount above zero': {
    reader: readAmountAboveZero,
    taken: [['0.000000001', 1n]],
    refused: [...each(NO_AMOUNTS, AMOUNT), ...each(['0', '0.00', '0000'], 'Expected more than 0.')],
  },
  'the name of a key': {
    reader: readKeyName,
    taken: same('a', 'my app', 'x'.repeat(64), '😀'.repeat(64), 'naïve', 'שלום', '漢字', 'e\u0301', '-x', 'key_short'),
    refused: [
      ...each(['', 'x'.repeat(65), '😀'.repeat(65)], LENGTH),
      ...each([' a', 'a ', ' ', '\ta', 'a\n'], 'A name does not begin or end with a space.'),
      ...each(['a\u0007b', 'a\u001b[0mb', 'a\nb', 'a\u202eb', 'a\u200bb', 'a\u2028b', 'a\ud800b'], CONTROL),
      ...each([`key_${'0'.repeat(26)}`], 'A name must not look like the id of a key.'),
    ],
  },
  'a model': {
    reader: readModelId,
    taken: same('openai/gpt-4o-mini', 'a/b/c', 'a//'),
    refused: each(['', 'echo', '/echo', 'mock/', 'mock/ echo', ' mock/echo', 'mo ck/echo', 'mock/echo '], MODEL),
  },
  'a note': {
    reader: readNote,
    taken: same('', ' for March ', 'x'.repeat(500), 'שלום 😀'),
    refused: each(['x'.repeat(501), 'a\nb', 'a\tb', '\u001b[2J', '\u0085'], NOTE),
  },
  'a word beside numbers': {
    reader: orWord('default', readRpm),
    taken: [
      ['default', 'default'],
      ['5', 5],
    ],
    refused: each(['Default', 'none', ''], whole(1e9)),
  },
};

for (const [what, { reader, taken, refused }] of Object.entries(TABLES)) {
  describe(what, () => {
    test('is read', () => {
      for (const [text, value] of taken) assert.deepEqual(reader(text), { ok: true, value }, JSON.stringify(text));
    });

    test('is refused, with what was expected as a sentence', () => {
      for (const [text, expected] of refused) {
        assert.deepEqual(reader(text), { ok: false, expected }, JSON.stringify(text.slice(0, 80)));
        assert.match(expected, /^[A-Z].*\.$/);
      }
    });
  });
}

test('a change that was not made says why, and what to do', () => {
  assert.match(
    whyNot({ kind: 'no_such_key' }, 'a"b'),
    /^there is no key "a\\"b"; `.* keys list` shows those there are$/,
  );
  assert.match(whyNot({ kind: 'deleted' }, 'app'), /^the key "app" was deleted, which is for ever; make another/);
  assert.match(whyNot({ kind: 'name_taken' }, 'app'), /^there is a key named "app" already; take another name/);
});
