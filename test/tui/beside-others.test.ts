/** The limits of a key that others change while a dashboard does: each changes only what was asked for. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { loadConfig } from '../../src/config/load.ts';
import { mintKey } from '../../src/core/api-key.ts';
import { termText } from '../../src/operator/terms.ts';
import { type KeyRecord, NO_TERMS } from '../../src/state/keys.ts';
import { openState } from '../../src/state/open.ts';
import { commandsOf, shellLine } from '../../src/tui/command-line.ts';
import type { Model } from '../../src/tui/model.ts';
import { Store } from '../../src/tui/store.ts';
import { after, alone, letters, NOW_MS, press, screenText } from './samples.ts';

const HOUR_MS = 3_600_000;
const BUDGETS = [{ period: 'day', limitNanos: 1_000_000_000n }];
const FORM = ['l', ...letters('7')];

/** A dashboard that shows one key without limits, and the state as others open it. */
async function desk(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-beside-'));
  const config = loadConfig({ path: undefined, environment: {}, directory });
  const others = await openState(config.state, 'crash');
  const store = await Store.open(config);
  t.after(async () => {
    await store.close();
    await others.close();
    rmSync(directory, { recursive: true });
  });
  const made = await others.keys.create(mintKey(), { ...NO_TERMS, name: 'app' }, NOW_MS);
  assert.ok(made.kind === 'done');
  const { id } = made.key;
  const read = async (model: Model) => after(model, { kind: 'stored', stored: await store.read(NOW_MS) });

  /** Carries out what the last of these key presses asks for. */
  const act = async (model: Model, ...keys: readonly string[]) => {
    const pressed = press(model, ...keys);
    const [effect] = pressed.effects;
    assert.ok(effect?.kind === 'act' && effect.action.kind === 'set_limits');
    const { action, undoes } = effect;
    const { before, outcome } = await store.run(action, NOW_MS);
    assert.ok(outcome.kind === 'outcome' && outcome.tone === 'good');
    const done = { kind: 'done', action, before, undoes, atMs: NOW_MS, outcome } as const;
    return { model: await read(after(pressed.model, done)), command: shellLine(commandsOf(action, before), undefined) };
  };
  return {
    start: alone('keys', await store.read(NOW_MS)),
    read,
    act,
    /** Somebody else sets a budget and an end. */
    boundByOthers: () => others.keys.setLimits(id, { budgets: () => BUDGETS, expiresAtMs: NOW_MS + HOUR_MS }, NOW_MS),
    others: others.keys,
    id,
    terms: async () => {
      const { rpm, tpm, ...key } = (await others.keys.find(id)) as KeyRecord;
      return { rpm, tpm, budgets: termText('budgets', key), expiresAtMs: key.expiresAtMs };
    },
  };
}

const BOUND = { tpm: null, budgets: 'day=1.00', expiresAtMs: NOW_MS + HOUR_MS };

test('a form leaves what others set while it was open, as the command that it names does', async (t) => {
  const { start, act, boundByOthers, terms } = await desk(t);
  const { model } = press(start, ...FORM);
  await boundByOthers();
  const { command } = await act(model, 'enter');
  assert.deepEqual(await terms(), { ...BOUND, rpm: 7 });
  assert.equal(command, 'inf-gw limits set app --rpm 7');
});

test('undoing leaves what others set since, and has nothing to warn of', async (t) => {
  const { start, act, read, boundByOthers, terms } = await desk(t);
  const { model } = await act(start, ...FORM, 'enter');
  await boundByOthers();
  const asked = press(await read(model), 'u').model;
  assert.match(screenText(asked), /app gets back what it had before\./);
  const { command } = await act(asked, 'y');
  assert.deepEqual(await terms(), { ...BOUND, rpm: null });
  assert.equal(command, 'inf-gw limits set app --rpm default');
});

test('undoing leaves a limit that others had set already, and then set again', async (t) => {
  const { start, act, read, others, id, terms } = await desk(t);
  const { model } = press(start, ...FORM, 'tab', ...letters('9'));
  await others.setLimits(id, { rpm: 7 });
  const done = await act(model, 'enter');
  await others.setLimits(id, { rpm: 8 });
  const asked = press(await read(done.model), 'u').model;
  assert.match(screenText(asked), /app gets back what it had before\./);
  await act(asked, 'y');
  assert.deepEqual(await terms(), { rpm: 8, tpm: null, budgets: '', expiresAtMs: null });
});
