/** `inf-gw reload`: the running gateway takes the new config, or keeps the old one and says why. */
import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { describe, test } from 'node:test';
import { CONCURRENCY, CONFIG, linesOf, Workplace } from '../support/cli.ts';

/** The default request limit, as the gateway reports it. */
async function limitOf(url: string): Promise<string | null> {
  return (await fetch(`${url}/v1/models`)).headers.get('x-ratelimit-limit-requests');
}

const limited = (modelsRpm: number) => `tiers: { standard: { models_rpm: ${modelsRpm} } }\n${CONFIG}`;

/** What the config file holds, and what is printed. */
const INVALID: readonly (readonly [what: string, config: string, lines: readonly RegExp[]])[] = [
  ['an unknown key', `limit: 5\n${limited(9)}`, [/^error: config\.yaml:1:1: limit: unknown key/]],
  [
    'several problems',
    `limit: 5\ncredit: maybe\n${limited(9)}`,
    [/^error: config\.yaml:1:1: limit: unknown key/, /^error: config\.yaml:2:1: credit: expected enforced or off/],
  ],
  ['no YAML', 'providers: [\n', [/^error: config\.yaml:\d+:\d+: /]],
  [
    'another address',
    limited(9).replace('127.0.0.1:0', '127.0.0.1:1'),
    [/^error: listen: restart the gateway to change this$/],
  ],
  ['another number of threads', `threads: 2\n${limited(9)}`, [/^error: threads: restart the gateway to change this/]],
  [
    'another durability',
    `durability: crash\n${limited(9)}`,
    [/^error: durability: restart the gateway to change this/],
  ],
  // The path of the socket follows from that of the state file.
  ['another state file', limited(9).replace('state.db', 'other.db'), [/^error: no gateway is running on .*other\.db/]],
];

describe('`inf-gw reload`', { concurrency: CONCURRENCY }, () => {
  test('puts the config into effect before it returns', async (t) => {
    const place = new Workplace(t, limited(11));
    const serving = await place.serveHere();
    assert.equal(await limitOf(serving.url), '11');
    place.write('config.yaml', limited(12));
    assert.deepEqual(await place.run(['reload']), {
      status: 0,
      stdout: 'The gateway reloaded its config.\n',
      stderr: '',
    });
    assert.equal(await limitOf(serving.url), '12');
    place.write('config.yaml', limited(13));
    assert.deepEqual(await place.json('reload'), { reloaded: true });
    assert.equal(await limitOf(serving.url), '13');
  });

  test('prints each problem on a line of its own, with status 1, and the old config stays', async (t) => {
    const place = new Workplace(t, limited(11));
    const serving = await place.serveHere();
    for (const [what, config, lines] of INVALID) {
      place.write('config.yaml', config);
      const { status, stdout, stderr } = await place.run(['reload', '--json']);
      assert.deepEqual([status, stdout], [1, ''], what);
      assert.equal(linesOf(stderr).length, lines.length, stderr);
      for (const [i, line] of lines.entries()) assert.match(linesOf(stderr)[i] ?? '', line, what);
      assert.equal(await limitOf(serving.url), '11', what);
    }
  });

  test('activates a provider once its missing secret is set', async (t) => {
    const secret = `\${file:./secret}`;
    const host = `  host: { kind: openai, base_url: "http://127.0.0.1:9/v1", api_key: "${secret}", models: {} }\n`;
    const place = new Workplace(t, CONFIG);
    const serving = await place.serveHere();
    place.write('config.yaml', CONFIG + host);
    const { status, stderr } = await place.run(['reload']);
    assert.equal(status, 1);
    assert.match(stderr, /^error: config\.yaml:\d+:\d+: providers\.host\.api_key: .*secret/);
    place.write('secret', 'value');
    assert.equal((await place.run(['reload'])).status, 0);
    assert.match((await serving.logged(/^active providers: mock, host/)).level, /info/);
  });

  test('reads the .env beside the config again, as `models` and `config check` do', async (t) => {
    const host = (name: string) =>
      `  ${name}: { kind: openai, base_url: "http://127.0.0.1:9/v1", api_key: "\${${name.toUpperCase()}_KEY}", models: { m: { input: 1, output: 1 } } }\n`;
    const place = new Workplace(t, CONFIG + host('one') + host('two'));
    // The environment that the gateway has, and commands do not: it decides for the gateway.
    place.environment.TWO_KEY = '';
    const serving = await place.serveHere();
    delete place.environment.TWO_KEY;
    await serving.logged(/^active providers: mock$/);
    place.write('.env', 'ONE_KEY=from-file\nTWO_KEY=from-file\nINF_GW_CONFIG=/nowhere.yaml\nNODE_OPTIONS=--nonsense\n');
    const checked = await place.json<{ providers: { active: boolean }[] }>('config', 'check');
    assert.deepEqual(
      checked.providers.map(({ active }) => active),
      [true, true, true],
    );
    assert.deepEqual(await place.json('reload'), { reloaded: true });
    await serving.logged(/^active providers: mock, one$/);
    const models = await place.json<{ id: string; active: boolean }[]>('models');
    assert.deepEqual(
      models.filter(({ active }) => active).map(({ id }) => id),
      ['mock/echo', 'mock/paid', 'one/m'],
    );
    rmSync(`${place.directory}/.env`);
    mkdirSync(`${place.directory}/.env`);
    for (const words of [['reload'], ['models'], ['keys', 'list']]) {
      const { status, stderr } = await place.run(words);
      assert.equal(status, 1, words.join(' '));
      assert.match(stderr, /^error: .*\.env is a directory; .*\n$/, words.join(' '));
    }
  });

  test('says that no gateway is running, with status 1', async (t) => {
    const place = new Workplace(t);
    assert.deepEqual(await place.run(['reload']), {
      status: 1,
      stdout: '',
      stderr: `error: no gateway is running on ${place.statePath}; start one with: inf-gw serve\n`,
    });
  });
});
