/**
 * Forms: what is typed, what is rejected with the message of the command line, and what is
 * submitted.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { InvalidArgumentError } from 'commander';
import { parseWith } from '../../src/cli/arguments.ts';
import {
  type Reader,
  readAmount,
  readAmountAboveZero,
  readKeyName,
  readModelId,
  readNote,
} from '../../src/operator/input.ts';
import { explainKeyChange } from '../../src/operator/messages.ts';
import { TERMS } from '../../src/operator/terms.ts';
import { NO_TERMS } from '../../src/state/keys.ts';
import type { Action } from '../../src/tui/actions.ts';
import type { Dialog, Model } from '../../src/tui/model.ts';
import { after, alone, keyId, letters, NOW_MS, press, STORED, screenText, serving, storedKey } from './samples.ts';

const keys = serving('keys');
const ID = keyId(2);

const acts = (action: Action) => [{ kind: 'act', action }];

function formOf({ dialog }: Model): Extract<Dialog, { kind: 'form' }> {
  assert.equal(dialog?.kind, 'form');
  return dialog;
}

/** Types these texts into the fields of an open form, from the first on. */
function fill(...texts: readonly string[]): string[] {
  return texts.flatMap((text, index) => [...(index === 0 ? [] : ['tab']), 'ctrl+u', ...letters(text)]);
}

/** The message of the command line for such a value. */
function commandSays(reader: Reader<unknown>, text: string): string {
  try {
    parseWith(reader)(text);
  } catch (error) {
    if (error instanceof InvalidArgumentError) return error.message;
  }
  throw new Error(`the command line accepts ${JSON.stringify(text)}`);
}

const NANOS = 1_000_000_000n;
const usdPer = (period: string, usd: bigint) => ({ period, limitNanos: usd * NANOS });
const BOUNDED = { budgets: [usdPer('day', 5n), usdPer('24h', 7n)], expiresAtMs: NOW_MS - 1 };
const bounded = alone('keys', { ...STORED, keys: [storedKey(2, 'bounded', BOUNDED)] });

