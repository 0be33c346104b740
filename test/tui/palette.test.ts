/** The palette: what a few characters find, and what happens if it is chosen. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SECTIONS } from '../../src/tui/bindings.ts';
import { fuzzyScore, queryWords } from '../../src/tui/fuzzy.ts';
import { currentKey } from '../../src/tui/lists/keys.ts';
import { type Model, VIEWS, type View } from '../../src/tui/model.ts';
import { after, alone, keyId, letters, NOW_MS, press, STORED, screenText, serving, storedKey } from './samples.ts';

const READ_ONLY = /This dashboard is read-only\./;

describe('a text matches', () => {
  const cases: readonly (readonly [query: string, text: string, matches: boolean])[] = [
    ['', 'anything', true],
    ['wa', 'web-app', true],
    ['web-app', 'web-app', true],
    ['app web', 'web-app', true],
    ['wb p', 'web-app', true],
    ['aw', 'web-app', false],
    ['webb', 'web-app', false],
    ['web x', 'web-app', false],
    ['gpt4', 'openai/gpt-4o-mini', true],
    ['äö', 'xäxö', true],
  ];
  for (const [query, text, matches] of cases)
    test(`${JSON.stringify(query)} ${matches ? 'in' : 'not in'} ${text}`, () =>
      assert.equal(fuzzyScore(queryWords(query), text) !== undefined, matches));
});

describe('of two texts, the better match is', () => {
  const cases: readonly (readonly [why: string, query: string, better: string, worse: string])[] = [
    ['the one whose words begin so', 'dk', 'disable key', 'undo keys'],
    ['the one that begins so', 'we', 'web-app', 'a-web-app'],
    ['the one with the characters side by side', 'app', 'xapp', 'xaxpxp'],
    ['the one with a word of these characters', 'app', 'my-app', 'happy'],
    ['the one where the run is longer', 'disable', 'x disable', 'd i s a b l e'],
    ['the one where a later place is better', 'ap', 'a.xxapxx.app', 'a.xxapxx.axp'],
  ];
  for (const [why, query, better, worse] of cases) {
    test(why, () => {
      const [first = 0, second = 0] = [better, worse].map((text) => fuzzyScore(queryWords(query), text));
      assert.ok(first > second, `${better}: ${first}, ${worse}: ${second}`);
    });
  }
});

describe('choosing in the palette', () => {
  const keys = serving('keys');
  const cases: readonly (readonly [what: string, start: Model, query: string, same: readonly string[]])[] = [
    ['a view', serving(), 'usage', ['5']],
    ['what the view can do', keys, 'create', ['n']],
    ['what can be done with the key under the cursor', keys, 'disable', ['d']],
    ['what another view can do', serving(), 'rotate', ['2', 'r']],
    ['what can be done everywhere', keys, 'add cr', ['+']],
    ['the help', keys, 'this help', ['?']],
    ['quitting', keys, 'quit', ['q']],
  ];
  for (const [what, start, query, same] of cases) {
    test(`${what} does what its keys do`, () => {
      assert.deepEqual(press(start, ':', ...letters(query), 'enter'), press(start, ...same));
    });
  }

  test('a key opens its details, whatever is filtered', () => {
    const start = press(keys, '/', 'w', 'e', 'b', 'enter', '1').model;
    const { model, effects } = press(start, ':', ...letters('lapt'), 'enter');
    assert.equal(currentKey(model)?.record.name, 'laptop');
    assert.equal(model.keys.detail?.keyId, keyId(3));
    assert.deepEqual(effects, [{ kind: 'load_key', keyId: keyId(3) }]);
  });

  const filterAfter = (...pressed: readonly string[]) => {
    const { view, lists } = press(keys, ':', ...pressed, 'enter').model;
    return [view, lists.requests.filter.text];
  };

  test('a model shows its requests', () =>
    assert.deepEqual(filterAfter(...letters('claude')), ['requests', 'model=claude/large']));

  test('the next match takes the arrow down, and Esc chooses nothing', () => {
    assert.deepEqual(filterAfter(...letters('openai'), 'down'), ['requests', 'model=openai/gpt-4o-mini']);
    assert.deepEqual(press(keys, ':', 'x', 'down', 'escape'), { model: keys, effects: [] });
  });

  test('nothing where nothing matches', () => {
    const { model, effects } = press(keys, ':', ...letters('zzzz'), 'down', 'up', 'enter');
    assert.deepEqual([model.dialog?.kind, effects], ['palette', []]);
    assert.match(screenText(model), /No name matches\./);
  });

  test('typed text is corrected at the caret, and can be pasted', () => {
    const { model } = press(keys, ':', ...letters('uage'), 'home', 'right', 's');
    assert.deepEqual(model.dialog, { kind: 'palette', query: { text: 'usage', caret: 2 }, cursor: 0 });
    const pasted = after(press(keys, ':').model, { kind: 'paste', text: 'laptop\n' });
    assert.equal(currentKey(press(pasted, 'enter').model)?.record.name, 'laptop');
  });
});

test('the palette shows what kind of thing it found, and the keys that do the same', () => {
  const screen = screenText(press(serving(), ':', ...letters('limits')).model);
  assert.match(screen, /│ : limits▏ +│/);
  assert.match(screen, /│ Keys +limits, budgets, expiry: batch-jobs +2 l │/);
});

describe('a read-only dashboard', () => {
  const outcome = { kind: 'outcome', text: 'batch-jobs is disabled.', tone: 'good' } as const;
  const action = { kind: 'set_state', keyId: keyId(2), state: 'disabled' } as const;
  const before = STORED.keys[1]?.record;
  const readOnly = (model: Model): Model => ({
    ...after(model, { kind: 'done', action, before, undoes: undefined, atMs: NOW_MS, outcome }),
    message: undefined,
    isReadOnly: true,
  });
  const places = Object.fromEntries(VIEWS.map((view) => [view, serving(view)])) as Record<View, Model>;
  const bindings = SECTIONS.flatMap(({ of = 'overview', bindings: each }) =>
    each.map((binding) => ({ of, ...binding })),
  );

  test('refuses exactly what the table of keys says changes something', () => {
    for (const { of, press: key, isChange = false, meaning } of bindings) {
      if (key === undefined) continue;
      const { model } = press(readOnly(places[of]), key);
      assert.equal(READ_ONLY.test(screenText(model)), isChange, meaning);
    }
  });

  test('offers nothing of that in the palette', () => {
    for (const { isChange = false, meaning } of bindings) {
      if (isChange)
        assert.doesNotMatch(
          screenText(press(readOnly(serving('keys')), ':', ...letters(meaning)).model),
          /^ +│ (Everywhere|Keys|Live) /m,
        );
    }
  });
});

test('of ten thousand keys, as many are listed as can be scrolled through', () => {
  const many = Array.from({ length: 10_000 }, (_, index) => storedKey(index, `app-${index}`));
  const start = alone('keys', { ...STORED, keys: many });
  const { model } = press(start, ':', ...letters('app-9999'), 'enter');
  assert.equal(currentKey(model)?.record.name, 'app-9999');
  const end = press(start, ':', ...letters('app'), ...Array<string>(300).fill('pagedown')).model;
  assert.ok(end.dialog?.kind === 'palette' && end.dialog.cursor === 199);
});
