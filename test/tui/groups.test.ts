/** The Groups view: a tree that unfolds, pages of end users, and what is changed and undone there. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fixedSpend } from '../../src/core/budgets.ts';
import { NO_USER_LIMITS } from '../../src/state/levels.ts';
import type { Action, LevelSubject } from '../../src/tui/actions.ts';
import { commandsOf, shellLine } from '../../src/tui/command-line.ts';
import { currentRow, nameOfRow, shownRows } from '../../src/tui/lists/groups.ts';
import type { Model, StoredUser } from '../../src/tui/model.ts';
import type { Event } from '../../src/tui/update/step.ts';
import { update } from '../../src/tui/update/update.ts';
import {
  after,
  alone,
  groupId,
  keyId,
  letters,
  NOW_MS,
  press,
  STORED,
  screenText,
  storedGroup,
  storedKey,
  storedUser,
} from './samples.ts';

const USD = 1_000_000_000n;
const DAY = [{ period: 'day', limitNanos: USD }];
const FREE = storedGroup(1, 'free', { userLimits: { ...NO_USER_LIMITS, rpm: 5, budgets: DAY }, rpm: 90 });
const RESEARCH = storedGroup(2, 'research', {}, { costNanos: 9n * USD });
const NLP = storedGroup(3, 'nlp', { groupId: groupId(2) }, { costNanos: 4n * USD });
const GROUPS = [FREE, RESEARCH, NLP];
const KEYS = [
  storedKey(1, 'app-free', { groupId: groupId(1) }),
  storedKey(2, 'nlp-batch', { groupId: groupId(3), mayCreate: true }),
  storedKey(3, 'nlp-agent', { parentId: keyId(2) }),
  storedKey(4, 'laptop'),
];
const TREE = alone('groups', { ...STORED, groups: GROUPS, keys: KEYS });

function rowsOf(model: Model): string[] {
  return shownRows(model).map((row) => `${'  '.repeat(row.depth)}${nameOfRow(row)}`);
}

function usersOf(...names: readonly string[]): StoredUser[] {
  return names.map((name) => storedUser(FREE.record, name));
}

function usersRead(users: readonly StoredUser[], more: Partial<Extract<Event, { kind: 'users' }>> = {}): Event {
  return { kind: 'users', ownerId: groupId(1), after: '', users, hasMore: false, ...more };
}

/** With the free tier unfolded, which is the first row, and these end users read. */
function unfolded(users: readonly StoredUser[], more: Partial<Extract<Event, { kind: 'users' }>> = {}): Model {
  return after(press(TREE, 'right').model, usersRead(users, more));
}

function named(model: Model): string | undefined {
  const row = currentRow(model);
  return row && nameOfRow(row);
}

/** The screen after the cursor has gone down to a row. */
function at(model: Model, name: string): Model {
  const next = press(
    model,
    'home',
    ...Array<string>(
      rowsOf(model)
        .map((each) => each.trim())
        .indexOf(name),
    ).fill('down'),
  );
  assert.equal(named(next.model), name);
  return next.model;
}

