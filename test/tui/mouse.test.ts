/** What clicks and the wheel do. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '../../src/tui/model.ts';
import type { MouseReport } from '../../src/tui/mouse.ts';
import { update } from '../../src/tui/update/update.ts';
import { alone, press, STORED, screenText, serving, storedKey } from './samples.ts';

/** At the first place on the screen where this text stands. */
function clicked(model: Model, text: string) {
  const lines = screenText(model).split('\n');
  const row = lines.findIndex((line) => line.includes(text));
  assert.ok(row >= 0, text);
  return reported(model, { action: 'click', column: lines[row]?.indexOf(text) ?? 0, row });
}

const reported = (model: Model, report: MouseReport) => update(model, { kind: 'mouse', report });
const wheel = (model: Model, action: 'wheel_up' | 'wheel_down') => reported(model, { action, column: 0, row: 0 });

describe('a click', () => {
  for (const [start, tab, key] of [
    [serving(), '1 Overview', '1'],
    [serving(), '2 Keys', '2'],
    [serving('keys'), '4 Requests', '4'],
    [serving('keys'), '6 Models', '6'],
    [serving('keys'), '7 Groups', '7'],
  ] as const) {
    test(`on the tab ${tab} opens it`, () => assert.deepEqual(clicked(start, tab), press(start, key)));
  }

  test('on a row moves the cursor there, and a second one is Enter', () => {
    const start = serving('keys');
    const moved = clicked(start, 'web-app');
    assert.deepEqual(moved, press(start, 'down', 'down'));
    assert.deepEqual(clicked(moved.model, 'web-app'), press(moved.model, 'enter'));
    assert.deepEqual(clicked(moved.model, 'batch-jobs').model, start);
  });

  test('finds the row in a list that is scrolled', () => {
    const keys = Array.from({ length: 100 }, (_, index) => storedKey(index, `key-${100 + index}`));
    const start = press(alone('keys', { ...STORED, keys }), ...Array<string>(50).fill('down')).model;
    assert.equal(clicked(start, 'key-147').model.lists.keys.cursor, 47);
    assert.equal(clicked(start, 'key-155').model.lists.keys.cursor, 55);
  });

  test('finds it in every list', () => {
    assert.equal(clicked(serving('models'), 'mock/echo').model.lists.models.cursor, 3);
    assert.equal(clicked(serving('usage'), 'laptop').model.lists.usage.cursor, 2);
    assert.equal(clicked(serving('live'), 'upstream_error').model.lists.live.cursor, 3);
  });

  test('elsewhere, or on a dialog, does nothing', () => {
    const start = serving('keys');
    for (const text of ['balance', 'Keys  3', 'NAME', '? help']) assert.deepEqual(clicked(start, text).model, start);
    assert.deepEqual(reported(start, { action: 'click', column: 79, row: 1 }).model, start);
    assert.deepEqual(reported(start, { action: 'click', column: 0, row: 20 }).model, start);
    const asked = press(start, 'd').model;
    assert.deepEqual(reported(asked, { action: 'click', column: 1, row: 6 }), { model: asked, effects: [] });
  });
});

describe('the wheel', () => {
  test('moves the cursor', () => {
    const start = serving('keys');
    assert.deepEqual(wheel(start, 'wheel_down'), press(start, 'down'));
    assert.deepEqual(wheel(wheel(start, 'wheel_down').model, 'wheel_up').model, start);
  });

  test('scrolls dialogs, and closes none', () => {
    const palette = press(serving(), ':').model;
    assert.deepEqual(wheel(palette, 'wheel_down'), press(palette, 'down'));
    for (const key of ['?', '+']) {
      const open = press(serving(), key).model;
      assert.deepEqual(wheel(open, 'wheel_down').model, open);
    }
  });
});
