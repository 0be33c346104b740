/**
 * What key presses and pastes do in confirmations, the model picker, and the dialog of a new key.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KeyRecord } from '../../src/state/keys.ts';
import type { Action } from '../../src/tui/actions.ts';
import { currentKey } from '../../src/tui/lists/keys.ts';
import type { Model } from '../../src/tui/model.ts';
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
} from './samples.ts';

const keys = serving('keys');
const ID = keyId(2);

const acts = (action: Action) => [{ kind: 'act', action }];

describe('a pasted text', () => {
  const paste = (model: Model, text: string) => after(model, { kind: 'paste', text });
  const valueAfter = (text: string) => {
    const { dialog } = paste(press(keys, 'n').model, text);
    return dialog?.kind === 'form' ? dialog.fields[0]?.value.text : undefined;
  };

  test('goes into the field being typed', () => assert.equal(valueAfter('my app'), 'my app'));
  test('loses its final line end, which would be Enter', () => assert.equal(valueAfter('app\r\n'), 'app'));
  test('becomes one line', () => assert.equal(valueAfter('a\nb\r\nc\td'), 'a b c d'));
  test('keeps characters that are commands elsewhere', () => assert.equal(valueAfter('q?+D'), 'q?+D'));
  test('goes into the filter', () =>
    assert.equal(paste(press(keys, '/').model, 'lap\n').lists.keys.filter.text, 'lap'));
  test('goes into the name that confirms', () => {
    const model = paste(press(keys, 'D').model, 'batch-jobs\n');
    assert.deepEqual(press(model, 'enter').effects, acts({ kind: 'set_state', keyId: ID, state: 'deleted' }));
  });

  test('does nothing where no text is typed', () => {
    const created: Model = after(keys, { kind: 'key_created', name: 'app', secret: 'sk-inf-1' });
    const places = [keys, ...['d', 'r', 'm', '?'].map((key) => press(keys, key).model), created];
    for (const place of places) assert.deepEqual(paste(place, 'yes, cancel all xyz\n'), place);
  });
});

describe('the faults of a reload', () => {
  const fault = (number: number) =>
    `config.yaml:${number}:1: providers.p${number}: ${'a reason '.repeat(12)}end ${number}`;
  const lines = Array.from({ length: 12 }, (_, index) => fault(index + 1));
  const failed = (of: readonly string[], model = serving()) =>
    after(model, { kind: 'failed', title: 'The config was not reloaded.', lines: of });

  test('can be read whole: the dialog scrolls to the last word', () => {
    for (const size of [
      { columns: 60, rows: 16 },
      { columns: 80, rows: 24 },
      { columns: 200, rows: 60 },
    ]) {
      const screens: string[] = [];
      let model = failed(lines, serving('overview', SNAPSHOT, size));
      for (let page = 0; page < 12; page++) {
        screens.push(screenText(model));
        model = press(model, 'pagedown').model;
      }
      for (const number of lines.keys()) {
        assert.ok(
          screens.some((screen) => screen.includes(`end ${number + 1} `)),
          `end ${number + 1}`,
        );
      }
      assert.equal(screenText(press(model, 'end', 'down').model), screenText(model));
      assert.equal(screenText(press(model, 'home', 'up').model), screens[0]);
      assert.match(screens[0] ?? '', /The config was not reloaded\./);
      for (const key of ['enter', 'escape', 'q']) assert.equal(press(model, key).model.dialog, undefined);
    }
  });

  test('take one line if they fit on it', () => {
    const model = failed(['config.yaml:3:1: foo: unknown key']);
    assert.equal(model.dialog, undefined);
    assert.match(screenText(model), /^ config\.yaml:3:1: foo: unknown key$/m);
  });

  test('never replace a key that is shown only once', () => {
    const created = after(keys, { kind: 'key_created', name: 'app', secret: 'sk-inf-1' });
    assert.equal(failed(lines, created).dialog, created.dialog);
  });
});

describe('a confirmation', () => {
  const rows: readonly (readonly [what: string, start: Model, key: string, action: Action])[] = [
    ['to disable a key', keys, 'd', { kind: 'set_state', keyId: ID, state: 'disabled' }],
    ['to rotate a key', keys, 'r', { kind: 'rotate', keyId: ID }],
    ['to stop a request', serving('live'), 'x', { kind: 'stop_request', id: String(SNAPSHOT.live[0]?.id) }],
  ];
  for (const [what, start, key, action] of rows) {
    test(`${what} is given by y`, () => {
      for (const yes of ['y', 'Y']) {
        const { model, effects } = press(start, key, yes);
        assert.deepEqual([model.dialog, effects], [undefined, acts(action)]);
      }
    });

    test(`${what} is cancelled by n and Esc, and by nothing else`, () => {
      for (const no of ['n', 'N', 'escape']) assert.deepEqual(press(start, key, no), { model: start, effects: [] });
      const open = press(start, key).model;
      assert.deepEqual(press(open, 'enter', ' ', 'x', 'd', 'q', 'tab', '1'), { model: open, effects: [] });
    });
  }

  test('to rotate a key is not asked for where its time is over, and says what a disabled one stays', () => {
    const of = (change: Partial<KeyRecord>) => {
      const key = storedKey(2, 'batch-jobs');
      return press(alone('keys', { ...STORED, keys: [{ ...key, record: { ...key.record, ...change } }] }), 'r').model;
    };
    const expired = of({ expiresAtMs: NOW_MS });
    const message = 'batch-jobs has expired. Give it more time first, with l.';
    assert.deepEqual([expired.dialog, expired.message?.text], [undefined, message]);
    assert.match(screenText(of({ state: 'disabled' })), /The old key stays[ │\n]+disabled\./);
    assert.match(screenText(of({})), /The old key works[ │\n]+until you[ │\n]+disable it\./);
  });

  test('to delete a key needs its name', () => {
    const { model, effects } = press(keys, 'D', ...letters('batch-jobs'), 'enter');
    assert.deepEqual(effects, acts({ kind: 'set_state', keyId: ID, state: 'deleted' }));
    assert.equal(model.dialog, undefined);
  });

  test('to delete a key needs its id if its name cannot be typed', () => {
    for (const name of ['two\nlines', '\u001b[31mred', ' app', '']) {
      const start = alone('keys', { ...STORED, keys: [storedKey(2, name)] });
      const { effects } = press(start, 'D', ...letters(ID), 'enter');
      assert.deepEqual(effects, acts({ kind: 'set_state', keyId: ID, state: 'deleted' }));
    }
  });

  test('to delete a key accepts no other text', () => {
    for (const text of ['', 'y', 'batch-job', 'batch-jobs ', 'BATCH-JOBS', 'laptop']) {
      const { model, effects } = press(keys, 'D', ...letters(text), 'enter');
      assert.deepEqual(effects, [], text);
      assert.equal(model.dialog?.kind, 'confirm');
      assert.equal(model.message?.text, 'The text does not match; nothing was changed.');
    }
  });

  test('with a wrong name can be corrected', () => {
    const { effects } = press(keys, 'D', ...letters('batch-jobx'), 'enter', 'backspace', 's', 'enter');
    assert.equal(effects.length, 1);
  });

  test('applies to the key it was opened for, whatever moves meanwhile', () => {
    const open = press(keys, 'd').model;
    const moved = after(open, { kind: 'stored', stored: { ...STORED, keys: [storedKey(9, 'a'), ...STORED.keys] } });
    assert.deepEqual(press(moved, 'y').effects, acts({ kind: 'set_state', keyId: ID, state: 'disabled' }));
  });

  test('is not opened for a request that has ended', () => {
    const { model, effects } = press(serving('live'), 'end', 'x');
    assert.deepEqual([model.dialog, effects], [undefined, []]);
    assert.equal(model.message?.text, 'This request has already ended.');
  });
});

describe('the model picker', () => {
  const all = STORED.models.map(({ id }) => id);
  const [first = '', next = '', ...rest] = all;
  const laptop = press(keys, 'down').model;
  const gone = { ...STORED, keys: [storedKey(2, 'app', { allowlist: ['old/gone', next] })] };
  const cases: readonly (readonly [string, start: Model, keys: readonly string[], models: readonly string[] | null])[] =
    [
      ['saves every model as no allowlist', keys, [], null],
      ['leaves the others if one is removed from all', keys, [' '], [next, ...rest]],
      ['moves down and up', keys, ['down', 'j', 'k', ' '], [first, ...rest]],
      ['does not move above the first', keys, ['up', 'k', ' '], [next, ...rest]],
      ['does not move below the last', keys, [...all.map(() => 'down'), 'down', ' '], all.slice(0, -1)],
      ['moves to the ends', keys, ['end', ' ', 'home', ' '], all.slice(1, -1)],
      ['moves by pages', keys, ['pagedown', ' ', 'pageup', ' '], all.slice(1, -1)],
      ['x selects none', keys, ['x'], []],
      ['x, then one, is that one', keys, ['x', 'down', ' '], [next]],
      ['a selects every model again', laptop, ['a'], null],
      ['shows the existing allowlist', laptop, [], ['mock/echo']],
      ['adds one', laptop, [' '], ['mock/echo', first]],
      ['adds and removes', laptop, [' ', ' '], ['mock/echo']],
      ['removing the last one leaves none, not all', laptop, ['down', 'down', 'down', ' '], []],
      ['keeps a model that the config no longer has', alone('keys', gone), [], ['old/gone', next]],
      ['removes a model that the config no longer has', alone('keys', gone), [...all.map(() => 'down'), ' '], [next]],
    ];
  for (const [what, start, pressed, models] of cases) {
    test(what, () => {
      const { model, effects } = press(start, 'm', ...pressed, 'enter');
      const id = start === laptop ? keyId(3) : ID;
      assert.deepEqual(effects, acts({ kind: 'set_allowlist', keyId: id, models }));
      assert.equal(model.dialog, undefined);
    });
  }

  test('is closed by Esc, and nothing changes', () => {
    assert.deepEqual(press(keys, 'm', 'x', 'escape'), { model: keys, effects: [] });
  });
});

describe('a key that was just created', () => {
  const secret = 'sk-inf-abcdefghijklmnopqrstuvwxyzabcdefghijklmnop';
  const created = after(keys, { kind: 'key_created', name: 'app', secret });

  test('stays until Enter says that it is stored', () => {
    for (const key of ['escape', 'q', ' ', 'y', 'tab', '1'])
      assert.deepEqual(press(created, key), { model: created, effects: [] });
    assert.equal(press(created, 'enter').model.dialog, undefined);
  });

  test('is under the cursor afterwards', () => {
    const last = after(
      keys,
      { kind: 'key_created', name: 'zebra', secret },
      { kind: 'stored', stored: { ...STORED, keys: [...STORED.keys, storedKey(9, 'zebra')] } },
    );
    assert.equal(currentKey(press(last, 'c', 'enter').model)?.record.name, 'zebra');
  });

  test('stays whatever events come', () => {
    const later = after(
      created,
      { kind: 'snapshot', snapshot: SNAPSHOT },
      { kind: 'disconnected' },
      { kind: 'stored', stored: STORED },
    );
    assert.deepEqual(later.dialog, created.dialog);
  });

  test('is copied to the clipboard as often as c is pressed', () => {
    const { model, effects } = press(created, 'c', 'c');
    assert.deepEqual(effects, [
      { kind: 'copy', text: secret },
      { kind: 'copy', text: secret },
    ]);
    assert.deepEqual(model.dialog, { kind: 'secret', name: 'app', secret, copied: true, leaving: false });
  });

  test('is dropped by a second Ctrl-C, but not by the first, nor by q', () => {
    const asked = press(created, 'q', 'escape', 'ctrl+c');
    assert.deepEqual([asked.model.dialog, asked.effects], [{ ...created.dialog, leaving: true }, []]);
    assert.match(screenText(asked.model), /Press Ctrl-C again to quit\. The key cannot be shown again\./);
    assert.deepEqual(press(asked.model, 'ctrl+c').effects, [{ kind: 'quit' }]);
    assert.equal(press(asked.model, 'enter').model.dialog, undefined);
  });
});

describe('help', () => {
  test('is closed by Esc, Enter, q and ?, and no other key does anything but scroll', () => {
    for (const key of ['escape', 'enter', 'q', '?'])
      assert.deepEqual(press(keys, '?', key), { model: keys, effects: [] });
    for (const key of ['D', '2', 'x']) assert.deepEqual(press(keys, '?', key), press(keys, '?'));
  });

  test('begins with the keys of the view, and scrolls to all others in a small window', () => {
    const small = serving('keys', SNAPSHOT, { columns: 60, rows: 20 });
    assert.match(screenText(press(small, '?').model), /│ Keys +│\n│ +n +create a key/);
    assert.match(screenText(press(small, '?', 'end').model), /create a key here/);
  });
});
