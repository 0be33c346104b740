/**
 * Key presses and events: moving between views and rows, filter and order, details, rows that go.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { currentKey, shownKeys } from '../../src/tui/lists/keys.ts';
import { shownRequests } from '../../src/tui/lists/live.ts';
import { type Model, type RANGES, VIEWS } from '../../src/tui/model.ts';
import type { Effect } from '../../src/tui/update/step.ts';
import {
  after,
  alone,
  endedRow,
  keyId,
  letters,
  press,
  requestRow,
  SNAPSHOT,
  STORED,
  serving,
  storedKey,
  usageRow,
} from './samples.ts';

const keys = serving('keys');
const live = serving('live');
const usage = serving('usage');
const MANY = {
  ...STORED,
  keys: Array.from({ length: 100 }, (_, i) => storedKey(i, `key-${String(i).padStart(3, '0')}`)),
};
const many = alone('keys', MANY);

const nameAt = (model: Model) => currentKey(model)?.record.name;
const shownNames = (model: Model) => shownKeys(model).map(({ record }) => record.name);

type Case = readonly [
  what: string,
  start: Model,
  keys: readonly string[],
  look: (model: Model) => unknown,
  expected: unknown,
];

const view = (model: Model) => model.view;
const MOVES: readonly Case[] = [
  ...VIEWS.map((each, index): Case => [`${index + 1} opens ${each}`, live, [String(index + 1)], view, each]),
  ['Tab goes to the next view', alone(), ['tab'], view, 'keys'],
  ['Tab wraps around', alone(), VIEWS.map(() => 'tab'), view, 'overview'],
  ['Shift-Tab goes back', alone(), ['shift+tab'], view, 'groups'],
  ['there is no eighth view and no view 0', live, ['8', '0', '9'], view, 'live'],
  ['g and G go to the first and the last row', many, ['G', 'up'], nameAt, 'key-098'],
  ['g goes to the first row', many, ['G', 'g'], nameAt, 'key-000'],
  ['Ctrl-D and Ctrl-U move by half a page', many, ['ctrl+d', 'ctrl+d', 'ctrl+u'], nameAt, 'key-008'],
  ['down and up move by a row', many, ['down', 'down', 'up'], nameAt, 'key-001'],
  ['so do j and k', many, ['j', 'j', 'k'], nameAt, 'key-001'],
  ['a page is what the screen has room for', many, ['pagedown', 'pagedown', 'pageup'], nameAt, 'key-016'],
  ['End goes to the last row, Home to the first', many, ['end', 'up'], nameAt, 'key-098'],
  ['Home goes to the first row', many, ['end', 'home'], nameAt, 'key-000'],
  ['the cursor stops at the first row', many, ['up', 'pageup'], nameAt, 'key-000'],
  ['the cursor stops at the last row', many, ['end', 'down', 'pagedown'], nameAt, 'key-099'],
  ['the rows of Live can be moved through', live, ['down', 'down'], (model) => model.lists.live.cursor, 2],
  ['so can those of Usage', usage, ['down', 'down', 'down'], (model) => model.lists.usage.cursor, 2],
  ['so can those of Models', serving('models'), ['end'], (model) => model.lists.models.cursor, 3],
  ['each view keeps its cursor', keys, ['down', '3', '2'], nameAt, 'laptop'],
  ['without rows nothing moves', alone('live'), ['down', 'end'], (model) => model.lists.live.cursor, 0],
];

const FILTERS: readonly Case[] = [
  ['a filter narrows the list as it is typed', keys, ['/', 'w', 'e'], shownNames, ['web-app']],
  ['it ignores case', keys, ['/', ...letters('LAPTOP')], shownNames, ['laptop']],
  ['it finds a state', keys, ['/', ...letters('disabled')], shownNames, ['laptop']],
  ['it finds an id', keys, ['/', ...letters(keyId(2))], shownNames, ['batch-jobs']],
  ['it finds the end of a key', keys, ['/', ...letters('xx1')], shownNames, ['web-app']],
  [
    'characters that are commands elsewhere are typed',
    keys,
    ['/', ...letters('Dq?+1')],
    (model) => model.lists.keys.filter.text,
    'Dq?+1',
  ],
  ['Backspace removes a character', keys, ['/', 'w', 'z', 'backspace'], shownNames, ['web-app']],
  ['Backspace removes a whole emoji', keys, ['/', '😀', 'backspace'], (model) => model.lists.keys.filter.text, ''],
  ['Ctrl-U clears it', keys, ['/', 'w', 'z', 'ctrl+u'], (model) => model.lists.keys.filter.text, ''],
  [
    'Enter stops typing and keeps the filter',
    keys,
    ['/', 'l', 'enter', 'd'],
    (model) => model.lists.keys.filter.text,
    'l',
  ],
  [
    'so does Esc',
    keys,
    ['/', 'l', 'escape'],
    (model) => [model.lists.keys.isTyping, model.lists.keys.filter.text],
    [false, 'l'],
  ],
  ['a second Esc drops the filter', keys, ['/', 'l', 'escape', 'escape'], (model) => shownNames(model).length, 3],
  [
    'keys that are not characters are ignored',
    keys,
    ['/', 'up', 'tab', 'ctrl+a', 'f1'],
    (model) => model.lists.keys.filter.text,
    '',
  ],
  ['the cursor moves to the first match', keys, ['end', '/', 'l', 'a'], nameAt, 'laptop'],
];

const ORDERED = alone('keys', {
  ...STORED,
  keys: [
    storedKey(3, 'b', {}, { requests: 3, tokens: 10, costNanos: 2n }),
    storedKey(1, 'c', {}, { requests: 1, tokens: 30, costNanos: 1n }),
    storedKey(2, 'a', {}, { requests: 2, tokens: 20, costNanos: 3n }),
  ],
});
const ORDERS: readonly Case[] = [
  ['by name', ORDERED, [], shownNames, ['a', 'b', 'c']],
  ['by name from Z on', ORDERED, ['S'], shownNames, ['c', 'b', 'a']],
  ['by requests', ORDERED, letters('sssss'), shownNames, ['b', 'a', 'c']],
  ['by tokens', ORDERED, letters('ssssss'), shownNames, ['c', 'a', 'b']],
  ['by cost', ORDERED, letters('sssssss'), shownNames, ['a', 'b', 'c']],
  ['by cost, the smallest first', ORDERED, letters('sssssssS'), shownNames, ['c', 'b', 'a']],
  ['by age, newest first', ORDERED, letters('ssssssssss'), shownNames, ['c', 'a', 'b']],
  ['by name again', ORDERED, letters('ssssssssssss'), shownNames, ['a', 'b', 'c']],
  ['a new order starts at its top', ORDERED, ['end', 's'], (model) => model.lists.keys.cursor, 0],
];

const NOTHING: readonly Case[] = [keys, live, usage, alone(), serving('models')].flatMap((start) =>
  ['z', 'F', 'ctrl+x', 'insert', '\u0001', '漢'].map(
    (key): Case => [`${start.view}: ${JSON.stringify(key)}`, start, [key], (model) => model, start],
  ),
);

for (const [title, cases] of Object.entries({
  'keys move': MOVES,
  'the filter of Keys': FILTERS,
  'the order of Keys': ORDERS,
  'an unassigned key does nothing': NOTHING,
})) {
  describe(title, () => {
    for (const [what, start, pressed, look, expected] of cases) {
      test(what, () => assert.deepEqual(look(press(start, ...pressed).model), expected));
    }
  });
}

type Asked = readonly [what: string, start: Model, keys: readonly string[], effects: readonly Effect[]];
const load = (by: 'key' | 'model' | 'app' | 'hour', range: (typeof RANGES)[number]): Effect => ({
  kind: 'load_usage',
  by,
  range,
  of: {},
});
const ASKED: readonly Asked[] = [
  ['q leaves', live, ['q'], [{ kind: 'quit' }]],
  ['Ctrl-C leaves from anywhere', press(keys, '/').model, ['ctrl+c'], [{ kind: 'quit' }]],
  ['Ctrl-C leaves from a form', keys, ['n', 'ctrl+c'], [{ kind: 'quit' }]],
  ['R has the config read', alone(), ['R'], [{ kind: 'reload' }]],
  ['the details of a key are read when they are opened', keys, ['enter'], [{ kind: 'load_key', keyId: keyId(2) }]],
  ['and again for the next key', keys, ['enter', 'down'], [2, 3].map((id) => ({ kind: 'load_key', keyId: keyId(id) }))],
  ['details that are shut read nothing', keys, ['enter', 'escape', 'down'], [{ kind: 'load_key', keyId: keyId(2) }]],
  [
    'a key is enabled at once',
    keys,
    ['e'],
    [{ kind: 'act', action: { kind: 'set_state', keyId: keyId(2), state: 'enabled' } }],
  ],
  [
    'where no key is, nothing can be done to it',
    alone('keys', { ...STORED, keys: [] }),
    ['e', 'd', 'D', 'r', 'l', 'm', 'enter'],
    [],
  ],
  ['figures are read when Usage is opened', alone(), ['5'], [load('key', '24h')]],
  [
    'a model leads to who uses it, over the month that its row has the figures of',
    serving('models'),
    ['down', 'enter'],
    [{ kind: 'load_usage', by: 'key', range: 'this month', of: { model: 'openai/fast' } }],
  ],
  ['by Tab as well', serving('requests'), ['tab'], [load('key', '24h')]],
  ['the next group', usage, ['right'], [load('model', '24h')]],
  ['groups go round', usage, ['left'], [load('hour', '24h')]],
  ['the next range', usage, [']'], [load('key', '7d')]],
  ['ranges go round', usage, ['[', '['], [load('key', 'today'), load('key', 'all')]],
  ['the range before', usage, ['['], [load('key', 'today')]],
  ['a range stays when the group changes', usage, [']', 'right'], [load('key', '7d'), load('model', '7d')]],
];

test('keys are sorted only once while nothing changes', () => {
  const rows = shownKeys(many);
  assert.equal(shownKeys(press(many, 'down', 'enter', '1').model), rows);
  assert.notEqual(shownKeys(after(many, { kind: 'stored', stored: { ...MANY, keys: [...MANY.keys] } })), rows);
  assert.deepEqual(shownKeys(press(many, '/', '9', '9').model).length, 1);
});

describe('keys ask for', () => {
  for (const [what, start, pressed, effects] of ASKED) {
    test(what, () => assert.deepEqual(press(start, ...pressed).effects, effects));
  }

  test('nothing destructive before it is confirmed', () => {
    for (const start of [keys, live, usage, alone(), serving('models')]) {
      for (const key of ['d', 'D', 'r', 'x', 'delete', 'backspace']) assert.deepEqual(press(start, key).effects, []);
    }
  });
});

describe('details', () => {
  const detail = {
    keyId: keyId(2),
    byModel: [usageRow({ model: 'mock/echo' })],
    byDay: [],
    refusals: [],
    refusedLately: [],
  };
  const open = after(press(keys, 'enter').model, { kind: 'key_detail', detail });

  test('of a key are shown once they are read', () => assert.deepEqual(open.keys.detail, detail));

  test('of a key that is no longer open are ignored', () => {
    const model = after(press(keys, 'enter', 'down').model, { kind: 'key_detail', detail });
    assert.equal(model.keys.detail?.keyId, keyId(3));
    assert.deepEqual(model.keys.detail?.byModel, []);
  });

  test('are closed by Esc', () => assert.equal(press(open, 'escape').model.keys.detail, undefined));

  test('are always those of the key under the cursor, also in a new order', () => {
    const { model, effects } = press(open, 'S');
    assert.equal(model.keys.detail?.keyId, currentKey(model)?.record.id);
    assert.deepEqual(effects, [{ kind: 'load_key', keyId: keyId(1) }]);
  });

  test('of a request open and close', () => {
    assert.equal(press(live, 'enter').model.live.isOpen, true);
    assert.equal(press(live, 'enter', 'escape').model.live.isOpen, false);
  });
});

describe('rows that come and go', () => {
  const withKeys = (start: Model, list: typeof STORED.keys) =>
    after(start, { kind: 'stored', stored: { ...STORED, keys: list } });

  test('leave the cursor on its key when others appear before it', () => {
    const model = withKeys(press(keys, 'down').model, [storedKey(9, 'a-new-one'), ...STORED.keys]);
    assert.equal(nameAt(model), 'laptop');
  });

  test('leave the cursor on its key when the figures change the order', () => {
    const start = press(keys, 's', 's', 's', 's', 's', 'down').model;
    assert.equal(nameAt(start), 'batch-jobs');
    const busy = STORED.keys.map((key) =>
      key.record.name === 'laptop' ? { ...key, month: { ...key.month, requests: 9_999 } } : key,
    );
    assert.equal(nameAt(withKeys(start, busy)), 'batch-jobs');
  });

  test('leave the cursor on the first row too, if its details are open', () => {
    const model = withKeys(press(keys, 'enter').model, [storedKey(9, 'a-new-one'), ...STORED.keys]);
    assert.equal(nameAt(model), 'batch-jobs');
    assert.equal(model.keys.detail?.keyId, keyId(2));
    const next = { ...SNAPSHOT, live: [requestRow(90), ...SNAPSHOT.live] };
    assert.equal(after(press(live, 'enter').model, { kind: 'snapshot', snapshot: next }).lists.live.cursor, 1);
  });

  test('move the cursor to the last row when its own is gone', () => {
    const model = withKeys(press(keys, 'end').model, STORED.keys.slice(1));
    assert.equal(nameAt(model), 'laptop');
    assert.equal(withKeys(model, []).lists.keys.cursor, 0);
  });

  test('close the details of a key that is gone', () => {
    const model = withKeys(press(keys, 'enter').model, STORED.keys.slice(2));
    assert.equal(model.keys.detail, undefined);
  });

  test('leave the cursor on the selected request', () => {
    const chosen = press(live, 'down').model;
    const id = shownRequests(chosen)[1]?.id;
    const next = {
      ...SNAPSHOT,
      live: [requestRow(4, { id: String(id) })],
      recent: [...SNAPSHOT.recent, endedRow(0, 'ok')],
    };
    const model = after(chosen, { kind: 'snapshot', snapshot: next });
    assert.equal(shownRequests(model)[model.lists.live.cursor]?.id, id);
  });

  test('leave the cursor at the top for whoever watches requests come in', () => {
    const model = after(live, {
      kind: 'snapshot',
      snapshot: { ...SNAPSHOT, live: [requestRow(90), ...SNAPSHOT.live] },
    });
    assert.equal(model.lists.live.cursor, 0);
  });

  test('keep every cursor within the rows that are left', () => {
    const start = press(keys, 'end', '5', 'end', '6', 'end').model;
    const model = after(
      start,
      { kind: 'stored', stored: { ...STORED, keys: [], models: STORED.models.slice(1) } },
      { kind: 'snapshot', snapshot: { ...SNAPSHOT, live: [], recent: [] } },
      { kind: 'usage', rows: [usageRow({}), usageRow({})] },
    );
    const cursorIn = (view: string) => {
      const { lists, view: opened } = press(model, view).model;
      return lists[opened].cursor;
    };
    assert.deepEqual(['2', '5', '6'].map(cursorIn), [0, 1, 2]);
  });
});
