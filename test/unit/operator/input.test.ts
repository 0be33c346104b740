/**
 * What people type for limits, amounts, names, models, notes and times: what is accepted, and what
 * was expected instead.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  keywordOr,
  type Reader,
  readAmount,
  readAmountAboveZero,
  readCount,
  readKeyName,
  readModelId,
  readMoment,
  readNote,
  readPath,
} from '../../../src/operator/input.ts';
import { TERMS } from '../../../src/operator/terms.ts';

type Rejected = readonly [text: string, expected: string];
interface Table {
  readonly reader: Reader<unknown>;
  readonly accepted: readonly (readonly [text: string, value: unknown])[];
  readonly rejected: readonly Rejected[];
}

const each = (texts: readonly string[], expected: string): Rejected[] => texts.map((text) => [text, expected]);
const same = (...texts: readonly string[]) => texts.map((text) => [text, text] as const);
const whole = (maximum: number) => `Expected a whole number from 1 to ${maximum}.`;

const NOT_NUMBERS = [
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
const NOT_AMOUNTS = [
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
const AMOUNT = 'Expected an amount in USD such as 25 or 0.50, up to a billion, with at most nine decimals.';
const MODEL = 'Expected <provider>/<model>, such as openai/gpt-4o-mini.';
const NOTE = 'Expected at most 500 characters, without control or format characters.';
const MOMENT =
  'Expected a date (2026-11-01), a time (2026-11-01T12:00:00Z), today, yesterday, or how long ago (7d, 12h).';
const NOW_MS = Date.UTC(2026, 10, 21, 12);
const LENGTH = 'A name has 1 to 64 characters.';
const CONTROL = 'A name cannot contain control characters.';

const TABLES: Readonly<Record<string, Table>> = {
  'requests per minute': {
    reader: TERMS.rpm.reader(NOW_MS),
    accepted: [
      ['1', 1],
      ['007', 7],
      ['1000000000', 1e9],
    ],
    rejected: each([...NOT_NUMBERS, '1000000001'], whole(1e9)),
  },
  'tokens per minute': {
    reader: TERMS.tpm.reader(NOW_MS),
    accepted: [
      ['1', 1],
      ['1000000000000', 1e12],
    ],
    rejected: each([...NOT_NUMBERS, '1000000000001'], whole(1e12)),
  },
  'concurrent requests': {
    reader: TERMS.concurrency.reader(NOW_MS),
    accepted: [
      ['60', 60],
      ['1000000000', 1e9],
    ],
    rejected: each([...NOT_NUMBERS, '1000000001'], whole(1e9)),
  },
  'a number of rows': { reader: readCount(500), accepted: [['500', 500]], rejected: each(['0', '501'], whole(500)) },
  'an amount': {
    reader: readAmount,
    accepted: [
      ['0', 0n],
      ['25', 25_000_000_000n],
      ['0.50', 500_000_000n],
      ['0.000000001', 1n],
      ['1000000000', 10n ** 18n],
    ],
    rejected: each(NOT_AMOUNTS, AMOUNT),
  },
  'an amount above zero': {
    reader: readAmountAboveZero,
    accepted: [['0.000000001', 1n]],
    rejected: [...each(NOT_AMOUNTS, AMOUNT), ...each(['0', '0.00', '0000'], 'Expected more than 0.')],
  },
  'the name of a key': {
    reader: readKeyName,
    accepted: same(
      'a',
      'my app',
      'x'.repeat(64),
      '😀'.repeat(64),
      'naïve',
      'שלום',
      '漢字',
      'e\u0301',
      '-x',
      'key_short',
    ),
    rejected: [
      ...each(['', 'x'.repeat(65), '😀'.repeat(65)], LENGTH),
      ...each([' a', 'a ', ' ', '\ta', 'a\n'], 'A name cannot begin or end with a space.'),
      ...each(['a\u0007b', 'a\u001b[0mb', 'a\nb', 'a\u202eb', 'a\u200bb', 'a\u2028b', 'a\ud800b'], CONTROL),
      ...each([`key_${'0'.repeat(26)}`], 'A name cannot look like the id of a key or a group.'),
    ],
  },
  'a model': {
    reader: readModelId,
    accepted: same('openai/gpt-4o-mini', 'a/b/c', 'a//'),
    rejected: [
      ...each(['', 'echo', '/echo', 'mock/', 'mock/ echo', ' mock/echo', 'mo ck/echo', 'mock/echo '], MODEL),
      ...each(['mock/\u001b[2J', 'mock/\u202eohce', 'mock/e\u200bcho', 'mock/\u2028', 'mock/\u0085'], MODEL),
      ...each(['mock/a,mock/b', ','], 'Expected one model, without a comma: name each model on its own.'),
      ...each(['mock/*', '*'], 'An allowlist has no wildcards: name each model, or clear the allowlist to allow all.'),
    ],
  },
  'a note': {
    reader: readNote,
    accepted: same('', ' for March ', 'x'.repeat(500), 'שלום 😀'),
    rejected: each(
      ['x'.repeat(501), 'a\nb', 'a\tb', '\u001b[2J', '\u0085', 'a\u202eb', 'a\u2066b', 'a\u200bb', 'a\u2029b'],
      NOTE,
    ),
  },
  'a file name': {
    reader: readPath,
    accepted: [
      ['usage.csv', 'usage.csv'],
      [' out/q1.csv ', 'out/q1.csv'],
    ],
    rejected: each(['', ' '], 'Expected a file name.'),
  },
  'a time': {
    reader: readMoment(NOW_MS),
    accepted: [
      ['2026-11-01', Date.UTC(2026, 10, 1)],
      ['2026-11-01T12:30', Date.UTC(2026, 10, 1, 12, 30)],
      ['2026-11-01 12:30:15.250Z', Date.UTC(2026, 10, 1, 12, 30, 15, 250)],
      ['2026-11-01T12:30+02:00', Date.UTC(2026, 10, 1, 10, 30)],
      ['15m', NOW_MS - 15 * 60_000],
      ['12h', NOW_MS - 12 * 3_600_000],
      ['7d', NOW_MS - 7 * 86_400_000],
      ['2w', NOW_MS - 14 * 86_400_000],
      ['today', NOW_MS - (NOW_MS % 86_400_000)],
      ['yesterday', NOW_MS - (NOW_MS % 86_400_000) - 86_400_000],
    ],
    rejected: each(['', 'tomorrow', '7y', '2026-02-30', '2026-11-01T25:00', '-7d', '1.5h'], MOMENT),
  },
  'a keyword or a number': {
    reader: keywordOr('default', readCount(5)),
    accepted: [
      ['default', 'default'],
      ['5', 5],
    ],
    rejected: each(['Default', 'none', ''], whole(5)),
  },
};

for (const [what, { reader, accepted, rejected }] of Object.entries(TABLES)) {
  describe(what, () => {
    test('is accepted', () => {
      for (const [text, value] of accepted) assert.deepEqual(reader(text), { ok: true, value }, JSON.stringify(text));
    });

    test('is rejected with a sentence that says what was expected', () => {
      for (const [text, expected] of rejected) {
        assert.deepEqual(reader(text), { ok: false, expected }, JSON.stringify(text.slice(0, 80)));
        assert.match(expected, /^[A-Z].*\.$/);
      }
    });
  });
}
