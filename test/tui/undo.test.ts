/** What was done in the dashboard is remembered, shown with its command, and undone one by one. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type KeyRecord, NO_TERMS } from '../../src/state/keys.ts';
import type { AnyAction } from '../../src/tui/actions.ts';
import type { Model, Stored } from '../../src/tui/model.ts';
import type { Event } from '../../src/tui/update/step.ts';
import { after, keyId, NOW_MS, press, STORED, screenText, serving } from './samples.ts';

const [web, batch, laptop] = STORED.keys.map(({ record }) => record) as [KeyRecord, KeyRecord, KeyRecord];
const { allowlist: _, ...NO_LIMITS } = NO_TERMS;
const SECRET = 'sk-inf-abcdefghijklmnopqrstuvwxyzabcdefghijklmnop';

function done(action: AnyAction, text: string, before?: KeyRecord, more: Partial<Event> = {}): Event {
  const outcome = { kind: 'outcome', text, tone: 'good' } as const;
  return { kind: 'done', action, before, undoes: undefined, atMs: NOW_MS, outcome, ...more } as Event;
}

const BOUNDS = { budgets: [{ period: 'day', limitNanos: 5_000_000_000n }], expiresAtMs: Date.UTC(2027, 0, 31) };
const bounded = { ...batch, ...NO_LIMITS, ...BOUNDS };

const disabled = done({ kind: 'set_state', keyId: web.id, state: 'disabled' }, 'web-app is disabled.', web);
const limited = done(
  { kind: 'set_limits', keyId: batch.id, limits: NO_LIMITS },
  'The limits of batch-jobs are in effect.',
  batch,
);
const allowed = done({ kind: 'set_allowlist', keyId: laptop.id, models: null }, 'laptop may call every model.', laptop);
const created = done({ kind: 'create', name: 'app', terms: NO_TERMS }, '', undefined, {
  outcome: { kind: 'key_created', name: 'app', secret: SECRET },
});
const paid = done({ kind: 'add_credit', nanos: 5n, note: '' }, 'The balance is 5.00 USD.');
const removed = done({ kind: 'set_state', keyId: keyId(9), state: 'deleted' }, 'old is deleted.', {
  ...web,
  id: keyId(9),
});

/** The state after these changes of keys. */
function stored(changes: Readonly<Record<string, Partial<KeyRecord>>>): Event {
  const keys = STORED.keys.map((key) => ({ ...key, record: { ...key.record, ...changes[key.record.name] } }));
  return { kind: 'stored', stored: { ...STORED, keys } satisfies Stored };
}

const start = serving('keys');