describe('the tree', () => {
  test('has the groups that are in none, and the keys that are in none as one row', () => {
    assert.deepEqual(rowsOf(TREE), ['@free', '@research', 'in no group']);
  });

  test('says whole that a group has no end users, where the states are long', () => {
    const spent = storedGroup(2, 'research', { spendLimitNanos: USD }, { costNanos: USD });
    const tree = alone('groups', { ...STORED, groups: [FREE, spent] });
    const screen = screenText(after(press(tree, 'right').model, usersRead([])));
    assert.match(screen, /✕ spent, resets/);
    assert.match(screen, /^ +no users *$/m);
  });

  test('offers in the last line what works on the row', () => {
    const tree = { ...unfolded(usersOf('zoe')), columns: 200 };
    for (const row of ['@free', 'app-free', 'zoe', 'in no group']) {
      const model = at(tree, row);
      const line = screenText(model).split('\n').at(-1) ?? '';
      for (const hint of ['e d on/off', 'l limits', 'U users', 'm models', 'M move', 'D delete']) {
        const pressed = press(model, hint[0] as string);
        const does = pressed.effects.length > 0 || pressed.model.dialog !== undefined;
        assert.equal(line.includes(`  ${hint}`), does, `${hint} on ${row}: ${line}`);
      }
      assert.match(line, / n new .* \? help$/);
    }
  });

  test('unfolds to the groups and keys inside, and keys to those that they have made', () => {
    const model = press(at(TREE, '@research'), 'right', 'down', 'enter', 'down', 'enter').model;
    assert.deepEqual(rowsOf(model), [
      '@free',
      '@research',
      '  @nlp',
      '    nlp-batch',
      '      nlp-agent',
      'in no group',
    ]);
    assert.deepEqual(rowsOf(press(at(TREE, 'in no group'), 'enter').model).slice(-2), ['in no group', '  laptop']);
  });

  test('← folds a row, and from within it goes out', () => {
    const model = press(at(TREE, '@research'), 'right', 'down', 'right', 'down').model;
    assert.equal(named(model), 'nlp-batch');
    const out = press(model, 'left').model;
    assert.equal(named(out), '@nlp');
    assert.deepEqual(rowsOf(press(out, 'left', 'left', 'left').model), rowsOf(TREE));
  });

  test('asks for end users only where they have limits', () => {
    assert.deepEqual(press(TREE, 'right').effects, [{ kind: 'load_users' }]);
    assert.deepEqual(press(at(TREE, '@research'), 'right').effects, []);
  });

  test('keeps what is inside of a group there, whatever it is ordered by', () => {
    const all = press(at(TREE, '@research'), 'right').model;
    const byCost = press(all, ...Array<string>(7).fill('s')).model;
    assert.equal(byCost.lists.groups.sort?.by, 'cost');
    assert.deepEqual(rowsOf(byCost), ['@research', '  @nlp', '@free', 'in no group']);
  });

  test('is searched where it is folded, too', () => {
    const found = press(TREE, '/', ...letters('nlp'), 'enter').model;
    assert.deepEqual(rowsOf(found), ['  @nlp', '    nlp-batch', '      nlp-agent']);
    assert.deepEqual(rowsOf(press(TREE, '/', ...letters('kind:group cost>5'), 'enter').model), ['@research']);
  });

  test('is found by the palette, with what it is in unfolded', () => {
    const { model } = press(alone('overview', TREE.stored), ':', ...letters('@nlp'), 'enter');
    assert.equal(named(model), '@nlp');
    assert.match(screenText(model), /^group +@research$/m);
    assert.equal(press(model, 'escape', 'escape').model.view, 'overview');
  });
});

