/** Acting where things are shown: keys in groups, blocked end users, copies, and what the palette reaches. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '../../src/tui/model.ts';
import {
  alone,
  endedRow,
  groupId,
  keyId,
  letters,
  press,
  SNAPSHOT,
  STORED,
  screenText,
  serving,
  storedGroup,
  storedKey,
} from './samples.ts';

const nlp = storedGroup(2, 'nlp', { groupId: groupId(1) });
const research = storedGroup(1, 'research', {
  userLimits: { rpm: 5, tpm: null, concurrency: null, spendLimitNanos: null, budgets: [], required: false },
});
const keys = [storedKey(1, 'web-app', { groupId: groupId(2) }), storedKey(2, 'batch-jobs')];
const stored = { ...STORED, groups: [research, nlp], keys };
const groups = alone('groups', stored);

function lastEffect(model: Model, ...typed: readonly string[]) {
  return press(model, ...typed).effects.at(-1);
}

describe('a key in a group', () => {
  const outer = { id: groupId(1), name: 'research' };

  test('is created with N in Groups, in the group under the cursor', () => {
    const effect = lastEffect(groups, 'N', ...letters('app'), 'enter');
    assert.ok(effect?.kind === 'act' && effect.action.kind === 'create');
    assert.equal(effect.action.outer?.id, outer.id);
  });

  test('gets its group by Ctrl-O in the form', () => {
    const form = press(alone('keys', stored), 'n', ...letters('app'), 'up', 'up', 'ctrl+o').model;
    assert.match(screenText(form), /Put it into a group[\s\S]*@nlp[\s\S]*@research/);
    const effect = lastEffect(form, 'down', 'enter', 'enter');
    assert.ok(effect?.kind === 'act' && effect.action.kind === 'create');
    assert.equal(effect.action.outer?.name, 'research');
  });
});

test('* unfolds all groups, and folds them again', () => {
  const rows = (model: Model) => screenText(model).match(/^ *[▸▾] @\w+/gm) ?? [];
  assert.equal(rows(groups).length, 1);
  const unfolded = press(groups, '*').model;
  assert.equal(rows(unfolded).length, 2);
  assert.equal(rows(press(unfolded, '*').model).length, 1);
});

describe('b blocks the end user of a request', () => {
  const recent = [endedRow(1, 'ok', { user: 'zoe', key_id: keyId(1) })];
  const live = { ...serving('live', { ...SNAPSHOT, live: [], recent }), stored };

  test('at the innermost level that has end users', () => {
    const asked = press(live, 'b').model;
    assert.match(screenText(asked), /Block zoe\?[\s\S]*with @research/);
    const level = { kind: 'user', ownerId: groupId(1), name: 'zoe' };
    assert.deepEqual(lastEffect(asked, 'y'), {
      kind: 'act',
      action: { kind: 'set_level_state', level, state: 'disabled' },
    });
  });

  test('and says where none is named', () => {
    assert.match(screenText(press(serving('live'), 'b').model), /No end user is named here/);
  });
});

describe('y copies', () => {
  test('the id of the row under the cursor', () => {
    assert.deepEqual(lastEffect(alone('keys', stored), 'y'), { kind: 'copy', text: keyId(2) });
    assert.deepEqual(lastEffect(serving('models'), 'y'), { kind: 'copy', text: 'openai/gpt-4o-mini' });
  });

  test('nothing where no row is chosen', () => {
    const { model, effects } = press(serving(), 'y');
    assert.deepEqual([effects, model.message?.text], [[], 'No row is chosen.']);
  });
});

test('p writes the screen', () => {
  assert.deepEqual(lastEffect(serving(), 'p'), { kind: 'picture' });
});

describe('the palette reaches', () => {
  test('a provider and its failures', () => {
    const { model } = press(serving('keys'), ':', ...letters('claude'), 'down', 'enter');
    const found = press(serving('keys'), ':', ...letters('provider claude')).model;
    assert.match(screenText(found), /provider +claude/);
    assert.ok(model.view === 'overview' || model.view === 'requests');
  });

  test('a request by its id', () => {
    const id = `req_${'0'.repeat(26)}`;
    const { model } = press(serving('keys'), ':', ...letters(id), 'enter');
    assert.deepEqual([model.view, model.lists.requests.filter.text], ['requests', id]);
  });
});