describe('undoing', () => {
  const cases: readonly (readonly [what: string, event: Event, now: Event, action: AnyAction, command: RegExp])[] = [
    [
      'a state',
      disabled,
      stored({ 'web-app': { state: 'disabled' } }),
      { kind: 'set_state', keyId: web.id, state: 'enabled' },
      /undone with +inf-gw keys enable web-app/,
    ],
    [
      'limits',
      limited,
      stored({ 'batch-jobs': NO_LIMITS }),
      { kind: 'set_limits', keyId: batch.id, limits: { rpm: 60, tpm: 100_000 } },
      /undone with +inf-gw limits set batch-jobs --rpm 60 --tpm 100000/,
    ],
    [
      'budgets and an end',
      done({ kind: 'set_limits', keyId: batch.id, limits: NO_LIMITS }, 'The limits are in effect.', bounded),
      stored({ 'batch-jobs': NO_LIMITS }),
      { kind: 'set_limits', keyId: batch.id, limits: BOUNDS },
      /undone with +inf-gw limits set batch-jobs --budget day=5\.00 --expires [ │\n]+2027-01-31T00:00:00Z/,
    ],
    [
      'an allowlist',
      allowed,
      stored({ laptop: { allowlist: null } }),
      { kind: 'set_allowlist', keyId: laptop.id, models: ['mock/echo'] },
      /undone with +inf-gw allowlist set laptop mock\/echo/,
    ],
  ];
  for (const [what, event, now, action, command] of cases) {
    test(`${what} asks first, names the command, and brings back what was there`, () => {
      const asked = press(after(start, event, now), 'u');
      assert.deepEqual(asked.effects, []);
      assert.match(screenText(asked.model), command);
      assert.match(screenText(asked.model), /gets back what it had before\./);
      assert.deepEqual(press(asked.model, 'y').effects, [{ kind: 'act', action, undoes: 1 }]);
      assert.deepEqual(press(asked.model, 'n').effects, []);
    });
  }

  test('says so if the key has been changed since', () => {
    const changed = after(start, limited, stored({ 'batch-jobs': { ...NO_LIMITS, rpm: 7 } }));
    assert.match(screenText(press(changed, 'u').model), /batch-jobs has been changed again since, and not here/);
  });

  test('works back one by one, past what has been undone', () => {
    const both = after(start, disabled, limited, stored({ 'web-app': { state: 'disabled' }, 'batch-jobs': NO_LIMITS }));
    const back = done({ kind: 'set_limits', keyId: batch.id, limits: batch }, 'The limits are in effect.', batch, {
      undoes: 2,
    });
    const first = after(both, back, stored({ 'web-app': { state: 'disabled' } }));
    const { dialog } = press(first, 'u').model;
    assert.ok(dialog?.kind === 'confirm');
    assert.deepEqual([dialog.undoes, dialog.action], [1, { kind: 'set_state', keyId: web.id, state: 'enabled' }]);
    const last = after(first, done(dialog.action as AnyAction, 'web-app is enabled.', web, { undoes: 1 }), stored({}));
    assert.match(screenText(press(last, 'u').model), /Nothing was changed here that could be undone\./);
  });

  test('what failed leaves it to be undone again', () => {
    const failed = { undoes: 1, outcome: { kind: 'outcome', text: 'no disk', tone: 'bad' } } as const;
    const tried = after(start, disabled, done({ kind: 'set_state', keyId: web.id, state: 'enabled' }, '', web, failed));
    const { dialog } = press(tried, 'u').model;
    assert.ok(dialog?.kind === 'confirm' && dialog.undoes === 1);
  });

  test('does not go past a last change that cannot be undone', () => {
    const { model } = press(after(start, disabled, paid), 'u');
    assert.equal(model.dialog, undefined);
    assert.match(screenText(model), /This cannot be undone: The balance is 5\.00 USD\./);
    const afterCreating = press(press(after(start, disabled, created), 'enter').model, 'u').model;
    assert.match(screenText(afterCreating), /This cannot be undone: Created key app\./);
  });

  test('says afterwards that it was', () => {
    const back = done({ kind: 'set_state', keyId: web.id, state: 'enabled' }, 'web-app is enabled.', web, {
      undoes: 1,
    });
    assert.match(screenText(after(start, disabled, back)), /Undone: web-app is enabled\./);
  });

  test('says so where nothing else was done', () => {
    for (const [event, text] of [
      [paid, /This cannot be undone: The balance is 5\.00 USD\./],
      [removed, /This cannot be undone: old is deleted\./],
    ] as const)
      assert.match(screenText(press(after(start, event), 'u').model), text);
    assert.match(screenText(press(start, 'u').model), /Nothing was changed here that could be undone\./);
  });

  test('a change that changed nothing is passed over', () => {
    const same = done({ kind: 'set_state', keyId: web.id, state: 'enabled' }, 'web-app is enabled.', web);
    const { dialog } = press(after(start, disabled, same), 'u').model;
    assert.ok(dialog?.kind === 'confirm' && dialog.undoes === 1);
  });
});

describe('@ shows what was done', () => {
  const shown = (model: Model) => screenText(press(model, '@').model);

  test('newest first, with the time and the command, which names the config', () => {
    const screen = shown({ ...after(start, disabled, paid), configOption: '/etc/my gw.yaml' });
    assert.match(
      screen,
      /12:00:00 {2}The balance is 5\.00 USD\. .*\n.* inf-gw -c '\/etc\/my gw\.yaml' credit add 0\.000000005 .*\n.*12:00:00 {2}web-app is disabled\. .*\n.* inf-gw -c '\/etc\/my gw\.yaml' keys disable web-app /,
    );
  });

  test('and never a key that was created', () => {
    const model = press(after(start, created), 'enter').model;
    assert.match(shown(model), /Created key app\. .*\n.* inf-gw keys create app /);
    assert.doesNotMatch(
      JSON.stringify(model.done, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
      /sk-inf-a/,
    );
  });

  test('which can be scrolled to its end, and is bounded', () => {
    const many = after(
      start,
      ...Array.from({ length: 300 }, (_, index) => done({ kind: 'reload' }, `number ${index}.`)),
    );
    assert.equal(many.done.length, 200);
    assert.match(shown(many), /number 299\./);
    assert.match(screenText(press(many, '@', 'end').model), /number 100\./);
  });

  test('or that nothing was', () => assert.match(shown(start), /Nothing yet\./));
});