describe('of end users', () => {
  test('a page is shown, and the next one is asked for by the last name of this one', () => {
    const first = unfolded(usersOf('ann', 'bob'), { hasMore: true });
    assert.deepEqual(rowsOf(first).slice(1, 5), ['  app-free', '  ann', '  bob', '  … more']);
    const turned = press(at(first, '… more'), 'enter');
    assert.deepEqual(turned.effects, [{ kind: 'load_users' }]);
    assert.deepEqual(turned.model.groups.users.get(groupId(1))?.starts, ['', 'bob']);
    const second = after(turned.model, usersRead(usersOf('cleo'), { after: 'bob' }));
    assert.deepEqual(rowsOf(second).slice(1, 4), ['  app-free', '  … earlier', '  cleo']);
    const back = press(at(second, '… earlier'), 'enter').model;
    assert.deepEqual(back.groups.users.get(groupId(1))?.starts, ['']);
  });

  test('a page that nobody waits for any more is dropped', () => {
    const turned = press(at(unfolded(usersOf('ann'), { hasMore: true }), '… more'), 'enter').model;
    assert.equal(after(turned, usersRead(usersOf('late'))), turned);
    const folded = press(at(turned, '@free'), 'left').model;
    assert.equal(after(folded, usersRead(usersOf('late'))), folded);
  });

  test('a name that is looked for is read, on whatever page it is', () => {
    const { model, effects } = press(unfolded(usersOf('ann'), { hasMore: true }), '/', ...letters('zoe'), 'enter');
    assert.deepEqual(effects, [{ kind: 'load_users' }]);
    const [, after = ''] = model.groups.users.get(groupId(1))?.starts ?? [];
    assert.ok('zod' < after && 'zodzz' < after && after < 'zoe', after);
  });

  test('the cursor stays on its row as others come', () => {
    const model = at(unfolded(usersOf('ann', 'zoe')), 'zoe');
    assert.equal(named(after(model, usersRead(usersOf('ann', 'bob', 'zoe')))), 'zoe');
  });

  test('the details have a bar for each budget', () => {
    const spends = [fixedSpend({ period: 'day', limitNanos: USD }, USD / 2n, NOW_MS + 3_600_000, NOW_MS)];
    const zoe = storedUser(FREE.record, 'zoe', { rpm: 60 }, {}, spends);
    const screen = screenText(press(at(unfolded([zoe]), 'zoe'), 'enter').model);
    assert.match(screen, /^day +███░░░ 0\.50 of 1\.00 USD/m);
    assert.match(screen, /^own +60 requests per minute$/m);
  });

  test('Enter goes from the details on to the requests of the end user, of their key where it is one', () => {
    const { model } = press(at(unfolded(usersOf('zoe')), 'zoe'), 'enter', 'enter');
    assert.deepEqual([model.view, model.lists.requests.filter.text], ['requests', 'user=zoe']);
    const hostile = press(at(unfolded(usersOf('a\u202eb')), 'a\u202eb'), 'enter', 'enter').model;
    assert.equal(hostile.lists.requests.filter.text, 'user="a b"', 'as the journal has the name');
    const key = storedKey(5, 'app', { userLimits: NO_USER_LIMITS });
    const wide = { columns: 160, rows: 40 };
    const alonely = press(
      alone('groups', { ...STORED, groups: [], keys: [key] }, wide),
      'enter',
      'down',
      'enter',
    ).model;
    const users = [storedUser(key.record, 'zoe')];
    const read = after(alonely, usersRead(users, { ownerId: keyId(5) }));
    assert.equal(press(at(read, 'zoe'), 'enter').model.lists.requests.filter.text, 'user=zoe key=app');
  });
});

/** The effect of these key presses. */
function actionOf(model: Model, ...keys: readonly string[]): unknown {
  const effect = press(model, ...keys).effects.at(-1);
  return effect?.kind === 'act' ? effect.action : effect;
}

