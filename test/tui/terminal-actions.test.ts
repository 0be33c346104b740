/**
 * Everything the dashboard can do with keys and credit, on a real terminal and checked from
 * outside.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { formatUsd, parseUsd } from '../../src/core/money.ts';
import { usd } from '../../src/operator/format.ts';
import type { BalanceJson, KeyJson, NewKeyJson } from '../support/cli.ts';
import { Desk } from '../support/terminal.ts';

const SECRET = /sk-inf-[0-9A-Za-z]{40,}/;
const PAID = { model: 'mock/paid', max_tokens: 10 };
const NAMES = ['switched', 'doomed', 'rotated', 'limited', 'capped', 'picky'];
const SETTINGS = ['--rpm', '9', '--spend-limit', '2', '--allow', 'mock/echo'];
const TIER = { rpm: 600, tpm: 2_000_000, concurrency: 60 };

test('beside a running gateway, the dashboard does what the commands do', async (t) => {
  const desk = await Desk.open(t);
  const { place } = desk;
  await place.json('credit', 'add', '5');
  const keys = new Map<string, NewKeyJson>();
  for (const name of NAMES) keys.set(name, await place.createKey(name, ...(name === 'rotated' ? SETTINGS : [])));
  const serving = await place.serveHere();
  await desk.dashboard();
  await desk.shows(/● serving/);

  const budgetsOf = ({ budgets }: KeyJson) => budgets.map(({ period, limit_usd: limit }) => `${period} ${limit}`);
  const shown = (name: string) => place.json<KeyJson>('keys', 'show', name);

  /** Moves the cursor to a key with the filter. */
  const selected = async (name: string): Promise<NewKeyJson> => {
    await desk.type('2/');
    await desk.shows(/Keys {2}.* {2}\/ /);
    await desk.press('C-u');
    await desk.type(name);
    await desk.press('Enter');
    await desk.shows(new RegExp(`Keys  1 of \\d+  / ${name}[ \n]`));
    return keys.get(name) as NewKeyJson;
  };

  /** Reads the new key from its dialog, and closes it. */
  const takenSecret = async (): Promise<string> => {
    const key = SECRET.exec(await desk.shows(SECRET))?.[0] ?? '';
    await desk.press('Enter');
    await desk.hides(SECRET);
    return key;
  };

  /** Replaces the fields of a form, from the first on, and submits it. */
  const fillIn = async (...values: string[]): Promise<void> => {
    for (const [index, value] of values.entries()) {
      if (index > 0) await desk.press('Tab');
      await desk.press('C-u');
      await desk.type(value);
    }
    await desk.press('Enter');
  };

  await t.test('a key is created, is copied through the terminal, and works at once', async () => {
    await desk.type('2n');
    await desk.shows(/Create a key/);
    await fillIn('fresh', '11', '50000', '3', '1.5', 'day=2 total=9', '30d');
    await desk.shows(/Created key fresh/);
    await desk.type('c');
    await desk.shows(/│ Copied, /);
    const secret = await takenSecret();
    assert.equal(await desk.clipboard(), secret);
    assert.equal(await serving.chatOutcome(secret, PAID), '200');
    const made = await shown('fresh');
    const { limits, spend_limit_usd: spendLimit, allowlist, preview } = made;
    assert.deepEqual(budgetsOf(made), ['day 2.00', 'total 9.00']);
    assert.ok(Date.parse(made.expires_at ?? '') > Date.now() + 29 * 86_400_000);
    assert.deepEqual([limits, spendLimit, allowlist], [{ rpm: 11, tpm: 50_000, concurrency: 3 }, '1.50', null]);
    assert.equal(preview.slice(-4), secret.slice(-4));
    await desk.shows(/^fresh +enabled .* 1\/11$/m);
  });

  await t.test('a form rejects invalid input with the message of the command, and does nothing', async () => {
    const command = await place.run(['keys', 'create', 'faulty', '--rpm', 'many']);
    const listed = await place.json<KeyJson[]>('keys', 'list');
    await desk.type('2n');
    await desk.shows(/Create a key/);
    await fillIn('', 'many');
    const screen = await desk.shows(/A name has 1 to 64 characters\./);
    const said = /Expected a whole number from 1 to \d+\./.exec(screen)?.[0] ?? 'nothing';
    assert.ok(command.stderr.includes(said), `${said} is not in ${command.stderr}`);
    await desk.press('Escape');
    await desk.hides(/Create a key/);
    assert.deepEqual(await place.json('keys', 'list'), listed);
  });

  await t.test('a name that is taken is rejected with the message of the command', async () => {
    const command = await place.run(['keys', 'create', 'picky']);
    await desk.type('2n');
    await desk.shows(/Create a key/);
    await fillIn('picky');
    const screen = await desk.shows(/a key named "\S+" already exists/);
    const said = /a key named "picky" already exists/.exec(screen)?.[0] ?? 'nothing';
    assert.ok(command.stderr.includes(said), command.stderr);
    await desk.press('Escape');
    await desk.hides(/Create a key/);
  });

  await t.test('a key is disabled after y, not after n, and enabled again', async () => {
    const { key } = await selected('switched');
    await desk.type('d');
    await desk.shows(/Disable switched\?/);
    await desk.type('n');
    await desk.hides(/Disable switched\?/);
    assert.equal((await shown('switched')).state, 'enabled');
    await desk.type('d');
    await desk.shows(/Disable switched\?/);
    await desk.type('y');
    await desk.shows(/^switched +disabled /m);
    assert.equal(await serving.chatOutcome(key), '403 api_key_disabled');
    assert.equal((await shown('switched')).state, 'disabled');
    await desk.type('e');
    await desk.shows(/^switched +enabled /m);
    assert.equal(await serving.chatOutcome(key), '200');
  });

  await t.test('a key is deleted only once its name is typed', async () => {
    const { key, id } = await selected('doomed');
    await desk.type('D');
    await desk.shows(/Delete doomed permanently\?/);
    await desk.type('doome');
    await desk.press('Enter');
    await desk.shows(/The text does not match/);
    assert.equal(await serving.chatOutcome(key), '200');
    await desk.type('d');
    await desk.press('Enter');
    await desk.shows(/No rows match "doomed"/);
    assert.equal(await serving.chatOutcome(key), '401 invalid_api_key');
    assert.equal((await shown(id)).state, 'deleted');
  });

  await t.test('a rotated key gets a successor with its settings, and still works', async () => {
    const old = await selected('rotated');
    await desk.type('r');
    await desk.shows(/Rotate rotated\?/);
    await desk.type('y');
    const secret = await takenSecret();
    assert.notEqual(secret, old.key);
    assert.deepEqual(await Promise.all([old.key, secret].map((key) => serving.chatOutcome(key))), ['200', '200']);
    const listed = await place.json<KeyJson[]>('keys', 'list');
    const settings = listed
      .filter(({ name }) => name.startsWith('rotated'))
      .map(({ limits, spend_limit_usd: spendLimit, allowlist }) => ({ limits, spendLimit, allowlist }));
    assert.equal(settings.length, 2);
    assert.deepEqual(settings[0], settings[1]);
  });

  await t.test('limits and the spend limit are set, apply at once, and are reset', async () => {
    const { key } = await selected('limited');
    await desk.type('l');
    await desk.shows(/Limits of limited/);
    await fillIn('7', '9000', '2', '0');
    await desk.shows(/The limits of limited are in effect/);
    const tight = await shown('limited');
    assert.deepEqual([tight.limits, tight.spend_limit_usd], [{ rpm: 7, tpm: 9_000, concurrency: 2 }, '0.00']);
    assert.equal(await serving.chatOutcome(key, PAID), '402 spend_limit_reached');
    await desk.type('l');
    await desk.shows(/Requests per minute +7/);
    await fillIn('', '', '', '');
    await desk.hides(/Limits of limited/);
    const loose = await shown('limited');
    assert.deepEqual([loose.limits, loose.spend_limit_usd], [TIER, null]);
    assert.equal(await serving.chatOutcome(key, PAID), '200');
  });

  await t.test('budgets and an end are set, apply at once, and are undone with the command that is shown', async () => {
    const { key } = await selected('capped');
    await desk.type('l');
    await desk.shows(/Limits of capped/);
    await fillIn('', '', '', '', 'day=0 24h=5', '30d');
    await desk.shows(/The limits of capped are in effect/);
    const tight = await shown('capped');
    assert.deepEqual(budgetsOf(tight), ['day 0.00', '24h 5.00']);
    assert.ok(tight.expires_at !== null);
    assert.equal(await serving.chatOutcome(key, PAID), '402 spend_limit_reached');
    await desk.type('u');
    await desk.shows(/undone with +inf-gw limits set capped --budget none --expires never/);
    await desk.type('y');
    await desk.hides(/Undo the last change/);
    const loose = await shown('capped');
    assert.deepEqual([loose.budgets, loose.expires_at], [[], null]);
    assert.equal(await serving.chatOutcome(key, PAID), '200');
  });

  await t.test('an allowlist is picked from the models in the config, emptied, and cleared', async () => {
    const { key } = await selected('picky');
    const picks = async (...keys: string[]) => {
      await desk.type('m');
      await desk.shows(/Models that picky may call/);
      await desk.press(...keys, 'Enter');
      await desk.hides(/Models that picky may call/);
      return (await shown('picky')).allowlist;
    };
    // Removes one from all models.
    assert.deepEqual(await picks('Down', 'Space'), ['mock/echo']);
    assert.equal(await serving.chatOutcome(key, PAID), '403 model_not_allowed');
    assert.equal(await serving.chatOutcome(key), '200');
    assert.deepEqual(await picks('x'), []);
    assert.equal(await serving.chatOutcome(key), '403 model_not_allowed');
    assert.equal(await picks('a'), null);
    assert.equal(await serving.chatOutcome(key, PAID), '200');
  });

  await t.test('credit is added with a note', async () => {
    const before = await place.json<BalanceJson>('credit', 'show');
    await desk.type('+');
    await desk.shows(/Add credit/);
    await fillIn('12.5', 'for the autumn');
    const added = (parseUsd(before.balance_usd) ?? 0n) + (parseUsd('12.5') ?? 0n);
    await desk.shows(new RegExp(`The balance is ${usd(added)} USD`));
    const history = await place.json<{ amount_usd: string; note: string }[]>('credit', 'history');
    const entry = history.find(({ note }) => note === 'for the autumn');
    assert.equal(entry?.amount_usd, '12.50');
    assert.equal((await place.json<BalanceJson>('credit', 'show')).balance_usd, formatUsd(added));
  });

  await t.test('R reloads the config, for the screen too, and says what is wrong with an invalid one', async () => {
    const { key } = keys.get('switched') as NewKeyJson;
    const fresh = { model: 'mock/fresh' };
    const config = place.read('config.yaml').toString();
    assert.equal(await serving.chatOutcome(key, fresh), '404 model_not_found');
    place.write('config.yaml', config.replace('echo:', 'fresh: { input: 0, output: 0 }\n      echo:'));
    await desk.type('6R');
    await desk.shows(/The gateway reloaded its config\./);
    await desk.shows(/^mock\/fresh /m);
    assert.equal(await serving.chatOutcome(key, fresh), '200');
    place.write('config.yaml', config.replace('state:', 'stat:'));
    await desk.type('R');
    await desk.shows(/config\.yaml:\d+:\d+.*stat/);
    assert.equal(await serving.chatOutcome(key, fresh), '200');
    place.write('config.yaml', config);
  });

  await desk.type('q');
  assert.equal(await desk.left(), 0);
});
