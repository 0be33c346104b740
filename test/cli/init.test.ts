/** `init`: the first run, outside an installation. It overwrites nothing, and asks only on a terminal. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, test } from 'node:test';
import { EXAMPLE } from '../../src/config/example.ts';
import { type BalanceJson, CONCURRENCY, type KeyJson, type NewKeyJson, Workplace } from '../support/cli.ts';
import { Desk } from '../support/terminal.ts';

interface InitJson {
  readonly config: string;
  readonly state: string;
  readonly providers: readonly { readonly name: string; readonly variable: string | null; readonly models: string[] }[];
  readonly unaddressed: readonly unknown[];
  readonly key: NewKeyJson | null;
  readonly credit: BalanceJson | null;
  readonly next: string;
}

describe('`init`', { concurrency: CONCURRENCY }, () => {
  test('without a terminal writes the config alone, which `config check` accepts without a warning', async (t) => {
    const place = new Workplace(t, null);
    place.environment.OPENAI_API_KEY = 'secret-of-mine';
    const { status, stdout, stderr } = await place.run(['init']);
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, /^Wrote .*\/config\.yaml, with these providers:$/m);
    assert.match(stdout, /^openai +13 +OPENAI_API_KEY$/m);
    assert.match(stdout, /^Left out, since their variables are not set: ANTHROPIC_API_KEY, GEMINI_API_KEY, /m);
    assert.match(stdout, /^ {2}inf-gw keys create my-app\n {2}inf-gw credit add 10\n {2}inf-gw serve$/m);
    assert.deepEqual(readdirSync(place.directory), ['config.yaml']);
    assert.doesNotMatch(place.read('config.yaml').toString(), /secret-of-mine/);
    assert.equal(statSync(`${place.directory}/config.yaml`).mode & 0o777, 0o644 & ~process.umask());
    const checked = await place.run(['config', 'check']);
    assert.deepEqual([checked.status, checked.stderr], [0, '']);
  });

  test('makes the key and the credit that are asked for, and finds variables in the .env, too', async (t) => {
    const place = new Workplace(t, null);
    place.write('.env', 'ANTHROPIC_API_KEY=from-file\nAZURE_OPENAI_API_KEY=from-file\n');
    const made = await place.json<InitJson>('init', '--key', 'first', '--credit', '2.50');
    assert.deepEqual(
      made.providers.map(({ name, variable }) => [name, variable]),
      [
        ['mock', null],
        ['anthropic', 'ANTHROPIC_API_KEY'],
      ],
    );
    assert.ok(made.providers[1]?.models.includes('anthropic/claude-haiku-4-5'));
    assert.deepEqual(made.unaddressed, [{ name: 'azure', variable: 'AZURE_OPENAI_API_KEY' }]);
    assert.deepEqual([made.key?.name, made.credit?.available_usd, made.next], ['first', '2.50', 'inf-gw serve']);
    assert.equal(made.state, `${place.directory}/inf-gw.db`);
    assert.match(made.key?.key ?? '', /^sk-inf-/);
    const { key: _, ...shown } = made.key as NewKeyJson;
    assert.deepEqual(await place.json<KeyJson>('keys', 'show', made.key?.key ?? ''), shown);
    const again = await place.run(['init', '--force']);
    assert.match(again.stdout, /^Next:\n {2}inf-gw reload\nor, if no gateway is running: inf-gw serve\n$/m);
  });

  test('without any variable has the mock alone, says so, and names a free model to try', async (t) => {
    const { stdout } = await new Workplace(t, null).run(['init', '--yes', '--config', 'own.yaml']);
    assert.match(stdout, /^mock +1 +none needed$/m);
    assert.match(stdout, /^The mock answers without a network and costs nothing\. Left out, /m);
    assert.match(stdout, /^ {2}inf-gw -c .*\/own\.yaml serve$/m);
    assert.match(stdout, /"model": "mock\/echo"/);
    assert.doesNotMatch(stdout, /credit add/);
  });

  test('ends with the lines that start the agents that are installed here', async (t) => {
    const place = new Workplace(t, null);
    for (const agent of ['claude', 'crush']) chmodSync(place.write(agent, '#!/bin/sh\n'), 0o755);
    place.write('codex', 'no program');
    place.environment.PATH = `${place.directory}:${dirname(process.execPath)}`;
    const { stdout } = await place.run(['init', '--yes']);
    assert.match(
      stdout,
      /\n {2}inf-gw run --max-usd 2 -- claude\n {2}inf-gw run --max-usd 2 -- crush\nor with the key above.*\n {2}eval "\$\(inf-gw env --client claude\)"\n {2}eval "\$\(inf-gw env --client crush\)"\n$/,
    );
    const { agents } = await place.json<{ agents: readonly string[] }>('init', '--force');
    assert.deepEqual(agents, ['claude', 'crush']);
  });

  test('leaves an existing config as it is unless it is told to replace it', async (t) => {
    const place = new Workplace(t, 'providers: {}\n');
    const refused = await place.run(['init', '--key', 'app', '--json']);
    assert.deepEqual([refused.status, refused.stdout], [1, '']);
    assert.match(refused.stderr, /^error: .*config\.yaml already exists, and was left as it is: .* --force\n$/);
    assert.equal(place.read('config.yaml').toString(), 'providers: {}\n');
    assert.deepEqual(readdirSync(place.directory), ['config.yaml']);
    await place.json<InitJson>('init', '--force', '--full');
    assert.equal(place.read('config.yaml').toString(), EXAMPLE);
  });

  test('says what is wrong where it cannot write, and with a name that no key can have', async (t) => {
    const place = new Workplace(t, null);
    const nowhere = await place.run(['init', '--config', 'none/config.yaml']);
    assert.equal(nowhere.status, 1);
    assert.match(nowhere.stderr, /^error: cannot write the config file .*\/none\/config\.yaml \(ENOENT\); /);
    assert.equal((await place.run(['init', '--key', ''])).status, 2);
    assert.deepEqual(readdirSync(place.directory), []);
  });
});

test('on a terminal `init` asks for a key and for credit; Ctrl-C leaves nothing, a blank answer takes the default', async (t) => {
  const desk = await Desk.open(t, { columns: 120, rows: 50 });
  const { place } = desk;
  const init = 'XAI_API_KEY=secret "$NODE" "$PROGRAM" init -c new.yaml; echo "status $?"';
  await desk.command(init);
  await desk.shows(/Name of a first key, or n for none \(my-app\):/);
  await desk.press('C-c');
  await desk.shows(/error: no answer, so nothing was written; --yes asks nothing\nstatus 1/);
  assert.equal(existsSync(`${place.directory}/new.yaml`), false);
  await desk.command(`clear; ${init}`);
  await desk.shows(/\(my-app\):/);
  await desk.press('Enter');
  await desk.shows(/Credit in USD, which pays for requests, or n for none \(10\):/);
  await desk.command('much');
  await desk.shows(/Expected an amount in USD/);
  await desk.command('3');
  const screen = await desk.shows(/status 0/);
  assert.match(screen, /^The balance is 3\.00 USD\.\nsk-inf-\w+\nThis key is shown only once/m);
  assert.match(screen, /"model": "xai\/grok-4\.5"/);
});
