/** Whether a state has changed, which the dashboard asks before it reads everything again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeyRecord } from '../../src/state/keys.ts';
import type { OpenState } from '../../src/state/state.ts';
import { enter, enterHeld, holdOf, makeKey, NOON, onEachStore, type Stage, USD } from './stage.ts';

interface Change {
  readonly what: string;
  /** Made on a state of its own, as by another process. */
  readonly make: (other: OpenState, key: KeyRecord, stage: Stage) => Promise<unknown>;
}

const CHANGES: readonly Change[] = [
  { what: 'a new key', make: (other) => makeKey(other) },
  { what: 'a rotated key', make: ({ keys }, { id }) => keys.rotate(id, `sk-inf-${'x'.repeat(40)}`, NOON) },
  { what: 'a disabled key', make: ({ keys }, { id }) => keys.setState(id, 'disabled') },
  { what: 'a deleted key', make: ({ keys }, { id }) => keys.setState(id, 'deleted') },
  { what: 'a limit', make: ({ keys }, { id }) => keys.setLimits(id, { rpm: 7 }) },
  { what: 'an allowlist', make: ({ keys }, { id }) => keys.editAllowlist(id, () => []) },
  { what: 'credit', make: ({ account }) => account.enter(USD, '', NOON) },
  { what: 'an admitted request', make: (_, { id }, stage) => stage.hold(holdOf(id, { holdNanos: 1n })) },
  { what: 'a free request that ended', make: (_, { id }, stage) => enter(stage, holdOf(id)) },
  {
    what: 'a correction that changes no figure',
    make: async ({ requests }, { id }, stage) => {
      const requestId = await enterHeld(stage, holdOf(id));
      await stage.state.hasChanged();
      await requests.correct(requestId, 0n, NOON);
    },
  },
];

onEachStore((open) => {
  test('a state that was just opened has changed, and then no more', async (t) => {
    const { state } = await open(t);
    assert.deepEqual(
      [await state.hasChanged(), await state.hasChanged(), await state.hasChanged()],
      [true, false, false],
    );
  });

  for (const { what, make } of CHANGES) {
    test(`${what} is a change, once`, async (t) => {
      const stage = await open(t);
      const key = await makeKey(stage.state);
      const other = await stage.open();
      await stage.state.hasChanged();
      await make(other, key, stage);
      assert.deepEqual([await stage.state.hasChanged(), await stage.state.hasChanged()], [true, false]);
    });
  }

  test('reading is no change', async (t) => {
    const stage = await open(t);
    const { id } = await makeKey(stage.state);
    const other = await stage.open();
    await stage.state.hasChanged();
    await other.keys.list({ withDeleted: true });
    await other.usage.monthOf(id, '2026-11');
    await other.account.balance();
    await other.requests.find('req_1');
    assert.equal(await stage.state.hasChanged(), false);
  });
});
