/** Going from a row to what lies beneath it, and back again. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fixedSpend } from '../../src/core/budgets.ts';
import type { UsageRow } from '../../src/state/usage.ts';
import { wayTo } from '../../src/tui/components/list-view.ts';
import { type Model, VIEWS } from '../../src/tui/model.ts';
import {
  after,
  alone,
  keyId,
  letters,
  NOW_MS,
  press,
  SNAPSHOT,
  STORED,
  screenText,
  serving,
  storedKey,
  textOf,
  usageRow,
} from './samples.ts';

const USD = 1_000_000_000n;

const way = (model: Model) => textOf(wayTo(model));
const filterOf = (model: Model) => model.lists[model.view].filter.text;

/** The Usage view with one row. */
function usageOf(row: Partial<UsageRow>): Model {
  const model = serving('usage');
  return { ...model, usage: { ...model.usage, rows: [usageRow({ requests: 2, ...row })] } };
}

type Case = readonly [what: string, start: Model, keys: readonly string[], way: string, filter: string];

const CASES: readonly Case[] = [
  ['a key opens first', serving('keys'), ['enter'], 'Keys', ''],
  ['then its requests', serving('keys'), ['enter', 'enter'], 'Keys › batch-jobs › Requests', 'key=batch-jobs'],
  [
    'a running request leads to its key',
    serving('live'),
    ['enter', 'enter'],
    'Live › req_00000000000000000000000075 › Keys',
    '',
  ],
  ['usage of a key is by model', serving('usage'), ['enter'], 'Usage › web-app › Usage', ''],
  [
    'a user leads to its requests',
    usageOf({ user: 'Alice B' }),
    ['enter'],
    'Usage › Alice B › Requests',
    'user="Alice B"',
  ],
  ['a tag, too', usageOf({ tag: 'ci' }), ['enter'], 'Usage › ci › Requests', 'tag=ci'],
  ['those of no app are found as well', usageOf({ app: '' }), ['enter'], 'Usage › (none) › Requests', '-app:*'],
  ['names beyond the bound have none in common', usageOf({ app: 'other' }), ['enter'], 'Usage › other › Usage', ''],
  ['a model is used by keys', serving('models'), ['down', 'enter'], 'Models › openai/fast › Usage', ''],
  ['an upstream opens first', serving(), ['end', 'enter'], 'Overview', ''],
  [
    'then the requests that failed there',
    serving(),
    ['end', 'up', 'enter', 'enter'],
    'Overview › claude › Requests',
    'upstream=claude err:*',
  ],
  ['with nothing chosen, Enter goes to what is wrong', serving(), ['enter'], 'Overview', ''],
  ['a busy key opens', serving(), ['down', 'down', 'enter'], 'Overview › web-app › Keys', ''],
];

describe('Enter', () => {
  for (const [what, start, keys, expected, filter] of CASES) {
    test(what, () => {
      const { model } = press(start, ...keys);
      assert.deepEqual([way(model), filterOf(model)], [expected, filter]);
    });
  }

  test('narrows usage down until only the requests are left', () => {
    const rows = [usageRow({ model: 'mock/echo', requests: 2 })];
    const byModel = { ...press(serving('usage'), 'enter').model };
    const byDay = press({ ...byModel, usage: { ...byModel.usage, rows, rowsBy: 'model' } }, 'enter').model;
    assert.deepEqual(
      [byDay.usage.by, byDay.usage.of],
      ['day', { key: { id: keyId(1), name: 'web-app' }, model: 'mock/echo' }],
    );
    const days = [usageRow({ day: '2026-11-01', requests: 2 })];
    const { model, effects } = press({ ...byDay, usage: { ...byDay.usage, rows: days, rowsBy: 'day' } }, 'enter');
    assert.equal(filterOf(model), 'key=web-app model=mock/echo day:2026-11-01');
    const untilMs = Date.UTC(2026, 10, 2);
    assert.deepEqual(effects, [
      {
        kind: 'load_requests',
        search: 1,
        query: { id: undefined, keyId: keyId(1), errors: false, sinceMs: untilMs - 86_400_000, untilMs },
        after: undefined,
      },
    ]);
    assert.equal(way(model), 'Usage › web-app › mock/echo › 2026-11-01 › Requests');
  });
});