describe('changes', () => {
  const zoe = { kind: 'user', ownerId: groupId(1), name: 'zoe' } as const;
  const free = { kind: 'group', groupId: groupId(1) } as const;
  const users = unfolded([storedUser(FREE.record, 'zoe', { rpm: 60 })]);

  test('n creates a group in the one where the cursor is', () => {
    const inside = at(press(at(TREE, '@research'), 'right').model, '@nlp');
    const terms = { rpm: null, tpm: null, concurrency: null, spendLimitNanos: null, budgets: DAY, allowlist: null };
    const typed = [...letters('batch'), ...Array<string>(6).fill('down'), ...letters('day=1')];
    const action = actionOf(inside, 'n', ...typed, 'enter') as Extract<Action, { kind: 'create_group' }>;
    assert.deepEqual(
      { ...action, outer: action.outer?.id },
      { kind: 'create_group', name: 'batch', terms, outer: groupId(2) },
    );
    assert.equal(
      shellLine(commandsOf(action, undefined), undefined),
      'inf-gw groups create --in @research --budget day=1.00 batch',
    );
  });

  test('a name that is taken and a group that is none are said in the form', () => {
    const screen = screenText(press(TREE, 'n', ...letters('nlp'), 'down', ...letters('@gone'), 'enter').model);
    assert.match(screen, /a group named "nlp" already exists/);
    assert.match(screen, /no such group: "gone"/);
  });

  test('l sets what was touched: of a group, and of one end user', () => {
    assert.deepEqual(actionOf(TREE, 'l', 'ctrl+u', ...letters('7'), 'enter'), {
      kind: 'set_level_limits',
      level: free,
      limits: { rpm: 7 },
    });
    const limits = { rpm: null, budgets: [{ period: 'day', limitNanos: 5n * USD }] };
    const typed = ['ctrl+u', ...Array<string>(4).fill('down'), ...letters('day=5'), 'enter'];
    assert.deepEqual(actionOf(at(users, 'zoe'), 'l', ...typed), { kind: 'set_level_limits', level: zoe, limits });
  });

  test('e and d switch a group, and block an end user', () => {
    assert.deepEqual(actionOf(TREE, 'd', 'y'), { kind: 'set_level_state', level: free, state: 'disabled' });
    assert.deepEqual(actionOf(TREE, 'e'), { kind: 'set_level_state', level: free, state: 'enabled' });
    assert.match(screenText(press(at(users, 'zoe'), 'd').model), /Block zoe\?/);
    assert.deepEqual(actionOf(at(users, 'zoe'), 'd', 'y'), { kind: 'set_level_state', level: zoe, state: 'disabled' });
  });

  test('U sets what each end user may do: of a group, and of a key', () => {
    const typed = [...Array<string>(4).fill('down'), 'ctrl+u', 'down', ...letters('yes'), 'enter'];
    const ofGroup = actionOf(TREE, 'U', ...typed) as Action;
    assert.deepEqual(ofGroup, { kind: 'set_user_limits', level: free, limits: { budgets: [], required: true } });
    assert.equal(
      shellLine(commandsOf(ofGroup, { kind: 'group', record: FREE.record }), undefined),
      'inf-gw limits set @free --user-budget none --user-required',
    );
    const ofKey = actionOf(at(users, 'app-free'), 'U', ...letters('7'), 'enter');
    assert.deepEqual(ofKey, { kind: 'set_user_limits', keyId: keyId(1), limits: { rpm: 7 } });
    const wrong = screenText(press(TREE, 'U', ...Array<string>(5).fill('down'), ...letters('maybe'), 'enter').model);
    assert.match(wrong, /Expected yes or no/);
    assert.match(screenText(press(TREE, 'U', 'enter').model), /No field was changed/);
  });

  test('m chooses the models of a group', () => {
    const action = actionOf(TREE, 'm', 'x', 'enter') as Action;
    assert.deepEqual(action, { kind: 'set_group_allowlist', level: free, models: [] });
    const said = shellLine(commandsOf(action, { kind: 'group', record: FREE.record }), undefined);
    assert.match(said, /^inf-gw allowlist set @free no\/model && inf-gw allowlist remove @free no\/model$/);
  });

  test('M moves a key or a group into a group, or out of all', () => {
    const outer = { id: groupId(3), name: 'nlp' };
    const { outer: into, ...moved } = actionOf(TREE, 'M', ...letters('@nlp'), 'enter') as Extract<
      Action,
      { kind: 'move' }
    >;
    assert.deepEqual([moved, into?.id], [{ kind: 'move', level: free }, outer.id]);
    const out = actionOf(at(users, 'app-free'), 'M', 'ctrl+u', 'enter') as Action;
    assert.deepEqual(out, { kind: 'move', keyId: keyId(1), outer: undefined });
    const [key] = KEYS;
    assert.equal(shellLine(commandsOf(out, key?.record), undefined), 'inf-gw keys move app-free --to none');
    const within = at(press(TREE, 'down', 'right').model, '@nlp');
    assert.match(screenText(press(within, 'M').model), /Move @nlp[\s\S]*To the group +research/);
    assert.match(screenText(press(TREE, 'M', ...letters('gone'), 'enter').model), /no such group: "gone"/);
  });

  test('D says of a key how many go with it that it has made', () => {
    const inside = press(at(TREE, '@research'), 'right', 'down', 'right', 'down');
    assert.equal(named(inside.model), 'nlp-batch');
    assert.match(screenText(press(inside.model, 'D').model), /│ Its 1 child key is deleted, too\. Its requests are/);
  });

  test('D deletes a group once its name is typed, and says where that goes which is in it', () => {
    const asked = press(at(TREE, '@research'), 'D').model;
    assert.match(screenText(asked), /│ 1 group in it is then in no group\./);
    const action = actionOf(asked, ...letters('research'), 'enter') as Action;
    const research = { kind: 'group', groupId: groupId(2) } as const;
    assert.deepEqual(action, { kind: 'delete_group', level: research, isEmptied: true });
    const subject: LevelSubject = { kind: 'group', record: RESEARCH.record };
    assert.equal(shellLine(commandsOf(action, subject), undefined), 'inf-gw groups delete @research --yes');
    const empty = alone('groups', { ...STORED, groups: [FREE], keys: [] });
    const alonely = actionOf(press(empty, 'D').model, ...letters('free'), 'enter');
    assert.deepEqual(alonely, { kind: 'delete_group', level: free, isEmptied: false });
    assert.equal(actionOf(asked, ...letters('resear'), 'enter'), undefined);
  });

  test('on a key they do what they do in Keys', () => {
    assert.deepEqual(actionOf(at(users, 'app-free'), 'd', 'y'), {
      kind: 'set_state',
      keyId: keyId(1),
      state: 'disabled',
    });
  });

  test('a read-only dashboard refuses them', () => {
    for (const key of ['n', 'l', 'd', 'e', 'U', 'm', 'M', 'D']) {
      assert.match(screenText(press({ ...TREE, isReadOnly: true }, key).model), /This dashboard is read-only/);
    }
  });
});