describe('a valid form submits what was typed', () => {
  const five = { rpm: 5, tpm: 600, concurrency: 7, spendLimitNanos: 8_500_000_000n };
  const cases: readonly (readonly [what: string, start: Model, keys: readonly string[], action: Action])[] = [
    ['a key with only a name', keys, ['n', ...letters('app')], { kind: 'create', name: 'app', terms: NO_TERMS }],
    [
      'a key with limits',
      keys,
      ['n', ...fill('app', '5', '600', '7', '8.5')],
      { kind: 'create', name: 'app', terms: { ...NO_TERMS, ...five } },
    ],
    [
      'a name with spaces and punctuation',
      keys,
      ['n', ...letters('my app? +q/2')],
      { kind: 'create', name: 'my app? +q/2', terms: NO_TERMS },
    ],
    [
      'the keywords of the command line',
      keys,
      ['n', ...fill('app', 'default', 'default', 'default', 'none')],
      { kind: 'create', name: 'app', terms: NO_TERMS },
    ],
    [
      'a spend limit of zero',
      keys,
      ['n', ...fill('app', '', '', '', '0')],
      { kind: 'create', name: 'app', terms: { ...NO_TERMS, spendLimitNanos: 0n } },
    ],
    [
      'a key with budgets and an end',
      keys,
      ['n', ...fill('app', '', '', '', '', ' week=20  24h=0.5 day=5 day=6', '30d')],
      {
        kind: 'create',
        name: 'app',
        terms: {
          ...NO_TERMS,
          budgets: [usdPer('day', 6n), { period: '24h', limitNanos: NANOS / 2n }, usdPer('week', 20n)],
          expiresAtMs: NOW_MS + 30 * 86_400_000,
        },
      },
    ],
    [
      'budgets and an end that are taken away',
      bounded,
      ['l', 'up', 'up', ...fill('none', 'never')],
      { kind: 'set_limits', keyId: ID, limits: { budgets: [], expiresAtMs: null } },
    ],
    [
      'one more budget',
      bounded,
      ['l', 'up', 'up', ...letters(' total=9')],
      { kind: 'set_limits', keyId: ID, limits: { budgets: [...BOUNDED.budgets, usdPer('total', 9n)] } },
    ],
    [
      'one limit, without the budgets and the end that has come since',
      bounded,
      ['l', ...fill('7')],
      { kind: 'set_limits', keyId: ID, limits: { rpm: 7 } },
    ],
    ['limits', keys, ['l', ...fill('5', '600', '7', '8.5')], { kind: 'set_limits', keyId: ID, limits: five }],
    [
      'limits reset to the tier’s',
      keys,
      ['l', ...fill('', '')],
      { kind: 'set_limits', keyId: ID, limits: { rpm: null, tpm: null } },
    ],
    [
      'one limit of two that were typed, as the other is what it was again',
      keys,
      ['l', ...fill('60', '7')],
      { kind: 'set_limits', keyId: ID, limits: { tpm: 7 } },
    ],
    ['credit', alone(), ['+', ...fill('0.000000001')], { kind: 'add_credit', nanos: 1n, note: '' }],
    [
      'credit with a note',
      alone(),
      ['+', ...fill('25', 'for March')],
      { kind: 'add_credit', nanos: 25_000_000_000n, note: 'for March' },
    ],
  ];
  for (const [what, start, pressed, action] of cases) {
    test(what, () => {
      const { model, effects } = press(start, ...pressed, 'enter');
      assert.deepEqual(effects, acts(action));
      assert.equal(model.dialog, undefined);
    });
  }

  test('nothing, where no limit was changed, and says so', () => {
    const { model, effects } = press(keys, 'l', 'enter');
    assert.deepEqual([effects, model.dialog], [[], undefined]);
    assert.equal(model.message?.text, 'No field was changed; the limits stay as they are.');
  });

  test('an export, under the suggested name', () => {
    assert.deepEqual(press(serving('usage'), 'w', 'enter').effects, [{ kind: 'export', path: 'usage-by-key.csv' }]);
  });

  test('an export, under a typed name', () => {
    const { effects } = press(serving('usage'), 'w', ...fill(' out/q1.csv '), 'enter');
    assert.deepEqual(effects, [{ kind: 'export', path: 'out/q1.csv' }]);
  });
});

describe('removing credit', () => {
  const rich = alone();
  const removing = (amount: string, note = '') => press(rich, '-', ...fill(amount, note), 'enter');

  test('submits the amount with a minus', () => {
    const { model, effects } = removing('1.5', 'a slip');
    assert.deepEqual(effects, acts({ kind: 'add_credit', nanos: -1_500_000_000n, note: 'a slip' }));
    assert.equal(model.dialog, undefined);
  });

  test('asks first where it takes the balance below zero, as the command does', () => {
    const asked = removing('100');
    assert.deepEqual(asked.effects, []);
    assert.match(screenText(asked.model), /Remove 100\.00 USD\?/);
    assert.match(screenText(asked.model), /This takes the balance from 81\.77 to -18\.23 USD\./);
    assert.deepEqual(press(asked.model, 'n').effects, []);
    assert.deepEqual(press(asked.model, 'y').effects, acts({ kind: 'add_credit', nanos: -100_000_000_000n, note: '' }));
  });

  test('asks nothing where it takes it to zero', () => assert.equal(removing('81.77').effects.length, 1));
});

