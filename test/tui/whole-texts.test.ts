/** Whatever must be read is on the screen whole: questions, problems, names to type, figures. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model, View } from '../../src/tui/model.ts';
import { after, alone, endedRow, press, SNAPSHOT, STORED, screenText, serving, storedKey } from './samples.ts';

const LARGE = storedKey(3, 'large', { rpm: 123_456_789, tpm: 123_456_789_012, concurrency: 123_456 });

describe('nothing that must be read is cut off', () => {
  const screens: readonly (readonly [what: string, model: Model])[] = [
    ...['?', '+', 'n', 'd', 'r', 'D', 'm', 'l'].map(
      (key) => [`the dialog of ${key}`, press(serving('keys'), key).model] as const,
    ),
    [
      'every problem of a form',
      press(serving('keys'), 'n', ...Array<string[]>(7).fill(['down', 'x']).flat(), 'enter').model,
    ],
    ['the details of a key', press(serving('keys'), 'enter').model],
    ['the details of a request', press(serving('live'), 'enter').model],
    ['a request that was refused', serving('live', { ...SNAPSHOT, recent: [endedRow(1, 'insufficient_credit')] })],
    ['a new key', after(serving('keys'), { kind: 'key_created', name: 'app', secret: `sk-inf-${'x'.repeat(43)}` })],
    ['a request of an hour ago', serving('live', { ...SNAPSHOT, recent: [endedRow(3_599, 'ok')] })],
    ['large limits, nearly used up', alone('keys', { ...STORED, keys: [LARGE] }, { columns: 160, rows: 24 })],
    ...['overview', 'keys', 'live', 'usage', 'models', 'groups'].map(
      (view) => [`the view ${view}`, serving(view as View)] as const,
    ),
  ];
  for (const [what, model] of screens) {
    test(what, () => assert.doesNotMatch(screenText(model).replaceAll('sk-inf-…', ''), /…(?! 7)/));
  }

  test('the longest name is shown in full where it has to be typed', () => {
    const name = 'n'.repeat(64);
    const model = press(alone('keys', { ...STORED, keys: [storedKey(1, name)] }, { columns: 60, rows: 16 }), 'D').model;
    assert.match(screenText(model), /│ n{56} │\n│ n{8} {48} │/);
  });

  test('what is to be typed is, before what is known of the key', () => {
    const start = alone('keys', { ...STORED, keys: [storedKey(1, 'n'.repeat(64))] }, { columns: 60, rows: 16 });
    const screen = screenText(press(start, 'D').model);
    assert.match(screen, /│ › ▏/);
    assert.doesNotMatch(screen, /last used/);
  });

  test('the field under the cursor is, with what is wrong in it and what to press, in the smallest window', () => {
    const start = alone('keys', STORED, { columns: 60, rows: 16 });
    const wrong = press(start, 'n', ...Array<string[]>(7).fill(['down', 'x']).flat(), 'enter', 'down').model;
    for (const [index, label] of [
      'Tokens per minute',
      'Most in flight',
      'USD per month',
      'Budgets in',
      'Expires',
    ].entries()) {
      const screen = screenText(press(wrong, ...Array<string>(index + 1).fill('down')).model);
      assert.match(screen, new RegExp(`› ${label} .*\\n│? *.*Expected .*[^]*Esc: cancel`), label);
    }
  });

  test('the end of what is typed is visible, however long it is', () => {
    const { model } = press(alone('keys'), 'n', ...'x'.repeat(90), 'e', 'n', 'd');
    assert.match(screenText(model), /…x+end▏/);
    const deleting = press(
      alone('keys', STORED, { columns: 60, rows: 16 }),
      'D',
      ...'y'.repeat(90),
      'e',
      'n',
      'd',
    ).model;
    assert.match(screenText(deleting), /› …y+end▏/);
  });
});