describe('u undoes', () => {
  const outcome = { kind: 'outcome', text: 'Done.', tone: 'good' } as const;
  const level = { kind: 'group', groupId: groupId(1) } as const;
  const group: LevelSubject = { kind: 'group', record: FREE.record };
  const record = { ...NO_USER_LIMITS, ownerId: groupId(1), name: 'zoe', state: 'enabled', rpm: 60 } as const;
  const user: LevelSubject = { kind: 'user', record, owner: '@free' };
  const zoe = { kind: 'user', ownerId: groupId(1), name: 'zoe' } as const;
  const cases: readonly (readonly [
    what: string,
    action: Action,
    before: LevelSubject,
    undo: Action,
    command: string,
  ])[] = [
    [
      'the state of a group',
      { kind: 'set_level_state', level, state: 'disabled' },
      group,
      { kind: 'set_level_state', level, state: 'enabled' },
      'inf-gw keys enable @free',
    ],
    [
      'the limits of a group',
      { kind: 'set_level_limits', level, limits: { rpm: 7, tpm: 9 } },
      group,
      { kind: 'set_level_limits', level, limits: { rpm: 90, tpm: null } },
      'inf-gw limits set @free --rpm 90 --tpm none',
    ],
    [
      'the limits of an end user',
      { kind: 'set_level_limits', level: zoe, limits: { rpm: null, budgets: DAY } },
      user,
      { kind: 'set_level_limits', level: zoe, limits: { rpm: 60, budgets: [] } },
      'inf-gw users set --rpm 60 --budget none --key @free zoe',
    ],
    [
      'what each end user may do',
      { kind: 'set_user_limits', level, limits: { rpm: null, tpm: 9, required: true } },
      group,
      { kind: 'set_user_limits', level, limits: { rpm: 5, tpm: null, required: false } },
      'inf-gw limits set @free --user-rpm 5 --user-tpm none --user-required off',
    ],
    [
      'the models of a group',
      { kind: 'set_group_allowlist', level, models: ['mock/echo'] },
      group,
      { kind: 'set_group_allowlist', level, models: null },
      'inf-gw allowlist clear @free',
    ],
    [
      'that a group was moved',
      { kind: 'move', level, outer: NLP.record },
      group,
      { kind: 'move', level, outer: undefined },
      'inf-gw keys move @free --to none',
    ],
    [
      'that an end user was blocked',
      { kind: 'set_level_state', level: zoe, state: 'disabled' },
      user,
      { kind: 'set_level_state', level: zoe, state: 'enabled' },
      'inf-gw users unblock --key @free zoe',
    ],
  ];
  for (const [what, action, before, undo, command] of cases) {
    test(what, () => {
      const done = after(TREE, { kind: 'done', action, before, undoes: undefined, atMs: NOW_MS, outcome });
      const asked = press(done, 'u');
      const { effects } = update(asked.model, { kind: 'key', key: 'y' });
      assert.deepEqual(effects, [{ kind: 'act', action: undo, undoes: 1 }]);
      const said = screenText(asked.model).replaceAll(/ *│\n *│ +/g, ' ');
      assert.ok(said.includes(command), said);
    });
  }
});

