/** What clicks and the wheel do. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { render } from 'ink';
import { createElement } from 'react';
import { type Clicks, ClicksContext, clickAt } from '../../src/tui/components/clickable.ts';
import { Dashboard } from '../../src/tui/components/dashboard.ts';
import { chosenItem } from '../../src/tui/lists/overview.ts';
import type { Model } from '../../src/tui/model.ts';
import { troublesOf } from '../../src/tui/trouble.ts';
import { update } from '../../src/tui/update/update.ts';
import { dayOf } from './overview-samples.ts';
import { alone, press, STORED, screenText, serving, storedKey } from './samples.ts';
import { VirtualScreen } from './virtual-screen.ts';

/** On the first cell of this text on the screen. */
async function clicked(model: Model, text: string) {
  const lines = screenText(model).split('\n');
  const row = lines.findIndex((line) => line.includes(text));
  assert.ok(row >= 0, text);
  return clickedAt(model, lines[row]?.indexOf(text) ?? 0, row);
}

async function clickedAt(model: Model, column: number, row: number) {
  const clicks: Clicks = new Map();
  const stdout = new VirtualScreen(model) as unknown as NodeJS.WriteStream;
  const drawn = createElement(ClicksContext, { value: clicks }, createElement(Dashboard, { model }));
  const app = render(drawn, { stdout, patchConsole: false, interactive: true });
  await app.waitUntilRenderFlush();
  const on = clickAt(clicks, column, row);
  app.unmount();
  await app.waitUntilExit();
  return update(model, { kind: 'mouse', action: 'click', on });
}

const wheel = (model: Model, action: 'wheel_up' | 'wheel_down') =>
  update(model, { kind: 'mouse', action, on: undefined });

