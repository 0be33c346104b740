/** Groups and their end users on a real terminal, checked with what the commands print. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Desk } from '../support/terminal.ts';

interface LevelJson {
  readonly name?: string;
  readonly group?: string | null;
  readonly state: string;
  readonly limits: { readonly rpm: number | null };
  readonly budgets: readonly { readonly limit_usd: string }[];
}

test('groups are made, limited and switched, and of 250 end users pages are read', async (t) => {
  const desk = await Desk.open(t);
  const { place } = desk;
  const serving = await place.serveHere();
  await place.run(['groups', 'create', 'free', '--user-budget', 'day=1']);
  const { key } = await place.createKey('app', '--in', '@free');
  for (let user = 0; user < 250; user++) {
    assert.equal(
      await serving.chatOutcome(key, { model: 'mock/echo', user: `user-${String(user).padStart(3, '0')}` }),
      '200',
    );
  }
  const shown = (name: string) => place.json<LevelJson>('groups', 'show', `@${name}`);
  const zoe = (name: string) => place.json<LevelJson>('users', 'show', name, '--key', '@free');
  await desk.dashboard();
  await desk.shows(/● serving/);

  await t.test('a group is created inside of another, and its limits are set', async () => {
    await desk.type('7n');
    await desk.shows(/Create a group/);
    await desk.type('trial');
    await desk.press('Tab');
    await desk.type('free');
    await desk.press('Enter');
    await desk.shows(/Created @trial/);
    assert.equal((await shown('trial')).group, 'free');
    await desk.press('Right');
    await desk.shows(/^ {2} {2}@trial +enabled/m);
    await desk.press('Down');
    await desk.type('l');
    await desk.shows(/Limits of @trial/);
    await desk.type('7');
    await desk.press('Enter');
    await desk.shows(/The limits of @trial are in effect/);
    assert.equal((await shown('trial')).limits.rpm, 7);
  });

  await t.test('a group is disabled, and that is undone', async () => {
    await desk.type('d');
    await desk.shows(/Disable @trial\?/);
    await desk.type('y');
    await desk.shows(/^ {2} {2}@trial +disabled/m);
    assert.equal((await shown('trial')).state, 'disabled');
    await desk.type('u');
    await desk.shows(/Undo the last change\?/);
    await desk.type('y');
    await desk.shows(/Undone: @trial is enabled/);
    assert.equal((await shown('trial')).state, 'enabled');
  });

  await t.test('End leads to the next pages of end users', async () => {
    await desk.shows(/^ {4}user-000 /m);
    for (const first of ['user-100', 'user-200']) {
      await desk.press('End');
      await desk.shows(/… more/);
      await desk.press('Enter');
      await desk.shows(new RegExp(`… earlier.*\n.*${first} `));
    }
  });

  await t.test(
    'one of the first page is found from the last one, blocked, and gets a budget of their own',
    async () => {
      await desk.type('/user-017');
      await desk.press('Enter');
      await desk.shows(/^ *user-017 +enabled/m);
      await desk.type('d');
      await desk.shows(/Block user-017\?/);
      await desk.type('y');
      await desk.shows(/^ *user-017 +blocked/m);
      assert.equal(await serving.chatOutcome(key, { model: 'mock/echo', user: 'user-017' }), '403 api_key_disabled');
      await desk.type('e');
      await desk.shows(/user-017 is enabled/);
      await desk.type('l');
      await desk.shows(/Limits of user-017/);
      for (let field = 0; field < 4; field++) await desk.press('Tab');
      await desk.type('day=5');
      await desk.press('Enter');
      await desk.shows(/^ *user-017 .*0\.00\/5\.00 day/m);
      assert.deepEqual(
        (await zoe('user-017')).budgets.map(({ limit_usd: limit }) => limit),
        ['5.00'],
      );
    },
  );
});