test('in Keys, a key whose group is disabled says so, and by which', () => {
  const off = { ...RESEARCH, record: { ...RESEARCH.record, state: 'disabled' as const } };
  const { model } = press(alone('keys', { ...STORED, groups: [FREE, off, NLP], keys: KEYS }), ...letters('/state:dis'));
  const text = screenText(press(model, 'enter', 'enter').model);
  assert.match(text, /2 of 4/);
  assert.match(text, /^nlp-batch +disabled/m);
  assert.match(text, /^nlp-agent +disabled/m);
  assert.match(text, /^state +disabled by @research/m);
});

test('in Groups, what is in a disabled group says so, and by which', () => {
  const off = { ...RESEARCH, record: { ...RESEARCH.record, state: 'disabled' as const } };
  const tree = alone('groups', { ...STORED, groups: [FREE, off, NLP], keys: KEYS });
  const { model } = press(tree, ...letters('/state:dis'), 'enter', 'j', 'enter', 'enter');
  const text = screenText({ ...model, columns: 100 });
  for (const name of ['@nlp', 'nlp-batch', 'nlp-agent'])
    assert.match(text, new RegExp(`^[ ▸▾]+${name} +disabled`, 'm'));
  assert.match(text, /^state +disabled by @research/m);
});

test('in Keys, a key whose maker is disabled says so, and by which', () => {
  const keys = KEYS.map((key) =>
    key.record.name === 'nlp-batch' ? { ...key, record: { ...key.record, state: 'disabled' as const } } : key,
  );
  const { model } = press(alone('keys', { ...STORED, groups: GROUPS, keys }), ...letters('/nlp-agent'));
  assert.match(screenText(press(model, 'enter', 'enter').model), /^state +disabled by nlp-batch/m);
});

test('in Keys, a key whose maker has expired says so, and with which', () => {
  const keys = KEYS.map((key) =>
    key.record.name === 'nlp-batch' ? { ...key, record: { ...key.record, expiresAtMs: NOW_MS } } : key,
  );
  const shown = (filter: string) => {
    const { model } = press(alone('keys', { ...STORED, groups: GROUPS, keys }), ...letters(`/${filter}`));
    return screenText(press(model, 'enter', 'enter').model);
  };
  assert.match(shown('state:exp'), /2 of 4/);
  assert.match(shown('nlp-agent'), /^state +✕ expired with nlp-batch/m);
});