describe('the models of a new key', () => {
  const created = (...pressed: readonly string[]) => press(keys, 'n', ...letters('app'), ...pressed);
  const models = (...pressed: readonly string[]) => {
    const [effect] = created(...pressed).effects;
    return effect?.kind === 'act' && effect.action.kind === 'create' ? effect.action.terms.allowlist : undefined;
  };

  test('are every model where nothing is typed', () => assert.equal(models('enter'), null));
  test('are what is typed, with blanks between', () => {
    assert.deepEqual(models('up', ...letters(' mock/echo  openai/fast mock/echo'), 'enter'), [
      'mock/echo',
      'openai/fast',
    ]);
  });
  test('can be chosen with Ctrl-O, from any field', () => {
    assert.deepEqual(models('ctrl+o', 'x', 'end', ' ', 'enter', 'enter'), ['mock/echo']);
    assert.deepEqual(models('up', ...letters('mock/echo later/model'), 'ctrl+o', ' ', 'enter', 'enter'), [
      'mock/echo',
      'later/model',
      'openai/gpt-4o-mini',
    ]);
  });
  test('stay as they were if the choice is given up', () => {
    const { model } = created('up', ...letters('mock/echo'), 'ctrl+o', 'x', 'escape');
    assert.equal(formOf(model).fields[8]?.value.text, 'mock/echo');
  });
  test('cannot be none, which the empty field would turn into every model', () => {
    const { model } = created('ctrl+o', 'x', 'enter');
    assert.equal(model.dialog?.kind, 'picker');
    assert.equal(model.message?.text, 'Choose at least one model, or all.');
  });
  test('are noted if the config does not have them, as the command notes it', () => {
    const { model, effects } = created('up', ...letters('later/model'), 'enter');
    assert.equal(effects.length, 1);
    assert.match(model.message?.text ?? '', /^later\/model is not in the config; list models with/);
  });
});

describe('an invalid form says what the command line says', () => {
  const cases: readonly (readonly [form: string, place: number, reader: Reader<unknown>, values: readonly string[]])[] =
    [
      ['n', 0, readKeyName, ['', ' app', 'app ', 'x'.repeat(65), keyId(1), 'a\u0007b', 'a\u202eb']],
      ['n', 1, TERMS.rpm.reader(0), ['0', '-1', '1.5', 'none', '1e3', '1000000001', ' 5', 'five']],
      ['n', 8, readModelId, ['gpt-4o', 'a/*', 'a/b,c/d', 'a/b\u0007']],
      ['n', 2, TERMS.tpm.reader(0), ['0', '1000000000001', '1,000']],
      ['l', 2, TERMS.concurrency.reader(0), ['0', '1000000001', 'unlimited']],
      ['l', 3, readAmount, ['-1', '1.0000000001', '1e3', 'default', '$5', '1000000000.01', '5 USD']],
      ['n', 5, TERMS.budgets.reader(NOW_MS), ['5', 'month=5', 'day=-1', 'day=5,week=20', 'Day=5', 'day:5']],
      ['l', 4, TERMS.budgets.reader(NOW_MS), ['day', '400d=5', 'day=1e3']],
      ['n', 6, TERMS.expiresAtMs.reader(NOW_MS), ['soon', '0s', '2020-01-01', '7w', '30 d']],
      ['l', 5, TERMS.expiresAtMs.reader(NOW_MS), ['2026-11-01T11:59:59Z', '2027-02-30']],
      ['+', 0, readAmountAboveZero, ['', '0', '0.00', '-5', 'five', '10000000000']],
      ['-', 0, readAmountAboveZero, ['', '0', '-5']],
      ['-', 1, readNote, ['two\u0001lines']],
      ['+', 1, readNote, ['two\u0001lines', '\u007f']],
    ];
  for (const [form, place, reader, values] of cases) {
    for (const value of values) {
      test(`${form}, field ${place}: ${JSON.stringify(value)}`, () => {
        const first = form === 'l' ? [] : form === 'n' ? fill('app') : fill('5');
        const way = [...first, ...Array<string>(place).fill('tab'), 'ctrl+u', ...letters(value)];
        const { model, effects } = press(keys, form, ...way, 'tab', 'enter');
        const { fields, cursor } = formOf(model);
        assert.deepEqual(effects, []);
        assert.equal(fields[place]?.problem, commandSays(reader, value));
        assert.equal(fields[place]?.value.text, value);
        assert.equal(fields.filter(({ problem }) => problem !== undefined).length, 1);
        assert.equal(cursor, place);
      });
    }
  }

  test('about a ninth budget', () => {
    const nine = Array.from({ length: 9 }, (_, index) => `${index + 1}h=1`).join(' ');
    const { model, effects } = press(keys, 'n', ...fill('app', '', '', '', '', nine), 'enter');
    assert.deepEqual(effects, []);
    assert.match(formOf(model).fields[5]?.problem ?? '', /at most 8 budgets, and would have 9/);
  });

  test('about a missing file name', () => {
    const { model, effects } = press(serving('usage'), 'w', 'ctrl+u', ' ', 'enter');
    assert.deepEqual(effects, []);
    assert.equal(formOf(model).fields[0]?.problem, 'Expected a file name.');
  });

  test('about a name that another key has, while it can still be corrected', () => {
    const { model, effects } = press(keys, 'n', ...letters('laptop'), 'enter');
    assert.deepEqual(effects, []);
    assert.equal(formOf(model).fields[0]?.problem, explainKeyChange({ kind: 'name_taken' }, 'laptop'));
    assert.deepEqual(press(model, '2', 'enter').effects, acts({ kind: 'create', name: 'laptop2', terms: NO_TERMS }));
  });

  test('about all fields at once, with the cursor on the first of them', () => {
    const { model } = press(keys, 'n', ...fill('app', '0', 'x', '5', '-1'), 'enter');
    const { fields, cursor } = formOf(model);
    assert.deepEqual(
      fields.map(({ problem }) => problem !== undefined),
      [false, true, true, false, true, false, false, false, false],
    );
    assert.equal(cursor, 1);
  });

  test('until it is corrected', () => {
    const wrong = press(keys, 'n', ...fill('app', '0'), 'enter').model;
    const right = press(wrong, 'backspace', '9');
    assert.equal(formOf(right.model).fields[1]?.problem, undefined);
    const terms = { ...NO_TERMS, rpm: 9 };
    assert.deepEqual(press(right.model, 'enter').effects, acts({ kind: 'create', name: 'app', terms }));
  });
});