describe('a click', () => {
  for (const [start, tab, key] of [
    [serving(), '1 Overview', '1'],
    [serving(), '2 Keys', '2'],
    [serving('keys'), '4 Requests', '4'],
    [serving('keys'), '6 Models', '6'],
    [serving('keys'), '7 Groups', '7'],
  ] as const) {
    test(`on the tab ${tab} opens it`, async () => assert.deepEqual(await clicked(start, tab), press(start, key)));
  }

  test('on a row moves the cursor there, and a second one is Enter', async () => {
    const start = serving('keys');
    const moved = await clicked(start, 'web-app');
    assert.deepEqual(moved, press(start, 'down', 'down'));
    assert.deepEqual(await clicked(moved.model, 'web-app'), press(moved.model, 'enter'));
    assert.deepEqual((await clicked(moved.model, 'batch-jobs')).model, start);
  });

  test('finds the row in a list that is scrolled', async () => {
    const keys = Array.from({ length: 100 }, (_, index) => storedKey(index, `key-${100 + index}`));
    const start = press(alone('keys', { ...STORED, keys }), ...Array<string>(50).fill('down')).model;
    assert.equal((await clicked(start, 'key-147')).model.lists.keys.cursor, 47);
    assert.equal((await clicked(start, 'key-155')).model.lists.keys.cursor, 55);
  });

  test('finds it in every list', async () => {
    assert.equal((await clicked(serving('models'), 'mock/echo')).model.lists.models.cursor, 3);
    assert.equal((await clicked(serving('usage'), 'laptop')).model.lists.usage.cursor, 2);
    assert.equal((await clicked(serving('live'), 'upstream_error')).model.lists.live.cursor, 3);
  });

  test('finds it beside details, and under a filter', async () => {
    const open = press(serving('keys'), 'enter').model;
    assert.equal((await clicked(open, 'web-app')).model.lists.keys.cursor, 2);
    const typing = press(serving('keys'), '/', 'w', 'e', 'b').model;
    const { lists, keys } = (await clicked(typing, 'web-app')).model;
    assert.deepEqual([lists.keys.isTyping, lists.keys.filter.text, keys.detail?.byModel], [false, 'web', []]);
  });

  test('in the Overview opens what is chosen there by the second one', async () => {
    const start = serving();
    const key = (await clicked(start, 'batch-jobs')).model;
    assert.equal(chosenItem(key)?.kind, 'key');
    assert.equal((await clicked(key, 'batch-jobs')).model.view, 'keys');
    const upstream = (await clicked(start, 'openai ')).model;
    assert.deepEqual(await clicked(upstream, 'openai '), press(upstream, 'enter'));
  });

  test('on the head of a column orders by it, and a second one turns the order round', async () => {
    const byState = (await clicked(serving('keys'), 'STATE')).model;
    assert.deepEqual(byState.lists.keys.sort, { by: 'state', isDown: false });
    assert.deepEqual((await clicked(byState, 'STATE')).model.lists.keys.sort, { by: 'state', isDown: true });
    assert.deepEqual((await clicked(byState, 'BUDGET')).model.lists.keys.sort, { by: 'limit', isDown: true });
    const usage = serving('usage');
    assert.deepEqual((await clicked(usage, 'SHARE')).model, usage, 'nothing is ordered by a picture');
  });

  test('on a range shows it, and in a narrow window the next one', async () => {
    const hour = await clicked(serving(), ' 1h ');
    assert.deepEqual(hour, press(serving(), 't'));
    const wide = { ...serving('usage'), columns: 120 };
    assert.deepEqual(await clicked(wide, ' 7d '), press(wide, ']'));
    assert.equal((await clicked(wide, ' model ')).model.usage.by, 'model');
    assert.deepEqual(await clicked(serving('usage'), '24h'), press(serving('usage'), ']'));
  });

  test('on what is wrong goes there, to each of several', async () => {
    const start: Model = { ...dayOf('wrong', 200, 60), view: 'models' };
    const [first, second] = troublesOf(start);
    for (const trouble of [first, second]) {
      assert.ok(trouble);
      const { view } = (await clicked(start, trouble.text)).model;
      assert.equal(view, trouble.view, trouble.text);
    }
  });

  test('on a hint does what its keys do, also in a dialog', async () => {
    const start = serving('keys');
    for (const [hint, ...keys] of [
      ['Enter more', 'enter'],
      ['l limits', 'l'],
      ['r rotate', 'r'],
      ['? help', '?'],
      ['e d on/off', 'e'],
      ['d on/off', 'd'],
    ] as const)
      assert.deepEqual(await clicked(start, hint), press(start, ...keys), hint);
    assert.deepEqual(await clicked(start, 'more'), press(start, 'enter'), 'all of a hint with one key');
    assert.deepEqual((await clicked(start, 'on/off')).model, start, 'there are two keys for it');
    const asked = press(start, 'd').model;
    assert.deepEqual(await clicked(asked, 'y confirm'), press(asked, 'y'));
    assert.deepEqual(await clicked(asked, 'n or Esc cancel'), press(asked, 'n'));
    const help = press(start, '?').model;
    assert.deepEqual((await clicked(help, 'Enter or Esc close')).model, start);
    const typing = press(start, '/').model;
    assert.deepEqual((await clicked(typing, 'such as')).model, typing);
  });

  test('elsewhere, or beneath a dialog, does nothing', async () => {
    const start = serving('keys');
    for (const text of ['balance', 'Keys  3']) assert.deepEqual((await clicked(start, text)).model, start);
    assert.deepEqual((await clickedAt(start, 79, 1)).model, start);
    assert.deepEqual((await clickedAt(start, 0, 20)).model, start);
    const asked = press(start, 'd').model;
    for (const row of [1, 4, 6]) assert.deepEqual(await clickedAt(asked, 1, row), { model: asked, effects: [] });
  });

  test('in a read-only dashboard changes nothing', async () => {
    const start = { ...serving(), isReadOnly: true };
    const { model, effects } = update(start, { kind: 'mouse', action: 'click', on: { on: 'key', which: '+' } });
    assert.deepEqual([model.dialog, effects], [undefined, []]);
  });
});

describe('the wheel', () => {
  test('moves the cursor', async () => {
    const start = serving('keys');
    assert.deepEqual(wheel(start, 'wheel_down'), press(start, 'down'));
    assert.deepEqual(wheel(wheel(start, 'wheel_down').model, 'wheel_up').model, start);
  });

  test('scrolls dialogs, and closes none', async () => {
    const palette = press(serving(), ':').model;
    assert.deepEqual(wheel(palette, 'wheel_down'), press(palette, 'down'));
    for (const key of ['?', '+']) {
      const open = press(serving(), key).model;
      assert.deepEqual(wheel(open, 'wheel_down').model, open);
    }
  });
});