test('a way that is too long for the title is shown by its end', () => {
  const { model } = press(usageOf({ user: 'a-user-with-a-name-as-long-as-a-title' }), 'enter');
  assert.equal(way({ ...model, columns: 120 }), 'Usage › a-user-with-a-name-as-long-as-a-title › Requests');
  assert.equal(way({ ...model, columns: 60 }), '… › Requests');
});

describe('Esc', () => {
  test('comes back to the view as it was left: cursor, filter and details', () => {
    const start = press(serving('keys'), '/', ...letters('app'), 'enter', 'enter').model;
    const { model } = press(start, 'enter', 'escape');
    assert.deepEqual(
      [model.view, model.lists.keys, model.keys.detail?.keyId, model.trail],
      ['keys', start.lists.keys, keyId(1), []],
    );
  });

  test('first closes the details, then drops what was typed, then goes back', () => {
    const opened = press(serving('keys'), 'enter', 'enter', '/', ...letters(' err:*'), 'enter').model;
    const dropped = press(opened, 'escape').model;
    assert.deepEqual([dropped.view, filterOf(dropped)], ['requests', 'key=batch-jobs']);
    assert.deepEqual([press(dropped, 'escape').model.view, way(press(dropped, 'escape').model)], ['keys', 'Keys']);
  });

  test('at the beginning leaves everything as it is', () => {
    for (const view of VIEWS) {
      const start = serving(view);
      assert.equal(press(start, 'escape').model.view, view);
    }
    assert.equal(press(serving(), 'down', 'escape').model.lists.overview.cursor, -1);
  });

  test('reads usage again as it was', () => {
    const { model, effects } = press(serving('usage'), ']', 'enter', 'escape');
    assert.deepEqual(effects.at(-1), { kind: 'load_usage', by: 'key', range: '7d', of: {} });
    assert.equal(model.usage.by, 'key');
  });
});

test('another tab leaves the trail, and the filter that came with it', () => {
  const { model } = press(serving('keys'), 'enter', 'enter', '1', '4');
  assert.deepEqual([way(model), filterOf(model)], ['Requests', '']);
});

test('a key that is gone is not gone to', () => {
  const stored = { ...STORED, keys: [storedKey(9, 'other')] };
  const model = press({ ...serving('live', SNAPSHOT), stored }, 'enter', 'enter').model;
  assert.equal(model.view, 'live');
});

test('whoever goes in circles gets back a bounded way', () => {
  const round = ['enter', 'enter', 'escape', 'enter'];
  let model = alone('keys');
  for (let i = 0; i < 30; i++) model = press(model, ...round).model;
  assert.ok(model.trail.length <= 20);
});

test('the details of a key say when it reaches its spend limit', () => {
  const screen = screenText(press(serving('keys', SNAPSHOT, { columns: 120, rows: 40 }), 'end', 'enter').model);
  assert.match(screen, /month {4}█+▏ 17\.00 of 20\.00 USD\s+spent at 14:07 UTC \(2 h\)/);
});

test('and when its total is spent, at the pace of its last seven days', () => {
  const total = fixedSpend({ period: 'total', limitNanos: 20n * USD }, 6n * USD, null, NOW_MS);
  const keys = [storedKey(1, 'trial', {}, {}, [total])];
  const size = { columns: 120, rows: 40 };
  const open = press(after(serving('keys', SNAPSHOT, size), { kind: 'stored', stored: { ...STORED, keys } }), 'enter');
  // Half a USD on each of three days of the week, the last of which is half over.
  const byDay = ['2026-10-03', '2026-10-30', '2026-10-31', '2026-11-01'].map((day) =>
    usageRow({ day, requests: 1, costNanos: USD / 2n }),
  );
  const detail = { keyId: keyId(1), byModel: [], byDay, refusals: [], refusedLately: [] };
  const screen = screenText(after(open.model, { kind: 'key_detail', detail }));
  // 14 USD, of which 0.6 go each day: 1.5 have gone in two and a half.
  assert.match(screen, /total {4}█▊░+ 6\.00 of 20\.00 USD.*\n +spent on 11-24 UTC \(23 days\)/);
});