describe('in a form', () => {
  const cursorAfter = (...pressed: readonly string[]) => formOf(press(keys, 'n', ...pressed).model).cursor;

  test('arrows and Tab move from field to field, and wrap around', () => {
    assert.equal(cursorAfter('down', 'tab', 'up'), 1);
    assert.equal(cursorAfter('shift+tab'), 8);
    assert.equal(cursorAfter('up', 'down'), 0);
  });

  test('Esc closes it, and nothing changes', () => {
    const { model, effects } = press(keys, 'n', 'a', 'escape');
    assert.deepEqual([model, effects], [keys, []]);
  });

  test('keys that are not characters change nothing', () => {
    const form = press(keys, 'n', 'a').model;
    assert.deepEqual(press(form, 'left', 'right', 'end', 'ctrl+x', 'pageup').model, form);
  });

  test('what was typed is corrected where the caret is', () => {
    const way = [...letters('web-ap'), 'home', 'right', 'delete', 'e', 'ctrl+e', 'p', 'ctrl+a', 'm'];
    assert.deepEqual(formOf(press(keys, 'n', ...way).model).fields[0]?.value, { text: 'mweb-app', caret: 1 });
  });

  test('what is wrong with a field stays until its text is another', () => {
    const wrong = press(keys, 'n', ...fill('app', '0'), 'enter').model;
    assert.notEqual(formOf(press(wrong, 'left').model).fields[1]?.problem, undefined);
  });

  test('the length of a text is bounded', () => {
    const model = after(press(keys, '+', 'tab').model, { kind: 'paste', text: 'x'.repeat(10_000) });
    assert.equal(formOf(model).fields[1]?.value.text.length, 500);
  });
});
