/** The history of the credit: newest first, every amount and note in full, at any width. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { CreditEntry } from '../../src/state/account.ts';
import { after, alone, NOW_MS, press, STORED, screenText } from './samples.ts';

const USD = 1_000_000_000n;
const NOTE = 'invoice 2026-11 of the team that trains the small models';
const ENTRIES: readonly CreditEntry[] = [
  { atMs: NOW_MS - 86_400_000, amountNanos: 1_000n * USD, balanceNanos: 1_000n * USD, note: '' },
  { atMs: NOW_MS - 1_000, amountNanos: -5_500_000n, balanceNanos: 981_770_000_000n, note: 'a slip' },
  { atMs: NOW_MS, amountNanos: 25n * USD, balanceNanos: 1_006_770_000_000n, note: NOTE },
];

const opened = (entries: readonly CreditEntry[], size = { columns: 80, rows: 24 }) =>
  after(alone('overview', STORED, size), { kind: 'credit_history', entries });

test('h asks for the history, and changes nothing', () => {
  assert.deepEqual(press(alone(), 'h'), { model: alone(), effects: [{ kind: 'load_credit' }] });
});

test('the history looks like this', () => {
  const lines = screenText(opened(ENTRIES)).split('\n');
  const box = lines.filter((line) => line.includes('│')).map((line) => line.replace(/^ +│ | *│$/g, ''));
  assert.deepEqual(box, [
    'Credit history',
    'AT (UTC)              AMOUNT (USD)  BALANCE (USD)  NOTE',
    '2026-11-01 12:00:00     +25.000000       1,006.77  invoice 2026-11 of',
    '                                                   the team that trains',
    '                                                   the small models',
    '2026-11-01 11:59:59      -0.005500         981.77  a slip',
    '2026-10-31 12:00:00  +1,000.000000       1,000.00',
    '',
    'Enter or Esc: close',
  ]);
});

test('in a narrow window too, where notes have lines of their own', () => {
  const screen = screenText(opened(ENTRIES, { columns: 60, rows: 24 }));
  for (const part of [
    /-0\.005500/,
    /1,006\.77/,
    /│ {3}a slip/,
    /│ {3}invoice 2026-11 of the team that trains the small/,
  ])
    assert.match(screen, part);
});

test('it scrolls to the oldest, and says where older ones are', () => {
  const many = Array.from({ length: 800 }, (_, index) => ({
    atMs: NOW_MS + index,
    amountNanos: USD,
    balanceNanos: BigInt(index) * USD,
    note: `entry ${index}.`,
  }));
  const start = opened(many);
  assert.match(screenText(start), /entry 799\./);
  const end = press(start, 'end').model;
  assert.match(screenText(end), /entry 300\..*\n.*300 older ones: inf-gw credit history/);
  assert.equal(press(end, 'enter').model.dialog, undefined);
});

test('it says what to do where there is none', () =>
  assert.match(screenText(opened([])), /No credit yet\. Add some with \+\./));

test('it never opens over what has been opened since', () => {
  const form = press(alone(), '+').model;
  assert.deepEqual(after(form, { kind: 'credit_history', entries: ENTRIES }), form);
});
